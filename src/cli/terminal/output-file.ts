import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';

/**
 * Writes a file that a command was told to write, with `mode` less the umask. It takes the place of an earlier one when it is
 * whole: no reader ever sees a part of it, and a failure leaves what was there. A pipe or a device gets the bytes as they come.
 */
export async function writeOutputFile(
  file: string,
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  mode: number,
): Promise<void> {
  // A link stays, and leads to the new file.
  const target = await realpath(file).catch(() => file);
  if (!(await isReplaceable(target))) {
    await using handle = await open(target, 'w', mode);
    await writeAll(handle, body);
    return;
  }
  const part = `${target}.${process.pid}.part`;
  try {
    // A part may be left of a process with the same number, which was killed.
    await rm(part, { force: true });
    {
      await using handle = await open(part, 'wx', mode);
      await writeAll(handle, body);
      await handle.sync();
    }
    await rename(part, target);
  } catch (cause) {
    await rm(part, { force: true }).catch(() => {});
    throw cause;
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

async function writeAll(handle: FileHandle, body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
  // Not `write`: on a disk with little room it writes a part, and does not fail.
  for await (const chunk of body) await handle.writeFile(chunk);
}
