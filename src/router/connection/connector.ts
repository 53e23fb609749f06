import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import type { Clock } from '../../base/index.ts';
import { errors } from '../../net/index.ts';
import { ConnectionAttempt, type ConnectorOptions } from './connection-attempt.ts';
import type { ConnectionPlace } from './connection-limit.ts';
import { openTrustedContext, type RouterCertificate, TlsSessionCache } from './tls.ts';

/** The open connection. */
interface OpenConnection {
  readonly socket: Socket;
  readonly place: ConnectionPlace;
  /** Set from the time it is kept until the end of its next use. */
  kept: KeptState | undefined;
}

/** When a connection was kept, for how long until it was used again, and the bytes that it had received until then. */
interface KeptState {
  readonly atMs: number;
  idleMs: number;
  readonly bytes: number;
}

/** Number of connections to a router that were opened and trusted, and of those that resumed a TLS session. */
export interface ConnectionCounts {
  readonly opened: number;
  readonly resumed: number;
}

/**
 * Bytes on the wire, counted by the sockets below TLS: includes TLS handshakes and records, but neither the headers of TCP
 * and IP nor retransmissions.
 */
export interface WireBytes {
  readonly sent: number;
  readonly received: number;
}

/** State shared by the connections to one router. */
interface KnownRouter {
  readonly meter: WireMeter;
  readonly sessions: TlsSessionCache;
  /** TLS contexts by the key exchanges that they offer: one for the first handshake, one for the router's choice. */
  readonly contexts: Map<string | undefined, SecureContext>;
  connections: ConnectionCounts;
}

/**
 * Opens the connections to one router, one at a time, and counts their bytes. A certificate that is not trusted ends a
 * connection before anything is sent. The next connection after one that was closed resumes its TLS session.
 */
export class Connector {
  readonly #options: ConnectorOptions;
  readonly #router: KnownRouter;
  readonly #reuse = new ReuseRecord();
  #attempt: ConnectionAttempt | undefined;
  #open: OpenConnection | undefined;
  /** Idle time of a kept connection over which the last request was not answered. */
  #silentMs: number | undefined;
  /** What is told when the connection breaks, for each request under way. */
  readonly #requests = new Set<(cause: Error) => void>();

  /** `router`: what earlier connections have learnt. Default: nothing. */
  constructor(options: ConnectorOptions, router: KnownRouter = createKnownRouter(options.clock)) {
    this.#options = options;
    this.#router = router;
  }

