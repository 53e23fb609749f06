import { CodedError } from '../base/index.ts';

/**
 * - `full`: the spool or the disk is full.
 * - `share`: the waiting records of a router take as much of the spool as it may use.
 * - `unwritable`: the disk rejects writes: it is read-only or failing. Or the engine does not answer.
 * - `too-long`: a value exceeds its limit.
 * - `locked`: another process holds the files.
 * - `damaged`: stored data was damaged and has been removed; a retry may succeed after positions were read again.
 * - `absent`: the file does not exist and was not to be created.
 * - `broken`: the database failed.
 * - `fenced`: another replica of the cluster has moved the log or the cursor since it was read here.
 * - `format`: the stream of the cluster has another format, and is left as it is.
 */
export type StoreFailure =
  | 'full'
  | 'share'
  | 'unwritable'
  | 'too-long'
  | 'locked'
  | 'damaged'
  | 'absent'
  | 'broken'
  | 'fenced'
  | 'format';

/** A failure of durable state. */
export class StoreError extends CodedError<StoreFailure> {
  override readonly name = 'StoreError';
}

/** SQLite result codes (sqlite.org/rescode.html): a malformed database, and a file that is not a database. */
const DAMAGE_KINDS: readonly unknown[] = [11, 26];
/** Another process holds the lock. */
const BUSY_KINDS: readonly unknown[] = [5, 6];
/** No room to write: the disk is full. */
const FULL_KIND = 13;
/** Read-only, an I/O error, and a file that cannot be opened. */
const DISK_KINDS: readonly unknown[] = [8, 10, 14];
/** System errors for a full disk when a folder cannot be created. */
const FULL_SYSTEM_CODES: readonly unknown[] = ['ENOSPC', 'EDQUOT'];
// Creating a folder and its parents on a read-only disk gives ENOENT in Node.js.
const DISK_SYSTEM_CODES: readonly unknown[] = ['EROFS', 'EIO', 'ENOENT'];

/**
 * Returns true if the database is damaged: its structure, or a number in it that nothing here has written, alone or in a sum.
 */
export function isDamage(cause: unknown): boolean {
  const isNumber =
    readSystemCode(cause) === 'ERR_OUT_OF_RANGE' || (cause instanceof Error && cause.message === 'integer overflow');
  return isNumber || DAMAGE_KINDS.includes(kindOf(cause));
}

/** Returns true if the disk failed, so that the files may have to be reopened before they work again. */
export function isDiskFault(cause: unknown): boolean {
  return DISK_KINDS.includes(kindOf(cause));
}

/** Returns a failure of SQLite as an error of the store that says what to do. */
export function toStoreError(cause: unknown, where: string): StoreError {
  if (cause instanceof StoreError) return cause;
  const kind = kindOf(cause);
  const systemCode = readSystemCode(cause);
  if (BUSY_KINDS.includes(kind)) {
    return new StoreError('locked', `The state in ${where} is in use by another process`, {
      disposition: 'operator',
      hint: 'Stop the other agent, or give this one a storage.path of its own',
      cause,
    });
  }
  if (kind === FULL_KIND || FULL_SYSTEM_CODES.includes(systemCode)) {
    return new StoreError('full', `There is no room to write the state in ${where}`, {
      disposition: 'hold-back',
      hint: 'Free some space on its disk; the agent then continues where it stopped',
      cause,
    });
  }
  if (DISK_KINDS.includes(kind) || DISK_SYSTEM_CODES.includes(systemCode)) {
    return new StoreError('unwritable', `The disk does not take the state in ${where}`, {
      disposition: 'hold-back',
      hint: 'Check that its disk works and is not mounted read-only, and that the folder is writable; the agent then continues where it stopped',
      cause,
    });
  }
  return new StoreError('broken', `The state in ${where} could not be used`, {
    disposition: 'operator',
    hint: 'Check that the folder can be written to and that its disk is not full',
    cause,
  });
}

/** Returns the code of a system error, such as `ENOENT`. */
export function readSystemCode(cause: unknown): unknown {
  return cause instanceof Error ? Reflect.get(cause, 'code') : undefined;
}

/** Returns the primary result code: the low byte of SQLite's extended code. */
function kindOf(cause: unknown): number | undefined {
  const errcode: unknown = cause instanceof Error ? Reflect.get(cause, 'errcode') : undefined;
  return typeof errcode === 'number' ? errcode % 256 : undefined;
}

/** Returns the error for a spool that has reached its limit. */
export function toSpoolFull(spoolBytesMax: number): StoreError {
  return new StoreError('full', `The spool has reached its bound of ${spoolBytesMax} bytes`, {
    disposition: 'hold-back',
    hint: 'Look at the sinks: records leave the spool once every sink has them. Or raise storage.spool_max',
  });
}

/** Returns the error for a router whose waiting records would take more of the spool than is left for the others. */
export function toShareTaken(router: string): StoreError {
  return new StoreError('share', `The records of ${router} that wait for sinks take as much of the spool as is free`, {
    disposition: 'hold-back',
    hint: 'Look at the sinks, and at the lines that this router writes. Or raise storage.spool_max',
  });
}

/** Returns the error for a position that was read before stored records behind it were lost. */
export function toLostPosition(logs: string, router: string): StoreError {
  return new StoreError('damaged', `Stored records of ${logs} of ${router} were lost, so it has to be read again`, {
    disposition: 'retry',
  });
}

/** Returns the error for a file that is not there. */
export function toAbsent(path: string, hint: string): StoreError {
  return new StoreError('absent', `There is no file ${path}`, { disposition: 'operator', hint });
}
