import { CodedError } from '../../base/index.ts';

/** `process-ended`: a process of the measurement has ended too early; `no-answer`: it has not said what it had to. */
export type BenchErrorCode = 'process-ended' | 'no-answer';

/** Thrown when a measurement cannot be made. */
export class BenchError extends CodedError<BenchErrorCode> {
  override readonly name = 'BenchError';
  constructor(code: BenchErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(code, message, { disposition: 'operator', ...options });
  }
}
