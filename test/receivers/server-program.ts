import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { type Program, startProgram } from '../support/child.ts';

/** A program that serves, in a folder of its own that survives a kill. */
export interface ServerProgram extends AsyncDisposable {
  readonly folder: string;
  /** Everything that it wrote to stderr, of all its runs. */
  readonly stderr: string;
  /** Resolves when it is ready. */
  start(): Promise<void>;
  /** kill -9. */
  kill(): Promise<void>;
}

/** Java needs half a minute on a quiet machine. */
const READY = { timeout: 300_000, interval: 100 };

/** Prepares a server, which does not run yet. `ask` is answered with 200 once it takes records. */
export async function createServerProgram(
  name: string,
  args: (folder: string) => readonly string[],
  ask: () => Promise<Response>,
): Promise<ServerProgram> {
  const folder = await mkdtemp(join(tmpdir(), `router-exporter-${name}-`));
  const former: string[] = [];
  let program: Program | undefined;
  const end = async () => {
    await program?.[Symbol.asyncDispose]();
    if (program) former.push(program.stderr);
    program = undefined;
  };
  return {
    folder,
    get stderr() {
      return former.join('') + (program?.stderr ?? '');
    },
    async start() {
      const started = startProgram(name, args(folder), {}, folder);
      program = started;
      const ended = started.ended.then((left) => Promise.reject(new RangeError(`${name} ended: ${left.stderr}`)));
      const ready = vi.waitFor(async () => {
        const answer = await ask();
        if (answer.status !== 200) throw new RangeError(`${name} is not ready: ${await answer.text()}`);
      }, READY);
      await Promise.race([ready, ended]);
      ended.catch(() => {});
    },
    kill: end,
    async [Symbol.asyncDispose]() {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
