import { CodedError } from '../base/index.ts';

/**
 * - `full`: the spool has reached its bound, or the disk has.
 * - `too-long`: a note is above its bound.
 * - `locked`: another process owns the files.
 * - `damaged`: the database was damaged, and has been rebuilt from what could be read of it: the same again may succeed.
 * - `broken`: the database failed.
 */
export type StoreFailure = 'full' | 'too-long' | 'locked' | 'damaged' | 'broken';

/** What can go wrong with durable state. */
export class StoreError extends CodedError<StoreFailure> {
  override readonly name = 'StoreError';
}
