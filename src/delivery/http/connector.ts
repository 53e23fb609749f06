import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { toAddress, toConnector } from '../../net/index.ts';
import { DeliveryError } from '../errors.ts';
import { openTrusted, type SinkConnection } from '../tls.ts';

const HTTPS = 'https:';

/** Opens the connections to one sink. It has no time limit; the caller cancels attempts. */
export class SinkConnector {
  readonly #options: SinkConnection;
  readonly #onEnded: (isOrderly: boolean) => void;
  readonly #attempts = new Set<AbortController>();

  /** `onEnded` is called when the other side ends an established connection, in an orderly way or not. */
  constructor(options: SinkConnection, onEnded: (isOrderly: boolean) => void = () => {}) {
    this.#options = options;
    this.#onEnded = onEnded;
  }

  /** Opens one connection. The signature is undici's. */
  readonly connect: buildConnector.connector = toConnector(async (target) => {
    const attempt = new AbortController();
    this.#attempts.add(attempt);
    try {
      return await this.#open(target, attempt.signal);
    } finally {
      this.#attempts.delete(attempt);
    }
  });

  /** Cancels connection attempts. Established connections belong to their callers. */
  cancelAttempts(): void {
    // Not one of undici's own socket errors: with those, undici would reconnect immediately and for ever.
    const reason = new DeliveryError('unreachable', 'The connection attempt was cancelled', { disposition: 'retry' });
    for (const attempt of this.#attempts) attempt.abort(reason);
  }

  async #open(target: buildConnector.Options, signal: AbortSignal): Promise<Socket> {
    const { tls = {}, clock, onShortHello } = this.#options;
    const secured = { tls: target.protocol === HTTPS ? tls : undefined, protocols: ['http/1.1'] };
    const socket = await openTrusted({ ...toAddress(target), ...secured, clock, onShortHello }, signal);
    this.#watch(socket);
    return socket;
  }

  #watch(socket: Socket): void {
    let isOver = false;
    const end = (isOrderly: boolean) => {
      // After an orderly end, undici destroys the socket with an error.
      if (!isOver) this.#onEnded(isOrderly);
      isOver = true;
    };
    socket
      .once('end', () => end(true))
      .once('error', (cause) => {
        if (isOfOtherSide(cause)) end(false);
      });
  }
}

/** True when the network or the other side broke the connection. undici also ends idle connections with an error. */
function isOfOtherSide(cause: NodeJS.ErrnoException): boolean {
  return cause.code !== 'UND_ERR_INFO';
}
