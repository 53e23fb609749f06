import { CodedError } from '../base/index.ts';

/**
 * `full`: the spool has reached its bound. `too-long`: a note is above its bound. `locked`: another process owns the
 * files. `broken`: the database failed.
 */
export type StoreFailure = 'full' | 'too-long' | 'locked' | 'broken';

/** What can go wrong with durable state. */
export class StoreError extends CodedError<StoreFailure> {
  override readonly name = 'StoreError';
}
