import { CodedError } from '../base/index.ts';

/** `process-ended`: a process of a command has ended too early; `no-answer`: it has not said what it had to. */
type ProcessErrorCode = 'process-ended' | 'no-answer';

/** Thrown when another process of a command does not do its part. */
export class ProcessError extends CodedError<ProcessErrorCode> {
  override readonly name = 'ProcessError';
  constructor(code: ProcessErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(code, message, { disposition: 'operator', ...options });
  }
}
