import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import { type ConnectionPlan, openConnection, toAddress, toConnector } from '../../net/index.ts';
import type { ClientTls } from '../../settings/index.ts';
import { DeliveryError } from '../errors.ts';
import { FINGERPRINT_HINT, findTlsFault } from '../tls.ts';

const HTTPS = 'https:';

/** How the connections to one sink are secured. */
export interface SinkConnectorOptions extends Pick<ConnectionPlan, 'clock' | 'onShortHello'> {
  /** TLS settings for `https` URLs. */
  readonly tls: ClientTls;
}

/**
 * Opens the connections to one sink. If the certificate is not trusted, it closes the connection before anything is sent.
 * It has no time limit; the caller cancels attempts.
 */
export class SinkConnector {
  readonly #options: SinkConnectorOptions;
  readonly #onEnded: (isOrderly: boolean) => void;
  readonly #attempts = new Set<AbortController>();

  /** `onEnded` is called when the other side ends an established connection, in an orderly way or not. */
  constructor(options: SinkConnectorOptions, onEnded: (isOrderly: boolean) => void = () => {}) {
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
    const { tls, ...rest } = this.#options;
    const isTls = target.protocol === HTTPS;
    const plan = { ...toAddress(target), ...rest, tls: isTls ? tls : undefined, protocols: ['http/1.1'] };
    const socket = await openConnection(plan, signal);
    const fault = socket instanceof TLSSocket ? findTlsFault(tls, socket) : undefined;
    if (fault !== undefined) {
      socket.destroy();
      throw new DeliveryError('misconfigured', fault, { disposition: 'operator', hint: FINGERPRINT_HINT });
    }
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
