import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import {
  adviseUnreached,
  type ConnectionPlan,
  ContentCodingError,
  classifyCode,
  errors,
  explainTls,
  findOtherFingerprint,
  openConnection,
  ProxyError,
  readErrorCode,
  toAddress,
  toConnector,
} from '../net/index.ts';
import type { ClientTls } from '../settings/index.ts';
import { DeliveryError } from './contracts.ts';

interface SinkConnection extends Pick<ConnectionPlan, 'clock' | 'onShortHello' | 'proxy'> {
  /** For addresses with TLS. Default: the authorities of the system and of Node.js. */
  readonly tls?: ClientTls | undefined;
}

/**
 * Opens a connection, and closes it before anything is sent if the certificate is not the pinned one. Convert its errors with
 * {@link toTlsError}.
 */
export async function openTrusted(plan: ConnectionPlan, signal: AbortSignal): Promise<Socket> {
  const socket = await openConnection(plan, signal);
  const isPinned = plan.tls && socket instanceof TLSSocket;
  const found = isPinned ? findOtherFingerprint(plan.tls, socket.getPeerX509Certificate()) : undefined;
  if (found === undefined) return socket;
  socket.destroy();
  throw new OtherCertificate(`it has a different fingerprint: ${found}`);
}

/** The certificate is not the pinned one. The message is a reason as in `explainTls`. */
class OtherCertificate extends Error {
  readonly subject = 'certificate';
  readonly reason = this.message;
  readonly hint = 'If the certificate was renewed, set tls.fingerprint_sha256 of this sink to this fingerprint';
}

/** Converts a TLS error to a {@link DeliveryError}; `undefined` for other errors. `place`: the address without secrets. */
export function toTlsError(cause: unknown, sink: string, place: string): DeliveryError | undefined {
  const failure = cause instanceof OtherCertificate ? cause : explainTls(cause, 'sink');
  if (!failure) return undefined;
  const { subject, reason, hint } = failure;
  const what =
    subject === 'certificate' ? `does not trust the certificate of ${place}` : `could not establish TLS with ${place}`;
  return new DeliveryError('misconfigured', `Sink ${sink} ${what}: ${reason}`, { disposition: 'operator', hint });
}

/** Remembers that the receiver closed a connection, until it is queried. */
export class ConnectionEnd {
  /** Called when the receiver closes the connection. */
  onEnd: (() => void) | undefined;
  #end: { readonly endedMs?: number | undefined } | undefined;

  /** `endedMs`: Unix time (ms) of an orderly end; absent = the connection broke at an unknown time. */
  record(endedMs?: number): void {
    if (endedMs === undefined || !this.#end) this.#end = { endedMs };
    this.onEnd?.();
  }

  async takeEnd(): Promise<{ readonly endedMs?: number | undefined } | undefined> {
    // Process pending socket events before more is sent.
    await setImmediate();
    const end = this.#end;
    this.#end = undefined;
    return end;
  }
}

const HTTPS = 'https:';

/** Opens the connections to one sink, without a time limit; the caller cancels attempts. */
export class SinkConnector {
  readonly #options: SinkConnection;
  readonly #onEnded: (isOrderly: boolean) => void;
  readonly #attempts = new Set<AbortController>();

  /** `onEnded` is called when the receiver closes an established connection. */
  constructor(options: SinkConnection, onEnded: (isOrderly: boolean) => void = () => {}) {
    this.#options = options;
    this.#onEnded = onEnded;
  }

  /** Opens one connection; has undici's signature. */
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
    // With one of its own socket errors, undici would reconnect immediately and for ever.
    const reason = new DeliveryError('unreachable', 'The connection attempt was cancelled', { disposition: 'retry' });
    for (const attempt of this.#attempts) attempt.abort(reason);
  }

  async #open(target: buildConnector.Options, signal: AbortSignal): Promise<Socket> {
    const { tls = {}, proxy, clock, onShortHello } = this.#options;
    const secured = { tls: target.protocol === HTTPS ? tls : undefined, protocols: ['http/1.1'] };
    const socket = await openTrusted({ ...toAddress(target), ...secured, proxy, clock, onShortHello }, signal);
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
        if (isBrokenByPeer(cause)) end(false);
      });
  }
}

/** Returns true when the network or the receiver broke the connection. undici also ends idle connections with an error. */
function isBrokenByPeer(cause: NodeJS.ErrnoException): boolean {
  return cause.code !== 'UND_ERR_INFO';
}

/** Codes for a response that violates HTTP or exceeds the limits of the client. */
const PROTOCOL_CODE = /^(HPE_|UND_ERR_HEADERS_OVERFLOW)/;

/** Converts an error of the HTTP client to a {@link DeliveryError}. `place`: the address without secrets. */
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
  if (reason instanceof ProxyError) {
    const { disposition, hint } = reason;
    const code = disposition === 'operator' ? 'misconfigured' : 'unreachable';
    return new DeliveryError(code, `Sink ${sink} could not connect to ${place}`, { disposition, hint, cause: reason });
  }
  const untrusted = toTlsError(reason, sink, place);
  if (untrusted) return untrusted;
  const code = readErrorCode(reason);
  const breaksHttp = reason instanceof errors.HTTPParserError || PROTOCOL_CODE.test(code);
  const isBody = reason instanceof ContentCodingError || reason instanceof errors.ResponseContentLengthMismatchError;
  if (breaksHttp || isBody) {
    return new DeliveryError('protocol_error', `Sink ${sink} cannot read the answer of ${place}`, {
      disposition: 'retry',
      hint: breaksHttp
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

function findReason(cause: unknown): unknown {
  if (!(cause instanceof Error)) return undefined;
  const code = readErrorCode(cause);
  const isOuter = code === '' || code.startsWith('UND_ERR_');
  return isOuter && cause.cause instanceof Error ? findReason(cause.cause) : cause;
}
