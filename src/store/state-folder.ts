import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { renderBytes } from '../base/index.ts';
import { STATE_FILE } from './database-format.ts';
import { DEAD_LETTERS_FILE } from './dead-letter-file.ts';
import { DISK_RESERVE_BYTES, readSystemCode } from './sqlite-file.ts';

/** The folder of the state, and the limits of what is stored in it. Sizes are bytes. */
interface StateFolder {
  readonly path: string;
  readonly spoolBytesMax: number;
  readonly recentBytesMax: number;
  readonly deadLettersBytesMax: number;
}

/** Result of one check of the folder. */
export interface FolderFinding {
  readonly step: string;
  /** A warning does not prevent that records are stored. */
  readonly verdict: 'ok' | 'warning' | 'failed';
  readonly message: string;
  readonly hint?: string | undefined;
}

const FILES = [STATE_FILE, DEAD_LETTERS_FILE];
/** Space for the write-ahead log and free pages, as a share of the spool. */
const OVERHEAD_SHARE = 1.25;
/** Errors that waiting does not solve, with their reasons: they need another configuration or other permissions. */
const FAULTS: ReadonlyMap<unknown, string> = new Map([
  ['ENOTDIR', 'a part of the path is a file'],
  ['EACCES', 'this account may not write there'],
  ['EPERM', 'this account may not write there'],
  ['ELOOP', 'its symbolic links form a circle'],
  ['ENAMETOOLONG', 'the path is too long'],
]);

/**
 * Returns why the folder cannot be used, however long the agent waits: a file in its place, or missing permissions.
 * `undefined` if it can be used or created, or if only the disk prevents it. Changes nothing.
 */
export async function findFolderFault(path: string): Promise<string | undefined> {
  try {
    const { folder, isFolder } = await findNearest(path);
    if (!isFolder) return `${folder} is a file; a folder is needed`;
    await access(folder, constants.W_OK | constants.X_OK);
    if (folder === path) for (const name of FILES) await checkFile(join(path, name));
    return undefined;
  } catch (cause) {
    const reason = FAULTS.get(readSystemCode(cause));
    return reason === undefined ? undefined : `${readPath(cause, path)} cannot be used: ${reason}`;
  }
}

/** Checks whether the folder can be used, and whether its disk has room for the configured limits. Changes nothing. */
export async function examineStateFolder(folder: StateFolder): Promise<readonly FolderFinding[]> {
  const fault = await findFolderFault(folder.path);
  if (fault !== undefined) {
    const hint = 'Set storage.path to a folder of the account that runs the agent, or correct its permissions';
    return [{ step: 'folder', verdict: 'failed', message: fault, hint }];
  }
  try {
    const nearest = await findNearest(folder.path);
    await access(nearest.folder, constants.W_OK);
    const message = nearest.folder === folder.path ? 'can be written' : 'will be created';
    return [
      { step: 'folder', verdict: 'ok', message: `${folder.path} ${message}` },
      await checkSpace(folder, nearest.folder),
    ];
  } catch (cause) {
    const isReadOnly = readSystemCode(cause) === 'EROFS';
    const message = `${folder.path} cannot be written: ${isReadOnly ? 'its disk is read-only' : 'its disk reports an error'}`;
    return [{ step: 'folder', verdict: 'failed', message, hint: 'The agent runs without logs until the disk works' }];
  }
}

async function checkSpace({ path, spoolBytesMax, recentBytesMax, deadLettersBytesMax }: StateFolder, folder: string) {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  const sizes = await Promise.all(
    FILES.map((name) =>
      stat(join(path, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  const usedBytes = sizes.reduce((sum, size) => sum + size, 0);
  const boundBytes = (spoolBytesMax + recentBytesMax) * OVERHEAD_SHARE + deadLettersBytesMax;
  const neededBytes = Math.max(0, boundBytes - usedBytes) + DISK_RESERVE_BYTES;
  const message = `${renderBytes(freeBytes)} free, needs up to ${renderBytes(neededBytes)} more`;
  const step = 'free space';
  if (freeBytes <= DISK_RESERVE_BYTES) {
    return {
      step,
      verdict: 'failed',
      message,
      hint: 'Free space: the agent reads no logs while the disk is full',
    } as const;
  }
  if (freeBytes < neededBytes) {
    return { step, verdict: 'warning', message, hint: 'Free space, or lower storage.spool_max' } as const;
  }
  return { step, verdict: 'ok', message } as const;
}

async function findNearest(path: string): Promise<{ readonly folder: string; readonly isFolder: boolean }> {
  try {
    return { folder: path, isFolder: (await stat(path)).isDirectory() };
  } catch (cause) {
    if (readSystemCode(cause) !== 'ENOENT' || dirname(path) === path) throw cause;
    return await findNearest(dirname(path));
  }
}

async function checkFile(file: string): Promise<void> {
  try {
    await access(file, constants.R_OK | constants.W_OK);
  } catch (cause) {
    if (readSystemCode(cause) !== 'ENOENT') throw cause;
  }
}

function readPath(cause: unknown, otherwise: string): string {
  const path: unknown = cause instanceof Error ? Reflect.get(cause, 'path') : undefined;
  return typeof path === 'string' ? path : otherwise;
}
