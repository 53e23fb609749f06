import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { untilAborted } from '../../../base/index.ts';
import { readErrorCode } from '../../../net/index.ts';
import { renderListenAddress } from '../../../settings/index.ts';
import { DeliveryError } from '../../errors.ts';

/** Largest payload of UDP over IPv4, in bytes. */
export const DATAGRAM_BYTES_MAX = 65_507;

export interface SyslogDatagramsOptions {
  /** Name of the sink. */
  readonly name: string;
  /** Host name or IP address of the collector. */
  readonly host: string;
  /** UDP port of the collector. */
  readonly port: number;
}

/** Sends one message per datagram (RFC 5426). Whether any arrives is known to nobody. */
export class SyslogDatagrams {
  readonly #socket: Socket;
  readonly #options: SyslogDatagramsOptions;
  /** What the system has heard about earlier datagrams: that nobody listens there. */
  #fault: unknown;

  private constructor(socket: Socket, options: SyslogDatagramsOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on('error', (cause) => {
      this.#fault = cause;
    });
  }

  /** Finds the address. Throws {@link DeliveryError} `unreachable`. */
  static async open(options: SyslogDatagramsOptions, signal: AbortSignal): Promise<SyslogDatagrams> {
    const { name, host, port } = options;
    let socket: Socket | undefined;
    try {
      const { address, family } = await untilAborted(lookup(host), signal);
      socket = createSocket(family === 6 ? 'udp6' : 'udp4');
      const connected = once(socket, 'connect', { signal });
      socket.connect(port, address);
      await connected;
      return new SyslogDatagrams(socket, options);
    } catch (cause) {
      socket?.on('error', () => {}).close();
      if (signal.aborted) throw signal.reason;
      throw toUnreachable(`Sink ${name} could not find a way to ${renderListenAddress({ host, port })}`, cause);
    }
  }

  /** Whether nothing is known to be wrong. */
  get isOpen(): boolean {
    return this.#fault === undefined;
  }

  /** Throws what the system has heard since the last question. */
  throwIfFaulty(): void {
    const { name, host, port } = this.#options;
    if (this.#fault !== undefined) {
      throw toUnreachable(`Sink ${name} could not send to ${renderListenAddress({ host, port })}`, this.#fault);
    }
  }

  /** Resolves when the system has taken the datagram; `too_large` when the way there has no room for it. */
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

function toUnreachable(what: string, cause: unknown): DeliveryError {
  return new DeliveryError('unreachable', what, { disposition: 'retry', cause });
}
