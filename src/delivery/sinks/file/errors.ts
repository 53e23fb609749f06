import type { Disposition } from '../../../base/index.ts';
import { readErrorCode } from '../../../net/index.ts';
import { DeliveryError } from '../../errors.ts';

/** System codes for a lack of space, which may be temporary. */
const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

const HINTS: ReadonlyMap<unknown, string> = new Map([
  ['ENOSPC', 'Free space on the disk, or let the sink keep fewer or smaller files'],
  ['EDQUOT', 'Raise the quota of the account, or let the sink keep fewer or smaller files'],
  ['EACCES', 'Give the account of the agent write permission'],
  ['EPERM', 'Give the account of the agent write permission'],
  ['EROFS', 'The file system is mounted read-only; choose another path'],
  ['ENOTDIR', 'A part of the path is a file; choose another path'],
  ['EEXIST', 'A part of the path is a file; choose another path'],
  ['EISDIR', 'The path is a folder; add a file name'],
  ['ELOOP', 'The path is a symbolic link; use the path of the file itself'],
  ['ENAMETOOLONG', 'Choose a shorter path'],
]);

/** Converts a system error to a {@link DeliveryError} `unwritable`. */
export function toFileError(what: string, cause: unknown): DeliveryError {
  if (cause instanceof DeliveryError) return cause;
  const code = readErrorCode(cause);
  const hint = HINTS.get(code);
  const disposition: Disposition = FULL.has(code) ? 'hold-back' : hint ? 'operator' : 'retry';
  return new DeliveryError('unwritable', what, { disposition, hint, cause });
}
