import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Program, startProgram } from './child.ts';

/** What a bare system needs of the kernel: mounts of its own, device files, and another root. */
const PROBE = 'mount -t tmpfs tmp /mnt && mknod /mnt/null c 1 3 && mount -t proc proc /mnt && chroot / /bin/true';
/** For titles: why no bare system can be entered here, also where programs are required; empty if it can. It takes the program clean-root. */
export const NO_ROOT =
  spawnSync('unshare', ['--mount', 'sh', '-c', PROBE]).status === 0
    ? ''
    : ' (skipped: a bare system needs the rights of root, mount namespaces and device files)';

/** What a command in another root has left. */
interface RootEnd {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A bare Debian 12 of its own. */
export interface CleanRoot extends Disposable {
  /** Where it lies. */
  readonly folder: string;
  /** Runs a program in it, as root, without the variables of this process. */
  run(...command: readonly string[]): RootEnd;
  /** Runs a program in it, and returns what it prints. Throws if it fails. */
  expect(...command: readonly string[]): string;
  /** Starts a program in it as `run` does, and does not wait for its end. */
  start(...command: readonly string[]): Program;
}

const EMULATOR = '/usr/bin/qemu-aarch64-static';
const RUN_MS_MAX = 5 * 60_000;
/** Enters the root `$0` with its own /proc. */
const ENTER = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"';
const VARIABLES = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C.UTF-8',
  HOME: '/root',
};

/** Lays out a bare Debian in a folder that is not there yet. */
export function layOutRoot(folder: string, architecture: 'amd64' | 'arm64'): void {
  const made = spawnSync('clean-root', [folder, architecture], { encoding: 'utf8' });
  if (made.status !== 0) throw new RangeError(`clean-root failed: ${made.error?.message ?? made.stderr}`);
}

/** Opens a bare Debian of its own. In one of arm64, `run` starts programs in the emulator; it has no shell. */
export function openCleanRoot(architecture: 'amd64' | 'arm64' = 'amd64'): CleanRoot {
  const top = mkdtempSync(join(tmpdir(), 'router-exporter-root-'));
  const folder = join(top, 'root');
  layOutRoot(folder, architecture);
  const emulated = architecture === 'arm64' ? [EMULATOR] : [];
  for (const path of emulated) cpSync(path, join(folder, path));
  const toWords = (command: readonly string[]) => ['--mount', 'sh', '-c', ENTER, folder, ...emulated, ...command];
  const run = (...command: readonly string[]): RootEnd =>
    spawnSync('unshare', toWords(command), { encoding: 'utf8', env: VARIABLES, timeout: RUN_MS_MAX });
  return {
    folder,
    run,
    start(...command) {
      const variables = Object.entries(VARIABLES).map(([name, value]) => `${name}=${value}`);
      return startProgram('env', ['--ignore-environment', ...variables, 'unshare', ...toWords(command)]);
    },
    expect(...command) {
      const { status, stdout, stderr } = run(...command);
      if (status !== 0) throw new RangeError(`${command.join(' ')} ended with ${status}: ${stdout}${stderr}`);
      return stdout;
    },
    [Symbol.dispose]() {
      // Nothing is mounted here: the mounts of `run` ended with their namespaces.
      if (existsSync(join(folder, 'proc/self'))) throw new RangeError(`${folder}/proc is mounted`);
      rmSync(top, { recursive: true, force: true });
    },
  };
}
