import { CodedError, type Disposition } from '../../base/index.ts';
import { SourceError } from '../../model/index.ts';

/**
 * Why an archive could not be read to its end:
 * - `truncated`: it ends too early; everything whole before that was delivered.
 * - `corrupt`: a checksum or the structure is wrong; everything verified before that was delivered.
 * - `too-large`: a bound on the output was reached.
 * - `unsupported`: a format, or a variant of one, that this product does not decode.
 * - `worker-lost`: the thread that decoded it died or stopped answering; says nothing about the archive.
 * - `closed`: the pool was closed meanwhile; says nothing about the archive.
 */
type ArchiveErrorCode = 'truncated' | 'corrupt' | 'too-large' | 'unsupported' | 'worker-lost' | 'closed';

const DISPOSITIONS: Readonly<Record<ArchiveErrorCode, Disposition>> = {
  truncated: 'retry',
  corrupt: 'retry',
  'too-large': 'skip',
  unsupported: 'skip',
  'worker-lost': 'retry',
  closed: 'retry',
};

/** The archive codecs' one error class. */
export class ArchiveError extends CodedError<ArchiveErrorCode> {
  override readonly name = 'ArchiveError';
  /** Bit offset in the compressed bytes at which the fault was found; `undefined` when unknown. */
  readonly bit: number | undefined;
  constructor(code: ArchiveErrorCode, message: string, options: { bit?: number | undefined; cause?: unknown } = {}) {
    super(code, message, { disposition: DISPOSITIONS[code], cause: options.cause });
    this.bit = options.bit;
  }
}

/**
 * Why a log is received and its lines are not shipped: a closed list, which is also that of the label `state` of
 * `router_log_unshipped`. Each has its text in {@link UNSHIPPED}, and a row in docs/troubleshooting.md.
 */
const UNSHIPPED_STATES = ['error_page', 'reversed'] as const;
type UnshippedState = (typeof UNSHIPPED_STATES)[number];

/** What each state means, as an end of a sentence that begins with a file, and what to do. */
const UNSHIPPED: Readonly<Record<UnshippedState, { readonly what: string; readonly hint: string }>> = {
  error_page: {
    what: 'is an error page or another document, and no log',
    hint: 'Open the log in the web interface of the router; restart the router if it shows no lines there either',
  },
  reversed: {
    what: 'has its newest line first, so it cannot be followed',
    hint: 'Switch off default_log_reverse in administration/webinterface of the router, which may be the cause',
  },
};

/** The content of a log file is not shipped. */
export class LogError extends CodedError<UnshippedState> {
  override readonly name = 'LogError';
}

/** Creates the error of a file in such a state. */
export function createLogError(state: UnshippedState, file: string): LogError {
  const { what, hint } = UNSHIPPED[state];
  return new LogError(state, `${file} ${what}`, { disposition: 'retry', hint });
}

/** Returns the state of a log, of which a file could not be read because of this error; `undefined` if that has no name. */
export function unshippedStateOf(cause: unknown): UnshippedState | undefined {
  return cause instanceof LogError ? cause.code : undefined;
}

/** The HTTP status with which a router answered, if it did. */
export function statusOf(cause: unknown): number | undefined {
  return cause instanceof SourceError ? cause.status : undefined;
}

/** True if only this file is at fault: its content, or the response of a router that is otherwise well. */
export function isOwnFault(cause: unknown): boolean {
  if (cause instanceof ArchiveError || cause instanceof LogError) return true;
  return cause instanceof SourceError && cause.isAnswered;
}

/**
 * True if other files may be read although this one was not: its own fault, or a body that was cut off again when it was asked
 * for once more. A router that is gone is found out with the next request.
 */
export function isFileFault(cause: unknown): boolean {
  return isOwnFault(cause) || isBodyCut(cause);
}

/** True if the router asks for patience (429, 503), which says nothing about the file. */
export function isBusy(cause: unknown): boolean {
  const status = statusOf(cause);
  return status === 429 || status === 503;
}

/** Statuses that say that the router does not have a resource, or does not let this account read it; with a valid session also 401. */
const REFUSALS: readonly unknown[] = [401, 403, 404];

/** True if the router will answer this request no more than now: it does not have the resource, or does not let this account read it. */
export function isRefusal(cause: unknown): boolean {
  const status = statusOf(cause);
  return REFUSALS.includes(status) && (status !== 401 || isOwnFault(cause));
}

/** True if a connection ended within a body, which is worth another attempt at once: the router has answered. */
export function isBodyCut(cause: unknown): boolean {
  return cause instanceof SourceError && cause.code === 'connect' && !cause.isUnsent;
}

/** Codes of a source that gives a download up because it takes too many bytes or too much time. */
const LIMIT_CODES: ReadonlySet<string> = new Set(['budget', 'timeout']);

/** True if a download was ended at a limit: another one would end there too. */
export function isTooLong(cause: unknown): boolean {
  return cause instanceof SourceError && LIMIT_CODES.has(cause.code);
}
