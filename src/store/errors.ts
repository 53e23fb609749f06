import { CodedError } from '../base/index.ts';

/**
 * - `full`: the spool has reached its bound, or the disk has.
 * - `unwritable`: the disk does not take writes: it is read-only, or it fails.
 * - `too-long`: a note is above its bound.
 * - `locked`: another process owns the files.
 * - `damaged`: something stored was damaged, and has been taken out: the same again may succeed, once positions were read anew.
 * - `absent`: there is no such file, and it was not to be made.
 * - `broken`: the database failed.
 */
export type StoreFailure = 'full' | 'unwritable' | 'too-long' | 'locked' | 'damaged' | 'absent' | 'broken';

/** What can go wrong with durable state. */
export class StoreError extends CodedError<StoreFailure> {
  override readonly name = 'StoreError';
}
