import { CodedError } from '../base/index.ts';

/** Reasons of a {@link SimulatorError}. */
export type SimulatorErrorCode =
  | 'bad-option'
  | 'listen-failed'
  | 'unknown-component'
  | 'compression-failed'
  | 'truth-forgotten';

/** Error for the code that controls the simulator; answers of simulated routers to clients are never exceptions. */
export class SimulatorError extends CodedError<SimulatorErrorCode> {
  override readonly name = 'SimulatorError';
  constructor(code: SimulatorErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(code, message, { disposition: 'operator', ...options });
  }
}
