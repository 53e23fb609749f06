import { CodedError, type Disposition } from '../base/index.ts';
import { SourceError } from '../model/index.ts';
import { ArchiveError } from './archive/index.ts';
import type { FileFault } from './position/position.ts';

/** `foreign`: the body is no log. */
export type LogFailure = 'foreign';

/** What can be wrong with the content of a log file. */
export class LogError extends CodedError<LogFailure> {
  override readonly name = 'LogError';
}

/** What an error says that the caller should do, if it says so. */
export function dispositionOf(cause: unknown): Disposition | undefined {
  return cause instanceof CodedError ? cause.disposition : undefined;
}

/** The HTTP status with which a router answered, if it did. */
export function statusOf(cause: unknown): number | undefined {
  return cause instanceof SourceError ? cause.status : undefined;
}

/** Whether only this file is at fault: its content, or an answer of a router that is otherwise well. */
export function isOwnFault(cause: unknown): boolean {
  if (cause instanceof ArchiveError || cause instanceof LogError) return true;
  return cause instanceof SourceError && cause.isAnswered;
}

/** Whether a connection ended while a body was on its way, which is worth another attempt at once. */
export function isBodyCut(cause: unknown): boolean {
  return cause instanceof SourceError && cause.code === 'connect' && !cause.isUnsent;
}

/** What an error means for the file that was asked for. */
export function toFileFault(cause: unknown): FileFault {
  if (cause instanceof ArchiveError)
    return cause.code === 'corrupt' ? 'corrupt' : cause.code === 'truncated' ? 'cut' : 'refused';
  return statusOf(cause) === 404 ? 'gone' : 'refused';
}
