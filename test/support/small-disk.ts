import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A disk of its own for one test, kept in memory. */
export interface SmallDisk extends AsyncDisposable {
  readonly path: string;
  /** Nothing may have a file open for writing on it. */
  remount(mode: 'ro' | 'rw'): Promise<void>;
}

export async function openSmallDisk(bytes: number): Promise<SmallDisk> {
  const path = mkdtempSync(join(tmpdir(), 'router-exporter-disk-'));
  await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path]);
  return {
    path,
    remount: async (mode) => {
      await run('mount', ['-o', `remount,${mode}`, path]);
    },
    [Symbol.asyncDispose]: async () => {
      await run('umount', ['--lazy', path]);
      rmdirSync(path);
    },
  };
}

/** Why this machine cannot have one: mounting takes a Linux system and the right to do it. */
export function findNoDiskReason(): string | undefined {
  const path = mkdtempSync(join(tmpdir(), 'router-exporter-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path], { stdio: 'ignore' });
    execFileSync('umount', [path], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'nothing can be mounted here, which takes the rights of root and the program mount';
  } finally {
    rmdirSync(path);
  }
}

/** Why the largest size of a file cannot be changed for a process that runs. */
export function findNoLimitReason(): string | undefined {
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'there is no command prlimit';
  }
}

/** Sets the largest size of a file that process `pid` may write; beyond it the system fails its writes. */
export async function limitFileBytes(pid: number, bytes: number | 'unlimited'): Promise<void> {
  await run('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
}
