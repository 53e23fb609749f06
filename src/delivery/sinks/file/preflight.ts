import { constants, type Stats } from 'node:fs';
import { access, lstat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readErrorCode } from '../../../net/index.ts';
import type { PreflightFinding } from '../../contracts.ts';
import { DeliveryError } from '../../errors.ts';
import { toFailedFinding } from '../../preflight.ts';
import { toFileError } from './errors.ts';

/** The file that is tried. */
export interface FileTarget {
  /** Path of the active file. */
  readonly path: string;
  /** Largest size of one file, in bytes. */
  readonly bytesMax: number;
  /** Number of rotated files to keep. */
  readonly keep: number;
  /** Compression of rotated files. */
  readonly compress: 'gzip' | 'none';
}

/** Checks whether the file can be written, without touching it: a running agent may be writing it. */
export async function checkFileTarget(place: FileTarget): Promise<readonly PreflightFinding[]> {
  const findings: PreflightFinding[] = [];
  try {
    const folder = await checkFolder(place.path, findings);
    await checkFile(place.path, findings);
    await checkSpace(place, folder, findings);
    findings.push({
      step: 'test record',
      verdict: 'ok',
      message: 'Not written: every line of the file is a log record',
    });
  } catch (cause) {
    findings.push(toFailedFinding('write', toFileError(`${place.path} cannot be written`, cause)));
  }
  return findings;
}

/** Throws `DeliveryError` when the file certainly cannot be written. Touches nothing. */
export async function checkFileWritable(path: string): Promise<void> {
  const what = `${path} cannot be written`;
  const findings: PreflightFinding[] = [];
  try {
    await checkFolder(path, findings);
    await checkFile(path, findings);
  } catch (cause) {
    throw toFileError(what, cause);
  }
  const failed = findings.find(({ verdict }) => verdict === 'failed');
  if (failed) throw new DeliveryError('unwritable', failed.message, { disposition: 'operator', hint: failed.hint });
}

/** Checks the folder of `path`, or its nearest existing parent, and returns it. */
async function checkFolder(path: string, findings: PreflightFinding[]): Promise<string> {
  const wanted = dirname(path);
  let folder = wanted;
  while ((await findStats(folder)) === undefined && dirname(folder) !== folder) folder = dirname(folder);
  await access(folder, constants.W_OK | constants.X_OK);
  const message = folder === wanted ? `${wanted} can be written` : `${wanted} will be created`;
  findings.push({ step: 'folder', verdict: 'ok', message });
  return folder;
}

async function checkFile(path: string, findings: PreflightFinding[]): Promise<void> {
  const stats = await findStats(path);
  if (!stats) {
    findings.push({ step: 'file', verdict: 'ok', message: `${path} will be created` });
  } else if (stats.isFile()) {
    await access(path, constants.R_OK | constants.W_OK);
    findings.push({ step: 'file', verdict: 'ok', message: `${path} can be written and has ${stats.size} bytes` });
  } else {
    const hint = 'Name a file, or use a sink of type stdout';
    findings.push({ step: 'file', verdict: 'failed', message: `${path} is not a regular file`, hint });
  }
}

async function checkSpace(place: FileTarget, folder: string, findings: PreflightFinding[]): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  // While a file is compressed, it exists in full beside the active one.
  const files = place.compress === 'none' && place.keep > 0 ? place.keep + 1 : 2;
  const neededBytes = files * place.bytesMax;
  const isEnough = freeBytes >= neededBytes;
  findings.push({
    step: 'free space',
    verdict: isEnough ? 'ok' : 'warning',
    message: `${renderSize(freeBytes)} are free, and the files of this sink may need ${renderSize(neededBytes)}`,
    hint: isEnough ? undefined : 'Free space on the disk, or let the sink keep fewer or smaller files',
  });
}

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** Renders a size for people: `73.8 GiB`. */
function renderSize(bytes: number): string {
  const [unit, unitBytes] = bytes >= GIB ? ['GiB', GIB] : bytes >= MIB ? ['MiB', MIB] : ['bytes', 1];
  return `${Math.round((bytes / unitBytes) * 10) / 10} ${unit}`;
}

/** Returns `undefined` when the path does not exist. */
async function findStats(path: string): Promise<Stats | undefined> {
  return await lstat(path).catch((cause: unknown) => {
    if (readErrorCode(cause) === 'ENOENT') return undefined;
    throw cause;
  });
}
