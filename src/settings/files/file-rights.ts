import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

const OTHERS = { read: 0o004, write: 0o002, enter: 0o001 } as const;

/** A file with secrets, one with settings, and a folder that the agent writes to. */
const USES = {
  secret: 'which holds a secret',
  settings: 'which decides what the agent does',
  folder: 'where the agent keeps its files',
} as const;

/**
 * Describes rights on a file or folder that others on this machine should not have, with what to do; `undefined` if there are none.
 * `mode` are its permission bits, `use` is what it is for. Never rejects.
 */
export async function describeExcessRights(
  path: string,
  mode: number,
  use: keyof typeof USES,
): Promise<string | undefined> {
  const isWritable = (mode & OTHERS.write) !== 0;
  const isReadable = use === 'secret' && (mode & OTHERS.read) !== 0;
  if ((!isWritable && !isReadable) || !(await isReachable(path))) return undefined;
  const rights = isWritable && isReadable ? 'read and write' : isWritable ? 'write' : 'read';
  const letters = isWritable && isReadable ? 'rw' : isWritable ? 'w' : 'r';
  const octal = mode.toString(8).padStart(4, '0');
  return `Every user of this machine may ${rights} ${path} (mode ${octal}), ${USES[use]}; run: chmod o-${letters} ${path}`;
}

/** True if others may enter every folder on the way to a file. */
async function isReachable(path: string): Promise<boolean> {
  try {
    for (let at = await realpath(path); at !== dirname(at); at = dirname(at)) {
      const folder = await stat(dirname(at));
      if ((folder.mode & OTHERS.enter) === 0) return false;
    }
    return true;
  } catch {
    // Removed meanwhile.
    return false;
  }
}
