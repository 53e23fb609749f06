import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import { KEPT_SOCKET, toAddress, toTlsOptions } from '../../net/index.ts';
import type { ClientTls } from '../../settings/index.ts';
import { DeliveryError } from '../errors.ts';
import { FINGERPRINT_HINT, findTlsFault } from '../tls.ts';

const HTTPS = 'https:';

/**
 * Opens the connections to one sink. If the certificate is not trusted, it closes the connection before anything is sent.
 * It has no time limit; the caller cancels attempts.
 */
export class SinkConnector {
  readonly #tls: ClientTls;
  readonly #onEnded: (isOrderly: boolean) => void;
  readonly #attempts = new Set<(cause: Error) => void>();

  /** `onEnded` is called when the other side ends an established connection, in an orderly way or not. */
  constructor(tls: ClientTls, onEnded: (isOrderly: boolean) => void = () => {}) {
    this.#tls = tls;
    this.#onEnded = onEnded;
  }

  /** Opens one connection. The signature is undici's. */
  readonly connect: buildConnector.connector = (target, callback) => {
    const settle = (...result: Parameters<buildConnector.Callback>) => {
      if (!this.#attempts.delete(fail)) return;
      if (result[0]) tcp.destroy();
      if (result[1]) this.#watch(result[1]);
      callback(...result);
    };
    const fail = (cause: Error) => settle(cause, null);
    this.#attempts.add(fail);
    const isTls = target.protocol === HTTPS;
    const tcp = connectTcp({
      ...toAddress(target),
      ...KEPT_SOCKET,
    });
    tcp.on('error', fail);
    tcp.once('connect', () => {
      if (!isTls) return settle(null, tcp);
      try {
        const secured = this.#secure(tcp, target);
        secured.on('error', fail);
        secured.once('close', () => fail(toUnreachable('The connection ended during the TLS handshake')));
        secured.once('secureConnect', () => {
          const fault = this.#verifyPeer(secured);
          if (fault) fail(fault);
          else settle(null, secured);
        });
      } catch (cause) {
        // An invalid certificate or key.
        fail(cause instanceof Error ? cause : new TypeError(String(cause)));
      }
    });
  };

  /** Cancels connection attempts. Established connections belong to their callers. */
  cancelAttempts(): void {
    for (const fail of [...this.#attempts]) fail(toUnreachable('The connection attempt was cancelled'));
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

  #secure(socket: Socket, target: buildConnector.Options): TLSSocket {
    return connectTls({ ...toTlsOptions(this.#tls, target.hostname), socket, ALPNProtocols: ['http/1.1'] });
  }

  #verifyPeer(socket: TLSSocket): Error | undefined {
    const fault = findTlsFault(this.#tls, socket);
    if (fault === undefined) return undefined;
    return new DeliveryError('misconfigured', fault, { disposition: 'operator', hint: FINGERPRINT_HINT });
  }
}

/** True when the network or the other side broke the connection. undici also ends idle connections with an error. */
function isOfOtherSide(cause: NodeJS.ErrnoException): boolean {
  return cause.code !== 'UND_ERR_INFO';
}

/** Not one of undici's own socket errors: with those, undici would reconnect immediately and for ever. */
function toUnreachable(message: string): DeliveryError {
  return new DeliveryError('unreachable', message, { disposition: 'retry' });
}
