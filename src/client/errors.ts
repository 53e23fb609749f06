import { DeadlineExceeded } from '../base/index.ts';
import { type RouterFailure, RouterReadError, type RouterReadErrorOptions } from '../model/index.ts';
import { adviseUnreached, classifyCode, explainTls, ProxyError, readErrorCode, type TlsFailure } from '../net/index.ts';

/** One detail of a router's error message, bounded and without control characters. */
export interface ErrorDetail {
  /** A parameter or a subject. */
  readonly topic: string;
  readonly text: string;
}

/** Details of a {@link RouterError}. */
export interface RouterErrorOptions extends RouterReadErrorOptions {
  /** The router's own words, from the body of its answer. */
  readonly words?: readonly ErrorDetail[] | undefined;
  /** True if the cause is on this machine, not on the router. Default false. */
  readonly isLocal?: boolean | undefined;
}

/** Error of a request to a router. */
export class RouterError extends RouterReadError<RouterFailure> {
  override readonly name = 'RouterError';
  readonly words: readonly ErrorDetail[];
  readonly isLocal: boolean;
  constructor(code: RouterFailure, message: string, options: RouterErrorOptions) {
    super(code, message, options);
    this.words = options.words ?? [];
    this.isLocal = options.isLocal ?? false;
  }

  /** True if the account is valid but lacks the right: status 403, or 401 with a valid session. */
  get isForbidden(): boolean {
    return this.code === 'auth' && this.isAnswered;
  }
}

const BROKEN_CODES = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT']);
const TIMEOUT_CODES = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);
/** Converts a TLS failure; `what` names the attempt. */
export function toTlsError({ subject, reason, hint }: TlsFailure, what: string): RouterError {
  const message =
    subject === 'certificate'
      ? `The router's certificate is not trusted: ${reason}`
      : `${what} failed at TLS: ${reason}`;
  return new RouterError('tls', message, { disposition: 'operator', hint, isUnsent: true });
}

/** Returns the hint for a router that closes the connection on the first request. */
export function adviseClosed(isTls: boolean): string {
  return isTls
    ? 'The router may require a client certificate: see tls.cert_file and tls.key_file of this router'
    : 'The router may expect TLS on this port: see scheme and port in the url of this router';
}

/** Converts an error of the HTTP client; `what` names the attempt. `lostHint`: the hint if the connection was lost. */
export function toRouterError(cause: unknown, what: string, lostHint?: string): RouterError {
  if (cause instanceof RouterError) return cause;
  if (cause instanceof ProxyError) {
    const { code, message, disposition, hint } = cause;
    return new RouterError(code, message, { disposition, hint, cause: cause.cause, isUnsent: true });
  }
  if (cause instanceof DeadlineExceeded) {
    return new RouterError('timeout', `${what} took longer than ${cause.limitMs / 1000} s`, { disposition: 'retry' });
  }
  const { code, isUnderWay } = findReason(cause);
  const fault = classifyCode(code);
  if (fault === 'no-address') {
    const hint = adviseUnreached(code, 'router');
    return new RouterError('dns', `${what} found no address`, { disposition: 'retry', hint, cause, isUnsent: true });
  }
  if (fault === 'unreachable' && !isUnderWay) {
    const hint = adviseUnreached(code, 'router');
    return new RouterError('connect', `${what} could not connect`, {
      disposition: 'retry',
      hint,
      cause,
      isUnsent: true,
    });
  }
  const untrusted = explainTls(findCoded(cause), 'router');
  if (untrusted) return toTlsError(untrusted, what);
  if (fault === 'unreachable' || BROKEN_CODES.has(code)) {
    return new RouterError('connect', `${what} lost its connection`, { disposition: 'retry', hint: lostHint, cause });
  }
  if (TIMEOUT_CODES.has(code)) {
    return new RouterError('timeout', `${what} was not answered in time`, { disposition: 'retry', cause });
  }
  return new RouterError('http', `${what} failed`, { disposition: 'retry', cause });
}

function findCoded(cause: unknown): unknown {
  if (cause instanceof AggregateError && cause.errors.length > 0) return findCoded(cause.errors[0]);
  return cause instanceof Error && readErrorCode(cause) === '' ? findCoded(cause.cause) : cause;
}

/** `isUnderWay`: the connection was already established. */
function findReason(cause: unknown): { readonly code: string; readonly isUnderWay: boolean } {
  if (!(cause instanceof Error)) return { code: '', isUnderWay: false };
  if (cause instanceof AggregateError && cause.errors.length > 0) return findReason(cause.errors[0]);
  const code = readErrorCode(cause);
  if (code === '') return findReason(cause.cause);
  const syscall = 'syscall' in cause ? cause.syscall : undefined;
  return { code, isUnderWay: syscall === 'read' || syscall === 'write' };
}

/** Returns the reason of the caller's abort; converts everything else like {@link toRouterError}. */
export function toCallerError(cause: unknown, signal: AbortSignal, attempt: string, lostHint?: string): unknown {
  return signal.aborted ? signal.reason : toRouterError(cause, attempt, lostHint);
}
