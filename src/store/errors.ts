import { CodedError } from '../base/index.ts';

/**
 * - `full`: the spool or the disk is full.
 * - `unwritable`: the disk rejects writes: it is read-only or failing.
 * - `too-long`: a note exceeds its limit.
 * - `locked`: another process holds the files.
 * - `damaged`: stored data was damaged and has been removed; a retry may succeed after positions were read again.
 * - `absent`: the file does not exist and was not to be created.
 * - `broken`: the database failed.
 */
export type StoreFailure = 'full' | 'unwritable' | 'too-long' | 'locked' | 'damaged' | 'absent' | 'broken';

/** A failure of durable state. */
export class StoreError extends CodedError<StoreFailure> {
  override readonly name = 'StoreError';
}
