import { constants } from 'node:fs';
import { copyFile, type FileHandle, lstat, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { CodedError } from '../../base/index.ts';

type Body = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

const CLOSED_FOLDER: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EROFS']);
/** As many as Linux follows. */
const LINKS_MAX = 40;
/** World-writable with the sticky bit, such as /tmp. */
const SHARED_FOLDER = constants.S_IWOTH | 0o1000;

/** A link of another user is at the path of the file, and cannot be replaced. */
class OutputFileError extends CodedError<'foreign-link'> {
  override readonly name = 'OutputFileError';
}

/**
 * Writes an output file, with `mode` less the umask. Replaces an earlier file atomically: a failure keeps it. A pipe or
 * device, and a file in a folder in which no other can be created, is written directly.
 */
export async function writeOutputFile(file: string, body: Body, mode: number): Promise<void> {
  const foreign = await findForeignLink(file);
  // A link stays, and leads to the new file.
  const target = foreign ?? (await realpath(file).catch(() => file));
  const part = `${target}.${process.pid}.part`;
  const handle = foreign !== undefined || (await isReplaceable(target)) ? await openPart(part, mode) : undefined;
  if (!handle && foreign !== undefined) throw refuse(foreign);
  if (!handle) {
    await using place = await open(target, 'w', mode);
    await writeAll(place, body);
    return;
  }
  try {
    {
      await using whole = handle;
      await writeAll(whole, body);
      await whole.sync();
    }
    await replace(target, part);
  } catch (cause) {
    throw foreign !== undefined && CLOSED_FOLDER.has(Object(cause).code) ? refuse(foreign, cause) : cause;
  } finally {
    await rm(part, { force: true }).catch(() => {});
  }
}

/**
 * Finds a link of another user in a world-writable folder. It could lead to any file that this user may write, so it is
 * replaced instead of followed, as Linux does with `protected_symlinks`.
 */
async function findForeignLink(file: string): Promise<string | undefined> {
  let path = file;
  for (let links = 0; links < LINKS_MAX; links++) {
    const link = await lstat(path).catch(() => undefined);
    if (!link?.isSymbolicLink()) return undefined;
    const folder = await stat(dirname(path));
    const isOwn = link.uid === process.geteuid?.() || link.uid === folder.uid;
    if (!isOwn && (folder.mode & SHARED_FOLDER) === SHARED_FOLDER) return path;
    path = resolve(dirname(path), await readlink(path));
  }
  return undefined;
}

function refuse(link: string, cause?: unknown): OutputFileError {
  return new OutputFileError('foreign-link', `${link} is a link of another user in a world-writable folder`, {
    disposition: 'operator',
    hint: 'Choose another file',
    cause,
  });
}

/** Opens a temporary file in the same folder; `undefined` if none can be created there. */
async function openPart(part: string, mode: number): Promise<FileHandle | undefined> {
  try {
    // Left by a killed process with the same number.
    await rm(part, { force: true });
    return await open(part, 'wx', mode);
  } catch (cause) {
    if (CLOSED_FOLDER.has(Object(cause).code)) return undefined;
    throw cause;
  }
}

async function replace(target: string, part: string): Promise<void> {
  try {
    await rename(part, target);
  } catch (cause) {
    // A mounted file, as in a container, cannot be replaced.
    if (Object(cause).code !== 'EBUSY') throw cause;
    await copyFile(part, target);
  }
}

/** True for a file, and for a path that does not exist. */
async function isReplaceable(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (cause) {
    return Object(cause).code === 'ENOENT';
  }
}

async function writeAll(handle: FileHandle, body: Body): Promise<void> {
  // Not `write`, which may write only a part without an error.
  for await (const chunk of body) await handle.writeFile(chunk);
}
