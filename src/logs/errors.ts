import { CodedError, type Disposition } from '../base/index.ts';
import { SourceError } from '../model/index.ts';
import { ArchiveError } from './archive/archive-error.ts';
import type { FileFault } from './position/position.ts';

/**
 * Why a log is received and its lines are not shipped: a closed list, which is also that of the label `state` of
 * `router_log_unshipped`. Each has its text in {@link UNSHIPPED}, and a row in docs/troubleshooting.md.
 */
export const UNSHIPPED_STATES = ['error_page', 'reversed'] as const;
export type UnshippedState = (typeof UNSHIPPED_STATES)[number];

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

/** Returns the disposition of an error, if it has one. */
export function dispositionOf(cause: unknown): Disposition | undefined {
  return cause instanceof CodedError ? cause.disposition : undefined;
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

/** True if a body came and not all of it: to ask for it again costs as much. */
export function isBodyUnfinished(cause: unknown): boolean {
  return isBodyCut(cause) || isTooLong(cause) || (cause instanceof SourceError && statusOf(cause) === 200);
}

/** Returns the fault of the requested file that an error stands for. */
export function toFileFault(cause: unknown): FileFault {
  if (cause instanceof ArchiveError)
    return cause.code === 'corrupt' ? 'corrupt' : cause.code === 'truncated' ? 'cut' : 'refused';
  return statusOf(cause) === 404 ? 'gone' : 'refused';
}
