import { CodedError } from '../base/index.ts';

/** Why the simulator could not do what it was told. */
export type SimulatorErrorCode =
  | 'bad-option'
  | 'listen-failed'
  | 'unknown-component'
  | 'compression-failed'
  | 'truth-forgotten';

/** Thrown to whoever drives the simulator; what a simulated router answers to its clients is never an exception. */
export class SimulatorError extends CodedError<SimulatorErrorCode> {
  override readonly name = 'SimulatorError';
  constructor(code: SimulatorErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(code, message, { disposition: 'operator', ...options });
  }
}
