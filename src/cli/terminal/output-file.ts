import { constants } from 'node:fs';
import { copyFile, type FileHandle, lstat, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { CodedError } from '../../base/index.ts';

type Body = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Errors of a folder in which no file can be made. */
const CLOSED_FOLDER: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EROFS']);
/** As many as Linux follows. */
const LINKS_MAX = 40;
/** Folders such as /tmp, in which everybody may make files and nobody may remove those of others. */
const SHARED_FOLDER = constants.S_IWOTH | 0o1000;

/** A link of another user stands where a file was to be written, and cannot be replaced. */
class OutputFileError extends CodedError<'foreign-link'> {
  override readonly name = 'OutputFileError';
}

/**
 * Writes a file that a command was told to write, with `mode` less the umask. It takes the place of an earlier one when it is
 * whole: no reader ever sees a part of it, and a failure leaves what was there. A pipe or a device gets the bytes as they come, and
 * so does a file in a folder that takes no other one.
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
 * Finds a link on the way to a file that another user has put into a folder that everybody may write to. Linux itself follows none
 * (`protected_symlinks`): it could lead to any file that this user may write. It is replaced, and not followed.
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
  return new OutputFileError(
    'foreign-link',
    `${link} is a link of another user in a folder that everybody may write to`,
    {
      disposition: 'operator',
      hint: 'Choose another file',
      cause,
    },
  );
}

/** Opens a file beside the wanted one; `undefined` if its folder takes none. */
async function openPart(part: string, mode: number): Promise<FileHandle | undefined> {
  try {
    // A part may be left of a process with the same number, which was killed.
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
    // A file that is mounted by itself, as into a container, cannot give way to another one.
    if (Object(cause).code !== 'EBUSY') throw cause;
    await copyFile(part, target);
  }
}

/** True for a file, and where there is nothing. */
async function isReplaceable(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (cause) {
    return Object(cause).code === 'ENOENT';
  }
}

async function writeAll(handle: FileHandle, body: Body): Promise<void> {
  // Not `write`: on a disk with little room it writes a part, and does not fail.
  for await (const chunk of body) await handle.writeFile(chunk);
}
