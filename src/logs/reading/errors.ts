import { CodedError, type Disposition } from '../../base/index.ts';
import { RouterReadError } from '../../model/index.ts';

/**
 * Why an archive could not be read to its end:
 * - `truncated`: it ends too early. All complete content before was delivered.
 * - `corrupt`: a checksum or the structure is wrong. All verified content before was delivered.
 * - `too-large`: the output reached a limit.
 * - `unsupported`: a format, or variant of one, that is not decoded.
 * - `worker-lost`: the thread died or stopped answering. Not a fault of the archive.
 * - `closed`: the pool was closed. Not a fault of the archive.
 */
const DISPOSITIONS = {
  truncated: 'retry',
  corrupt: 'retry',
  'too-large': 'skip',
  unsupported: 'skip',
  'worker-lost': 'retry',
  closed: 'retry',
} as const satisfies Readonly<Record<string, Disposition>>;
type ArchiveErrorCode = keyof typeof DISPOSITIONS;

/** Error of the archive decoders. */
export class ArchiveError extends CodedError<ArchiveErrorCode> {
  override readonly name = 'ArchiveError';
  /** Position of the fault in the compressed file, in bits; `undefined` if unknown. */
  readonly bit: number | undefined;
  constructor(code: ArchiveErrorCode, message: string, options: { bit?: number | undefined; cause?: unknown } = {}) {
    super(code, message, { disposition: DISPOSITIONS[code], cause: options.cause });
    this.bit = options.bit;
  }
}

/**
 * Why the lines of a received file are not shipped. The keys are the values of the label `state` of
 * `router_log_unshipped`; each has a row in docs/troubleshooting.md. `what` completes a sentence that begins with the
 * file name.
 */
const UNSHIPPED = {
  error_page: {
    what: 'is an error page or another document, not a log',
    hint: 'Open the log in the web interface of the router; restart the router if it shows no lines there either',
  },
  reversed: {
    what: 'has its newest line first, so it cannot be followed',
    hint: 'Switch off default_log_reverse in administration/webinterface of the router, which may be the cause',
  },
};
type UnshippedState = keyof typeof UNSHIPPED;

/** The content of a log file is not shipped. */
export class LogError extends CodedError<UnshippedState> {
  override readonly name = 'LogError';
}

export function createLogError(state: UnshippedState, file: string): LogError {
  const { what, hint } = UNSHIPPED[state];
  return new LogError(state, `${file} ${what}`, { disposition: 'retry', hint });
}

/** Returns the state for a {@link LogError}; `undefined` for other errors. */
export function unshippedStateOf(cause: unknown): UnshippedState | undefined {
  return cause instanceof LogError ? cause.code : undefined;
}

export function statusOf(cause: unknown): number | undefined {
  return cause instanceof RouterReadError ? cause.status : undefined;
}

/** Returns true if only this file failed: its content, or the answer of a router that otherwise works. */
export function isOwnFault(cause: unknown): boolean {
  if (cause instanceof ArchiveError || cause instanceof LogError) return true;
  return cause instanceof RouterReadError && cause.isAnswered;
}

/** Returns true if other files may still be read. The next request shows whether the router is reachable. */
export function isFileFault(cause: unknown): boolean {
  return isOwnFault(cause) || isBodyCut(cause);
}

/** Returns true if the router answered 429 or 503, which says nothing about the file. */
export function isBusy(cause: unknown): boolean {
  const status = statusOf(cause);
  return status === 429 || status === 503;
}

/** Statuses for resources that are missing or not permitted. 401 only with a valid session. */
const REFUSALS: readonly unknown[] = [401, 403, 404];

/** Returns true if the router will not answer this request: the resource is missing or not permitted. */
export function isRefusal(cause: unknown): boolean {
  const status = statusOf(cause);
  return REFUSALS.includes(status) && (status !== 401 || isOwnFault(cause));
}

/** Returns true if a connection ended within a body. An immediate retry is reasonable. */
export function isBodyCut(cause: unknown): boolean {
  return cause instanceof RouterReadError && cause.code === 'connect' && !cause.isUnsent;
}

/** Codes for downloads aborted because they take too many bytes or too much time. */
const LIMIT_CODES: ReadonlySet<string> = new Set(['budget', 'timeout']);

/** Returns true if a download was aborted at a limit. A retry would end there, too. */
export function isTooLong(cause: unknown): boolean {
  return cause instanceof RouterReadError && LIMIT_CODES.has(cause.code);
}
