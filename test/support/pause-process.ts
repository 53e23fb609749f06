import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { vi } from 'vitest';

/** Suspends a process; resolves once none of its threads runs any more, which on a busy machine is later than the signal. */
export async function pauseProcess(child: ChildProcess): Promise<void> {
  child.kill('SIGSTOP');
  const tasks = `/proc/${child.pid}/task`;
  await vi.waitFor(() => {
    const states = readdirSync(tasks).map((id) => /\) (\w)/.exec(readFileSync(`${tasks}/${id}/stat`, 'utf8'))?.[1]);
    if (!states.every((state) => state === 'T')) throw new Error(`Threads still run: ${states.join()}`);
  });
}
