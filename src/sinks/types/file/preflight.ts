import { constants, type Stats } from 'node:fs';
import { access, lstat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Disposition, renderBytes } from '../../../base/index.ts';
import { readErrorCode } from '../../../net/index.ts';
import { DeliveryError, type PreflightFinding } from '../../contracts.ts';
import { collectFindings, toFailedFinding } from '../../preflight.ts';

interface FileTarget {
  readonly path: string;
  readonly max_size: number;
  readonly keep: number;
  readonly compress: 'gzip' | 'none';
}

/** Checks whether the file can be written, without touching it: a running agent may be writing it. */
export function checkFileTarget(place: FileTarget): Promise<readonly PreflightFinding[]> {
  return collectFindings(checkAll(place), (cause) => [
    toFailedFinding('write', toFileError(`${place.path} cannot be written`, cause)),
  ]);
}

async function* checkAll(place: FileTarget): AsyncGenerator<PreflightFinding> {
  const folder = yield* checkPath(place.path);
  yield await checkSpace(place, folder);
  const message = 'Not written: every line of the file is a log record';
  yield { step: 'test record', verdict: 'ok', message };
}

/** Throws `DeliveryError` when the file certainly cannot be written. Touches nothing. */
export async function checkFileWritable(path: string): Promise<void> {
  try {
    for await (const { verdict, message, hint } of checkPath(path)) {
      if (verdict === 'failed') throw new DeliveryError('unwritable', message, { disposition: 'operator', hint });
    }
  } catch (cause) {
    throw toFileError(`${path} cannot be written`, cause);
  }
}

/** Checks the folder of `path`, or its nearest existing parent, and the file. Returns that folder. */
async function* checkPath(path: string): AsyncGenerator<PreflightFinding, string> {
  const wanted = dirname(path);
  let folder = wanted;
  while ((await findStats(folder)) === undefined && dirname(folder) !== folder) folder = dirname(folder);
  await access(folder, constants.W_OK | constants.X_OK);
  const message = folder === wanted ? `${wanted} can be written` : `${wanted} will be created`;
  yield { step: 'folder', verdict: 'ok', message };
  yield await checkFile(path);
  return folder;
}

async function checkFile(path: string): Promise<PreflightFinding> {
  const step = 'file';
  const stats = await findStats(path);
  if (!stats) return { step, verdict: 'ok', message: `${path} will be created` };
  if (!stats.isFile()) {
    const hint = 'Name a file, or use a sink of type stdout';
    return { step, verdict: 'failed', message: `${path} is not a regular file`, hint };
  }
  await access(path, constants.R_OK | constants.W_OK);
  return { step, verdict: 'ok', message: `${path} can be written and has ${stats.size} bytes` };
}

async function checkSpace(place: FileTarget, folder: string): Promise<PreflightFinding> {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  // While a file is compressed, it exists in full next to the active one.
  const files = place.compress === 'none' ? place.keep + 1 : 2;
  const neededBytes = files * place.max_size;
  const isEnough = freeBytes >= neededBytes;
  return {
    step: 'free space',
    verdict: isEnough ? 'ok' : 'warning',
    message: `${renderBytes(freeBytes)} free, the files of this sink need up to ${renderBytes(neededBytes)}`,
    hint: isEnough ? undefined : 'Free space on the disk, or let the sink keep fewer or smaller files',
  };
}

async function findStats(path: string): Promise<Stats | undefined> {
  return await lstat(path).catch((cause: unknown) => {
    if (readErrorCode(cause) === 'ENOENT') return undefined;
    throw cause;
  });
}

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
