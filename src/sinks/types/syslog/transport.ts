import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type Clock, untilAborted } from '../../../base/index.ts';
import { adviseUnreached, type ConnectionPlan, explainTls, readErrorCode } from '../../../net/index.ts';
import { renderListenAddress } from '../../../settings/index.ts';
import { openTrusted, toTlsError } from '../../connections.ts';
import { DeliveryError } from '../../contracts.ts';

type Collector = ConnectionPlan & { readonly name: string };

/** Idle time before TCP keep-alive probes. Milliseconds. */
const KEEP_ALIVE_MS = 30_000;

/** A TCP or TLS connection to a collector, octet-counted (RFC 6587, RFC 5425). Write-only. */
export class SyslogStream {
  readonly #socket: Socket;
  readonly #place: string;
  readonly #ended = Promise.withResolvers<never>();
  readonly #clock: Clock;
  #endedMs: number | undefined;
  #isClosing = false;

  private constructor(socket: Socket, place: string, clock: Clock) {
    this.#socket = socket;
    this.#place = place;
    this.#clock = clock;
    this.#ended.promise.catch(() => {});
    // Read and discard data: otherwise the end of the connection would not be seen.
    socket.on('data', () => {});
    socket.on('end', () => this.#end(undefined));
    socket.on('error', (cause) => this.#end(cause));
    socket.on('close', () => this.#end(undefined));
  }

  /** Connects and verifies the certificate. Throws {@link DeliveryError} `unreachable` or `misconfigured`. */
  static async open(options: Collector, signal: AbortSignal): Promise<SyslogStream> {
    signal.throwIfAborted();
    const { name, host, port, clock } = options;
    const place = renderListenAddress({ host, port });
    try {
      const socket = await openTrusted(options, signal);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      return new SyslogStream(socket, place, clock);
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      throw toTlsError(cause, name, place) ?? toSocketError(`Sink ${name} could not connect to ${place}`, cause);
    }
  }

  /** True while the connection is open. */
  get isOpen(): boolean {
    return !this.#isClosing;
  }

  /** Unix time in milliseconds at which the collector closed the connection; `undefined` when it broke. */
  get endedMs(): number | undefined {
    return this.#endedMs;
  }

  /** Rejects when the connection ends; never resolves. */
  get ended(): Promise<never> {
    return this.#ended.promise;
  }

  /** Resolves with the number of bytes once the system has accepted all messages. A failure closes the connection. */
  async send(messages: readonly Buffer[], signal: AbortSignal): Promise<number> {
    const frames = Buffer.concat(messages.flatMap((message) => [Buffer.from(`${message.length} `), message]));
    const written = new Promise<void>((resolve, reject) => {
      this.#socket.write(frames, (cause) => (cause ? reject(cause) : resolve()));
    });
    try {
      await untilAborted(Promise.race([written, this.#ended.promise]), signal);
    } catch (cause) {
      // A part of a message may have been sent; the collector would read the next bytes as its rest.
      this.destroy();
      if (signal.aborted) throw signal.reason;
      throw toSocketError(`The connection to ${this.#place} broke`, cause);
    }
    return frames.length;
  }

  /** Waits for `graceMs`; throws as soon as the connection ends. */
  async stayOpen(graceMs: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const waited = this.#clock.sleep(graceMs, AbortSignal.any([signal, over.signal]));
    try {
      await untilAborted(Promise.race([waited, this.#ended.promise]), signal);
    } finally {
      over.abort();
    }
  }

  async close(): Promise<void> {
    if (this.#socket.destroyed) return;
    const closed = once(this.#socket, 'close').catch(() => {});
    this.#socket.end();
    this.#socket.destroySoon();
    await closed;
  }

  destroy(): void {
    this.#isClosing = true;
    this.#socket.destroy();
  }

  #end(cause: unknown): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    if (cause === undefined) this.#endedMs = this.#clock.now();
    const orderly = new DeliveryError('unreachable', `The collector at ${this.#place} closed the connection`, {
      disposition: 'retry',
    });
    this.#ended.reject(cause === undefined ? orderly : toSocketError(`The connection to ${this.#place} broke`, cause));
    this.#socket.destroy();
  }
}

/** Converts a socket error to a {@link DeliveryError}; `what` names the failed action. */
function toSocketError(what: string, cause: unknown): DeliveryError {
  if (cause instanceof DeliveryError) return cause;
  const untrusted = explainTls(cause, 'sink');
  if (!untrusted) {
    const hint = adviseUnreached(readErrorCode(cause), 'sink');
    return new DeliveryError('unreachable', what, { disposition: 'retry', hint, cause });
  }
  const { reason, hint } = untrusted;
  return new DeliveryError('misconfigured', `${what}: ${reason}`, { disposition: 'operator', hint });
}

/** Maximum payload of UDP over IPv4. Bytes. */
export const DATAGRAM_BYTES_MAX = 65_507;

/** Sends one message per datagram (RFC 5426), without any confirmation of arrival. */
export class SyslogDatagrams {
  readonly #socket: DatagramSocket;
  readonly #what: string;
  /** Error that the system reported for earlier datagrams, such as a closed port. */
  #fault: unknown;

  private constructor(socket: DatagramSocket, what: string) {
    this.#socket = socket;
    this.#what = what;
    socket.on('error', (cause) => {
      this.#fault = cause;
    });
  }

  /** Resolves the address. Throws {@link DeliveryError} `unreachable`. */
  static async open(options: Pick<Collector, 'name' | 'host' | 'port'>, signal: AbortSignal): Promise<SyslogDatagrams> {
    const { name, host, port } = options;
    const place = renderListenAddress({ host, port });
    let socket: DatagramSocket | undefined;
    try {
      const { address, family } = await untilAborted(lookup(host), signal);
      socket = createSocket(family === 6 ? 'udp6' : 'udp4');
      const connected = once(socket, 'connect', { signal });
      socket.connect(port, address);
      await connected;
      return new SyslogDatagrams(socket, `Sink ${name} could not send to ${place}`);
    } catch (cause) {
      socket?.on('error', () => {}).close();
      if (signal.aborted) throw signal.reason;
      throw toSocketError(`Sink ${name} could not find a route to ${place}`, cause);
    }
  }

  /** Throws the error that the system reported, if any. */
  throwIfFaulty(): void {
    if (this.#fault !== undefined) throw toSocketError(this.#what, this.#fault);
  }

  /** Resolves once the system has accepted the datagram; `too_large` when it exceeds the limit of the path. */
  async send(message: Buffer, signal: AbortSignal): Promise<'sent' | 'too_large'> {
    signal.throwIfAborted();
    this.throwIfFaulty();
    const cause = await new Promise<Error | null>((resolve) => {
      this.#socket.send(message, resolve);
    });
    if (readErrorCode(cause) === 'EMSGSIZE') return 'too_large';
    this.#fault ??= cause ?? undefined;
    this.throwIfFaulty();
    return 'sent';
  }

  async close(): Promise<void> {
    const closed = once(this.#socket, 'close');
    this.#socket.close();
    await closed;
  }
}
