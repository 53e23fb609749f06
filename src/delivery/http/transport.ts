import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import {
  adviseUnreached,
  ContentCodingError,
  classifyCode,
  errors,
  readErrorCode,
  toAddress,
  toConnector,
} from '../../net/index.ts';
import { openTrusted, type SinkConnection, toTlsError } from '../connection.ts';
import { DeliveryError } from '../errors.ts';

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

/** Codes for an answer that is not in the form of HTTP, or not within the bounds of the client. */
const PROTOCOL_CODE = /^(HPE_|UND_ERR_HEADERS_OVERFLOW)/;

/** Converts an error of the HTTP client to a {@link DeliveryError}. `place` is the address without secrets. */
export function toTransportError(cause: unknown, sink: string, place: string): DeliveryError {
  if (cause instanceof DeliveryError) {
    const { code, disposition, hint, retryAfterMs, answer } = cause;
    return new DeliveryError(code, `Sink ${sink} could not use ${place}: ${cause.message}`, {
      disposition,
      hint,
      retryAfterMs,
      answer,
    });
  }
  const reason = findReason(cause);
  const untrusted = toTlsError(reason, sink, place);
  if (untrusted) return untrusted;
  const code = readErrorCode(reason);
  const isForm = reason instanceof errors.HTTPParserError || PROTOCOL_CODE.test(code);
  const isBody = reason instanceof ContentCodingError || reason instanceof errors.ResponseContentLengthMismatchError;
  if (isForm || isBody) {
    return new DeliveryError('protocol_error', `Sink ${sink} cannot read the answer of ${place}`, {
      disposition: 'retry',
      hint: isForm
        ? 'Check host, port and scheme in the url of this sink; if they are right, its server, or a proxy before it, breaks the rules of HTTP'
        : undefined,
      cause,
    });
  }
  const fault = classifyCode(code);
  const isUnreachable = fault === 'no-address' || fault === 'unreachable';
  const what =
    fault === 'no-address'
      ? 'could not resolve the host name of'
      : isUnreachable
        ? 'could not connect to'
        : 'lost its connection to';
  return new DeliveryError('unreachable', `Sink ${sink} ${what} ${place}`, {
    disposition: 'retry',
    hint: adviseUnreached(code, 'sink'),
    cause,
    isCutOff: !isUnreachable && Object(reason).syscall !== 'connect',
  });
}

/** Returns the innermost error with its own code. */
function findReason(cause: unknown): unknown {
  if (!(cause instanceof Error)) return undefined;
  const code = readErrorCode(cause);
  const isOuter = code === '' || code.startsWith('UND_ERR_');
  return isOuter && cause.cause instanceof Error ? findReason(cause.cause) : cause;
}
