import { copyFile, type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';

type Body = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Errors of a folder in which no file can be made. */
const CLOSED_FOLDER: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EROFS']);

/**
 * Writes a file that a command was told to write, with `mode` less the umask. It takes the place of an earlier one when it is
 * whole: no reader ever sees a part of it, and a failure leaves what was there. A pipe or a device gets the bytes as they come, and
 * so does a file in a folder that takes no other one.
 */
export async function writeOutputFile(file: string, body: Body, mode: number): Promise<void> {
  // A link stays, and leads to the new file.
  const target = await realpath(file).catch(() => file);
  const part = `${target}.${process.pid}.part`;
  const handle = (await isReplaceable(target)) ? await openPart(part, mode) : undefined;
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
  } finally {
    await rm(part, { force: true }).catch(() => {});
  }
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
