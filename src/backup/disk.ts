import { mkdir, open, readdir, readFile, rename, rm, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { toFileError } from './errors.ts';
import { checkProfile, type Digests, FileDigest, PROFILE_BYTES_MAX } from './profile-body.ts';

/** Accessible only to the owner: the files contain secrets of routers. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** Space that backups leave free in bytes: by default, the state is on the same disk. */
const DISK_RESERVE_BYTES = 256 * 1024 * 1024;
/** Maximum reserve on a small disk, as a share of its size. */
const RESERVE_SHARE = 1 / 8;
/** Free space is checked before each piece of a download. Bytes. */
const PIECE_BYTES = 256 * 1024;
export const PART = '.part';

let parts = 0;

/** Returns a name next to `file` that no other writer of this process uses. */
export function toPartFile(file: string): string {
  return `${file}.${process.pid}-${++parts}${PART}`;
}

export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE }).catch((cause: unknown) => {
    throw toFileError('write', `The folder ${folder} could not be created`, cause);
  });
}

/**
 * Returns the free bytes that backups may use on the disk of a folder; `Infinity` if the folder does not exist or its
 * file system does not report it.
 */
export async function readFreeBytes(folder: string): Promise<number> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    if (blocks === 0) return Number.POSITIVE_INFINITY;
    return Math.max(0, bavail * bsize - Math.min(DISK_RESERVE_BYTES, blocks * bsize * RESERVE_SHARE));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Returns the names in a folder; none if the folder does not exist. */
export async function readNames(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    if (Object(cause).code === 'ENOENT') return [];
    throw toFileError('read', `The folder ${folder} could not be read`, cause);
  }
}

/** Returns the text of a file; `undefined` if it does not exist or its parent is not a folder. */
export async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes(Object(cause).code)) return undefined;
    throw toFileError('read', `The file ${file} could not be read`, cause);
  }
}

/** Replaces a file atomically: after a crash it is either the old one or the new one. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const part = toPartFile(file);
  try {
    await using handle = await open(part, 'wx', FILE_MODE);
    await handle.writeFile(text);
    await handle.sync();
  } catch (cause) {
    await removeFile(part);
    throw toFileError('write', `The file ${file} could not be written`, cause);
  }
  await moveFile(part, file);
}

/** Renames a finished file and flushes the rename, so that it survives a power cut. */
export async function moveFile(part: string, file: string): Promise<void> {
  try {
    await rename(part, file);
    await using folder = await open(dirname(file), 'r');
    await folder.sync();
  } catch (cause) {
    await removeFile(part);
    throw toFileError('write', `The file ${file} could not be written`, cause);
  }
}

/** Removes a file if possible; the next backup removes leftovers. */
export async function removeFile(file: string): Promise<void> {
  await rm(file, { force: true }).catch(() => {});
}

/**
 * Writes a download to a new file as it arrives, calling `checkRoom` with the bytes that may follow. Throws {@link
 * BackupError} if it is not a whole profile, or what `body` and `checkRoom` throw; the file is then removed.
 */
export async function writeDownload(
  file: string,
  body: AsyncIterable<Uint8Array>,
  checkRoom: (bytes: number) => Promise<void>,
): Promise<Digests> {
  try {
    return await receive(file, body, checkRoom);
  } catch (cause) {
    await removeFile(file);
    throw cause;
  }
}

async function receive(
  file: string,
  body: AsyncIterable<Uint8Array>,
  checkRoom: (bytes: number) => Promise<void>,
): Promise<Digests> {
  // Distinguishes failures of the file from failures of the download.
  const attempt = <T>(work: Promise<T>) =>
    work.catch((cause: unknown): never => {
      throw toFileError('write', `The file ${file} could not be written`, cause);
    });
  await using handle = await attempt(open(file, 'wx', FILE_MODE));
  const digest = new FileDigest();
  let roomBytes = 0;
  for await (const chunk of checkProfile(body, digest)) {
    roomBytes -= chunk.length;
    if (roomBytes < 0) {
      roomBytes = PIECE_BYTES;
      await checkRoom(PIECE_BYTES + chunk.length);
    }
    await attempt(handle.writeFile(chunk));
  }
  await attempt(handle.sync());
  return digest.finish();
}

/**
 * Returns size and checksums of a file; `undefined` if it does not exist, is larger than any profile, or cannot be
 * read.
 */
export async function digestFile(file: string): Promise<Digests | undefined> {
  const bytes = await readBytes(file);
  if (!bytes) return undefined;
  const digest = new FileDigest();
  digest.update(bytes);
  return digest.finish();
}

/** Returns the bytes of a file; `undefined` under the same conditions as {@link digestFile}. */
export async function readBytes(file: string): Promise<Buffer | undefined> {
  try {
    await using handle = await open(file, 'r');
    return (await handle.stat()).size > PROFILE_BYTES_MAX ? undefined : await handle.readFile();
  } catch {
    return undefined;
  }
}
