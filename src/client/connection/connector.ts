import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import type { Clock } from '../../base/index.ts';
import { errors } from '../../net/index.ts';
import { ConnectionAttempt, type ConnectorOptions } from './connection-attempt.ts';
import type { ConnectionPermit } from './connection-limit.ts';
import { openTrustedContext, type RouterCertificate, TlsSessionCache } from './tls.ts';

interface OpenConnection {
  readonly socket: Socket;
  readonly permit: ConnectionPermit;
  /** Set from the time it is kept until the end of its next use. */
  kept: KeptState | undefined;
}

/** `idleMs`: time until the next use. `bytes`: received until it was kept. */
interface KeptState {
  readonly atMs: number;
  idleMs: number;
  readonly bytes: number;
}

/** Number of connections that were opened and trusted, and of those that resumed a TLS session. */
export interface ConnectionCounts {
  readonly opened: number;
  readonly resumed: number;
}

/** Bytes counted by the sockets below TLS: with TLS handshakes and records, without TCP and IP headers and retransmissions. */
export interface WireBytes {
  readonly sent: number;
  readonly received: number;
}

interface KnownRouter {
  readonly meter: WireMeter;
  readonly sessions: TlsSessionCache;
  /** By key exchanges: one for the first handshake, one for the router's choice. */
  readonly contexts: Map<string | undefined, SecureContext>;
  connections: ConnectionCounts;
}

/**
 * Opens the connections to one router, one at a time, and counts their bytes. Closes a connection with an untrusted certificate before
 * anything is sent. The next connection resumes the TLS session.
 */
export class Connector {
  readonly #options: ConnectorOptions;
  readonly #router: KnownRouter;
  readonly #reuse = new ReuseRecord();
  #attempt: ConnectionAttempt | undefined;
  #open: OpenConnection | undefined;
  /** Idle time of the kept connection over which the last request was not answered. */
  #silentMs: number | undefined;
  /** Called when the connection breaks; one for each request in progress. */
  readonly #requests = new Set<(cause: Error) => void>();

  /** `router`: state of earlier connections. Default: none. */
  constructor(options: ConnectorOptions, router: KnownRouter = createKnownRouter(options.clock)) {
    this.#options = options;
    this.#router = router;
  }

  /** Creates a connector for a second concurrent connection. Its bytes and connections count here as well. */
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

  /** From the last trusted full handshake; `undefined` before it and without TLS. */
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
        const [error, socket, permit] = result;
        const silentMs = this.#silentMs;
        this.#silentMs = undefined;
        if (error) {
          callback(error, null);
          return;
        }
        // The router can be reached, so the kept connection was dead.
        if (silentMs !== undefined) this.#reuse.unanswered(silentMs);
        this.#count(socket);
        this.#hold(socket, permit);
        callback(null, socket);
      },
    });
    this.#attempt = attempt;
    attempt.start();
  };

  /**
   * Must be called when a request starts. Closes a kept connection that is expected to be dead. `onBroken` is called if the connection
   * ends with an error before {@link end}, before undici knows of it.
   */
  begin(onBroken: (cause: Error) => void): void {
    const open = this.#open;
    if (open?.kept && this.#requests.size === 0) {
      open.kept.idleMs = this.#options.clock.monotonic() - open.kept.atMs;
      if (!this.#reuse.isWorthUsing(open.kept.idleMs)) this.#drop(open);
    }
    this.#requests.add(onBroken);
    this.#open?.permit.setBusy();
  }

  /** True while a request is in progress on a kept connection that has received nothing since. */
  get isSilent(): boolean {
    const { kept, socket } = this.#open ?? {};
    return this.#requests.size > 0 && kept !== undefined && kept.bytes === socket?.bytesRead;
  }

  dropSilent(): void {
    const open = this.#open;
    if (!open?.kept) return;
    this.#silentMs = open.kept.idleMs;
    this.#drop(open);
  }

  /** Must be called when a request ends. `onBroken`: the function passed to {@link begin}. */
  end(onBroken: (cause: Error) => void): void {
    this.#requests.delete(onBroken);
    const open = this.#open;
    if (!open) return;
    if (open.kept && open.socket.bytesRead > open.kept.bytes) this.#reuse.reused(open.kept.idleMs);
    open.kept = undefined;
    this.#setIdle(open);
  }

  /** Notifies the connector that no request is expected for a while: closes a connection that would not last until then. */
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

  #hold(socket: Socket, permit: ConnectionPermit): void {
    const open: OpenConnection = { socket, permit, kept: undefined };
    this.#open = open;
    socket.on('error', (cause) => {
      for (const onBroken of this.#requests) onBroken(cause);
    });
    socket.once('close', () => {
      if (this.#open === open) this.#open = undefined;
      // The peer may close it just when it is used again: then nothing is answered.
      if (open.kept?.bytes === socket.bytesRead) this.#reuse.wasted();
      permit.release();
    });
    this.#setIdle(open);
  }

  #setIdle(open: OpenConnection): void {
    if (this.#requests.size > 0) return;
    open.permit.setIdle(() => this.#drop(open));
  }

  /** The caller closes it, so it says nothing about the router. */
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

  /** Counts the bytes of a new socket without TLS until it is closed. */
  watch(socket: Socket): void {
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#ended = addBytes(this.#ended, socket);
    });
  }

  read(): WireBytes {
    const { sent, received } = [...this.#open].reduce(addBytes, this.#ended);
    // Bytes buffered in a socket count as sent until the connection breaks. A counter must not decrease, so it keeps its value meanwhile.
    this.#shown = { sent: Math.max(sent, this.#shown.sent), received: Math.max(received, this.#shown.received) };
    return this.#shown;
  }
}

function addBytes(sum: WireBytes, { bytesWritten, bytesRead }: Socket): WireBytes {
  return { sent: sum.sent + bytesWritten, received: sum.received + bytesRead };
}

/** After this many consecutive connections that were closed or silent before their next use, the next ones are not kept. */
const UNUSED_MAX = 3;
/** One in so many connections is kept anyway, to detect that keeping works again. */
const TRIAL_EVERY = 20;

/**
 * Learns whether keeping the connection to one router is worth it. It is not if the connection is closed before its next use (by a router
 * that closes idle ones early, or after the longest idle time of the client), nor if it is silent after some idle time because a NAT or
 * firewall has dropped it.
 */
class ReuseRecord {
  #unused = 0;
  #silences = 0;
  /** The shortest idle time after which a connection was silent. Milliseconds. */
  #silentMs = Number.POSITIVE_INFINITY;
  #closings = 0;

  reused(idleMs: number): void {
    this.#unused = 0;
    this.#closings = 0;
    if (idleMs < this.#silentMs) return;
    this.#silences = 0;
    this.#silentMs = Number.POSITIVE_INFINITY;
  }

  /** Records that a kept connection was closed before it was used again. */
  wasted(): void {
    this.#unused++;
  }

  /** Records that a request was not answered after this idle time, and that a new connection could be opened at once. */
  unanswered(idleMs: number): void {
    this.#silences++;
    this.#silentMs = Math.min(this.#silentMs, idleMs);
  }

  isWorthKeeping(): boolean {
    return this.#unused < UNUSED_MAX || this.#isTrial();
  }

  isWorthUsing(idleMs: number): boolean {
    return this.#silences < UNUSED_MAX || idleMs < this.#silentMs || this.#isTrial();
  }

  #isTrial(): boolean {
    this.#closings = (this.#closings + 1) % TRIAL_EVERY;
    return this.#closings === 0;
  }
}
