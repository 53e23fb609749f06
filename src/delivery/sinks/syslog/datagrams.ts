import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { untilAborted } from '../../../base/index.ts';
import { adviseUnreached, readErrorCode } from '../../../net/index.ts';
import { renderListenAddress } from '../../../settings/index.ts';
import { DeliveryError } from '../../errors.ts';

/** Maximum payload of UDP over IPv4. Bytes. */
export const DATAGRAM_BYTES_MAX = 65_507;

/** The collector that takes datagrams, and the size of one. */
export interface SyslogDatagramsOptions {
  /** Name of the sink. */
  readonly name: string;
  /** Host name or IP address of the collector. */
  readonly host: string;
  /** UDP port of the collector. */
  readonly port: number;
}

/** Sends one message per datagram (RFC 5426), without any confirmation of arrival. */
export class SyslogDatagrams {
  readonly #socket: Socket;
  readonly #options: SyslogDatagramsOptions;
  /** Error that the system reported for earlier datagrams, such as a closed port. */
  #fault: unknown;

  private constructor(socket: Socket, options: SyslogDatagramsOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on('error', (cause) => {
      this.#fault = cause;
    });
  }

  /** Resolves the address. Throws {@link DeliveryError} `unreachable`. */
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
      throw toUnreachable(`Sink ${name} could not find a route to ${renderListenAddress({ host, port })}`, cause);
    }
  }

  /** True when no error is known. */
  get isOpen(): boolean {
    return this.#fault === undefined;
  }

  /** Throws the error that the system reported, if any. */
  throwIfFaulty(): void {
    const { name, host, port } = this.#options;
    if (this.#fault !== undefined) {
      throw toUnreachable(`Sink ${name} could not send to ${renderListenAddress({ host, port })}`, this.#fault);
    }
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

function toUnreachable(what: string, cause: unknown): DeliveryError {
  const hint = adviseUnreached(readErrorCode(cause), 'sink');
  return new DeliveryError('unreachable', what, { disposition: 'retry', hint, cause });
}
