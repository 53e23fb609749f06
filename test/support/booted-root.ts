import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { startProgram } from './child.ts';
import type { CleanRoot } from './clean-root.ts';

/** Hierarchies of cgroups that a systemd of its own needs, as machines of the hybrid layout have them. */
const HIERARCHIES = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup/systemd'];
const isHybrid = HIERARCHIES.every((path) => existsSync(join(path, 'cgroup.procs')));

/** Whether a systemd can be started as process 1 of a namespace, and for titles, why not. */
export const bootedRoot = {
  isMissing: !isHybrid,
  note: isHybrid ? '' : ' (skipped: a systemd of its own needs the hybrid layout of cgroups)',
};

/** A bare Debian whose process 1 is systemd. It shares the network of this machine. */
export interface BootedRoot extends AsyncDisposable {
  /** Runs a program in it, as root. */
  run(...command: readonly string[]): {
    readonly status: number | null;
    readonly stdout: string;
    readonly stderr: string;
  };
}

/** In namespaces of its own and its own cgroup: lays out what the kernel shows, makes `$0` the root, and becomes systemd. */
const BOOT = `set -e
for hierarchy in ${HIERARCHIES.join(' ')}; do echo $$ > "$hierarchy/$1/cgroup.procs"; done
exec unshare --cgroup --mount --pid --uts --ipc --fork --kill-child sh -c '
set -e
mount --make-rprivate /
mount --bind "$0" "$0"
cd "$0"
mount -t tmpfs run run
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=755 cgroup sys/fs/cgroup
mkdir sys/fs/cgroup/unified sys/fs/cgroup/systemd
mount -t cgroup2 cgroup2 sys/fs/cgroup/unified
mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
mount -t tmpfs -o mode=755 dev dev
for name in null zero full random urandom tty; do cp -a "/dev/$name" dev/; done
mkdir dev/shm dev/pts
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mkdir -p outside
pivot_root . outside
umount -l /outside
mount --make-rshared /
exec env -i container=router-exporter-test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=basic.target --log-target=journal
' "$0"`;

/** Starts systemd in a clean root, with nothing but its journal. */
export async function bootSystemd(root: CleanRoot): Promise<BootedRoot> {
  // What a real machine would start: it is not ours to set up.
  for (const top of ['usr/lib/systemd/system', 'etc/systemd/system']) {
    const folder = join(root.folder, top);
    for (const name of readdirSync(folder)) {
      if (name.endsWith('.wants')) rmSync(join(folder, name), { recursive: true });
    }
  }
  writeFileSync(join(root.folder, 'etc/machine-id'), '');
  const group = `router-exporter-${process.pid}`;
  for (const hierarchy of HIERARCHIES) mkdirSync(join(hierarchy, group), { recursive: true });
  const outer = startProgram('sh', ['-c', BOOT, root.folder, group]);
  const run: BootedRoot['run'] = (...command) => {
    const parent = outer.process.pid ?? 0;
    const child = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim();
    const words = ['--target', child, '--mount', '--pid', '--uts', '--ipc', '--root', '--wd', ...command];
    return spawnSync('nsenter', words, {
      encoding: 'utf8',
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8' },
    });
  };
  const booted: BootedRoot = {
    run,
    async [Symbol.asyncDispose]() {
      await outer[Symbol.asyncDispose]();
      for (const hierarchy of HIERARCHIES) await expect.poll(() => removeGroup(join(hierarchy, group))).toBe(true);
    },
  };
  try {
    await expect.poll(() => run('systemctl', 'is-active', 'basic.target').stdout).toBe('active\n');
    expect(run('systemctl', 'start', 'systemd-journald.service')).toMatchObject({ status: 0 });
    return booted;
  } catch (cause) {
    await booted[Symbol.asyncDispose]();
    throw cause;
  }
}

/** Removes a cgroup with those in it; false while a process that was killed is still in one. */
function removeGroup(folder: string): boolean {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory() && !removeGroup(join(folder, entry.name))) return false;
    }
    rmdirSync(folder);
    return true;
  } catch {
    return !existsSync(folder);
  }
}