  /** Returns one for a second connection at the same time. What it opens counts here as well. */
  createSecond(): Connector {
    return new Connector(this.#options, this.#router);
  }

  /** Bytes of all connections so far, failed and open ones included; never decreases. */
  get wireBytes(): WireBytes {
    return this.#router.meter.read();
  }

  get connections(): ConnectionCounts {
    return this.#router.connections;
  }

  /** From the last full handshake that was trusted; `undefined` before it and without TLS. */
  get certificate(): RouterCertificate | undefined {
    return this.#router.sessions.certificate;
  }

  /** Opens one connection. The signature is undici's. */
  readonly connect: buildConnector.connector = (target, callback) => {
    const attempt = new ConnectionAttempt({
      ...this.#options,
      target,
      onSocket: (socket) => this.#router.meter.watch(socket),
      sessions: this.#router.sessions,
      openContext: (groups) => this.#openContext(groups),
      settle: (...result) => {
        if (this.#attempt === attempt) this.#attempt = undefined;
        const [error, socket, place] = result;
        const silentMs = this.#silentMs;
        this.#silentMs = undefined;
        if (error) {
          callback(error, null);
          return;
        }
        // The router can be reached: it was the connection.
        if (silentMs !== undefined) this.#reuse.unanswered(silentMs);
        this.#count(socket);
        this.#hold(socket, place);
        callback(null, socket);
      },
    });
    this.#attempt = attempt;
    attempt.start();
  };

  /**
   * A request begins, on a new connection if the one that was kept is expected to be dead. `onBroken` is called if the connection ends
   * with an error until {@link end}, before undici knows of it.
   */
  begin(onBroken: (cause: Error) => void): void {
    const open = this.#open;
    if (open?.kept && this.#requests.size === 0) {
      open.kept.idleMs = this.#options.clock.monotonic() - open.kept.atMs;
      if (!this.#reuse.isWorthUsing(open.kept.idleMs)) this.#drop(open);
    }
    this.#requests.add(onBroken);
    this.#open?.place.setBusy();
  }

  /** True while a request is under way on a connection that was kept, over which nothing has come since. */
  get isSilent(): boolean {
    const { kept, socket } = this.#open ?? {};
    return this.#requests.size > 0 && kept !== undefined && kept.bytes === socket?.bytesRead;
  }

  /** Closes the connection while {@link isSilent}. */
  dropSilent(): void {
    const open = this.#open;
    if (!open?.kept) return;
    this.#silentMs = open.kept.idleMs;
    this.#drop(open);
  }

  /** A request has ended. `onBroken`: as it began. */
  end(onBroken: (cause: Error) => void): void {
    this.#requests.delete(onBroken);
    const open = this.#open;
    if (!open) return;
    if (open.kept && open.socket.bytesRead > open.kept.bytes) this.#reuse.reused(open.kept.idleMs);
    open.kept = undefined;
    this.#setIdle(open);
  }

  /** No request is expected for a while: closes a connection that would not last until then. */
  rest(): void {
    const open = this.#open;
    if (!open || this.#requests.size > 0 || open.kept) return;
    if (this.#reuse.isWorthKeeping()) {
      open.kept = { atMs: this.#options.clock.monotonic(), idleMs: 0, bytes: open.socket.bytesRead };
      return;
    }
    open.socket.destroy();
  }

  /** Ends a connection attempt. Open connections belong to the caller. */
  close(): void {
    this.#attempt?.end(new errors.ClientDestroyedError());
  }

  #count(socket: object): void {
    const { opened, resumed } = this.#router.connections;
    const isResumed = socket instanceof TLSSocket && socket.isSessionReused();
    this.#router.connections = { opened: opened + 1, resumed: resumed + (isResumed ? 1 : 0) };
  }

  #hold(socket: Socket, place: ConnectionPlace): void {
    const open: OpenConnection = { socket, place, kept: undefined };
    this.#open = open;
    socket.on('error', (cause) => {
      for (const onBroken of this.#requests) onBroken(cause);
    });
    socket.once('close', () => {
      if (this.#open === open) this.#open = undefined;
      // The other end may close it just when it is used again: then nothing is answered.
      if (open.kept?.bytes === socket.bytesRead) this.#reuse.wasted();
      place.release();
    });
    this.#setIdle(open);
  }

  /** Lets others have its place, unless a request is under way. */
  #setIdle(open: OpenConnection): void {
    if (this.#requests.size > 0) return;
    open.place.setIdle(() => this.#drop(open));
  }

  /** Closes a connection, which says nothing about the router. */
  #drop(open: OpenConnection): void {
    open.kept = undefined;
    open.socket.destroy();
  }

  #openContext(groups: string | undefined): SecureContext {
    const { contexts } = this.#router;
    const known = contexts.get(groups);
    if (known) return known;
    const context = openTrustedContext(this.#options.tls, groups);
    contexts.set(groups, context);
    return context;
  }
}

function createKnownRouter(clock: Clock): KnownRouter {
  const sessions = new TlsSessionCache(clock);
  return { meter: new WireMeter(), sessions, contexts: new Map(), connections: { opened: 0, resumed: 0 } };
}

/** Counts the bytes of all connections to one router, open ones included. */
export class WireMeter {
  readonly #open = new Set<Socket>();
  #ended: WireBytes = { sent: 0, received: 0 };
  #shown: WireBytes = { sent: 0, received: 0 };

  /** Counts the bytes of `socket`, new and without TLS, until it is closed. */
  watch(socket: Socket): void {
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#ended = addBytes(this.#ended, socket);
    });
  }

  read(): WireBytes {
    const { sent, received } = [...this.#open].reduce(addBytes, this.#ended);
    // Bytes buffered in a socket count as sent until the connection breaks. A counter must not decrease, so it keeps its
    // value meanwhile.
    this.#shown = { sent: Math.max(sent, this.#shown.sent), received: Math.max(received, this.#shown.received) };
    return this.#shown;
  }
}

function addBytes(sum: WireBytes, { bytesWritten, bytesRead }: Socket): WireBytes {
  return { sent: sum.sent + bytesWritten, received: sum.received + bytesRead };
}

/** After this many connections in a row that were closed or silent before their next use, the next ones are not kept. */
const UNUSED_MAX = 3;
/** Every so many connections, one is kept all the same, to see whether it lasts by now. */
const TRIAL_EVERY = 20;

/**
 * Learns whether keeping a connection to one router is worth it: not if the connection is closed before its next use, by a
 * router that closes idle ones early, or after the longest idle time that the client allows; nor if it is silent after some idle time,
 * because a NAT or firewall in between has forgotten it.
 */
class ReuseRecord {
  #unused = 0;
  #silences = 0;
  /** The shortest idle time after which one was silent. Milliseconds. */
  #silentMs = Number.POSITIVE_INFINITY;
  #closings = 0;

  /** Records that a connection was used again after this time. */
  reused(idleMs: number): void {
    this.#unused = 0;
    this.#closings = 0;
    if (idleMs < this.#silentMs) return;
    this.#silences = 0;
    this.#silentMs = Number.POSITIVE_INFINITY;
  }

  /** Records that a connection was kept and closed before it was used again. */
  wasted(): void {
    this.#unused++;
  }

  /** Records that a request was not answered after this time, and a new connection was opened at once. */
  unanswered(idleMs: number): void {
    this.#silences++;
    this.#silentMs = Math.min(this.#silentMs, idleMs);
  }

  /** Returns true if a connection that is no longer needed now should be kept for the next use. */
  isWorthKeeping(): boolean {
    return this.#unused < UNUSED_MAX || this.#isTrial();
  }

  /** Returns true if a connection that was kept for this time should be used again. */
  isWorthUsing(idleMs: number): boolean {
    return this.#silences < UNUSED_MAX || idleMs < this.#silentMs || this.#isTrial();
  }

  #isTrial(): boolean {
    this.#closings = (this.#closings + 1) % TRIAL_EVERY;
    return this.#closings === 0;
  }
}
