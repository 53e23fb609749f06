import { CodedError } from '../base/index.ts';

/** `foreign`: the body is no log. */
export type LogFailure = 'foreign';

/** What can be wrong with the content of a log file. */
export class LogError extends CodedError<LogFailure> {
  override readonly name = 'LogError';
}
