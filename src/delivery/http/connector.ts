import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import { KEPT_SOCKET, toAddress } from '../../net/index.ts';
import type { ClientTls } from '../../settings/index.ts';
import { DeliveryError } from '../errors.ts';
import { FINGERPRINT_HINT, findTlsFault, toTlsOptions } from '../tls.ts';

const HTTPS = 'https:';

/**
 * Opens the connections to one sink. A certificate that is not trusted ends a connection before anything is sent. It has
 * no time limit: who waits for a connection ends it.
 */
export class SinkConnector {
  readonly #tls: ClientTls;
  readonly #onEnded: (isOrderly: boolean) => void;
  readonly #openings = new Set<(cause: Error) => void>();

  /** `onEnded`: told when the other side ends a connection that stood, in an orderly way or not. */
  constructor(tls: ClientTls, onEnded: (isOrderly: boolean) => void = () => {}) {
    this.#tls = tls;
    this.#onEnded = onEnded;
  }

  /** Opens one connection; the form is the one that undici asks for. */
  readonly connect: buildConnector.connector = (target, callback) => {
    const settle = (...result: Parameters<buildConnector.Callback>) => {
      if (!this.#openings.delete(fail)) return;
      if (result[0]) tcp.destroy();
      if (result[1]) this.#watch(result[1]);
      callback(...result);
    };
    const fail = (cause: Error) => settle(cause, null);
    this.#openings.add(fail);
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
          const fault = this.#judge(secured);
          if (fault) fail(fault);
          else settle(null, secured);
        });
      } catch (cause) {
        // A certificate or key that is none.
        fail(cause instanceof Error ? cause : new TypeError(String(cause)));
      }
    });
  };

  /** Ends the connections that are on their way. Those that stand belong to who asked for them. */
  endOpenings(): void {
    for (const fail of [...this.#openings]) fail(toUnreachable('The attempt to connect was given up'));
  }

  #watch(socket: Socket): void {
    let isOver = false;
    const end = (isOrderly: boolean) => {
      // After an orderly end, undici breaks what is left with an error.
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

  #judge(socket: TLSSocket): Error | undefined {
    const fault = findTlsFault(this.#tls, socket);
    if (fault === undefined) return undefined;
    return new DeliveryError('misconfigured', fault, { disposition: 'operator', hint: FINGERPRINT_HINT });
  }
}

/** Whether the network or the other side broke a connection: this side ends one that is idle with an error of undici's, too. */
function isOfOtherSide(cause: NodeJS.ErrnoException): boolean {
  return cause.code !== 'UND_ERR_INFO';
}

/** An error of undici's own for broken sockets would make it connect again, at once and for ever. */
function toUnreachable(message: string): DeliveryError {
  return new DeliveryError('unreachable', message, { disposition: 'retry' });
}
