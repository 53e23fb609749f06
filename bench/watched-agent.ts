/** An agent whose main thread is measured while its configuration changes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { StepTable } from './step-table.ts';
import type { StepFigures } from './watch-steps.ts';

const LIMIT_MS = 180_000;
/** Flags of Node.js for the agent. */
const FLAGS = process.env['AGENT_FLAGS']?.split(' ') ?? [];
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** A line of the agent's log. */
interface Line {
  readonly message: string;
  /** Numbers of routers, of a configuration that was loaded. */
  readonly added?: number;
  readonly changed?: number;
  readonly removed?: number;
  /** Addresses of the web server, when the agent has started. */
  readonly urls?: readonly string[];
}

/** The agent, and how its changes are measured. */
export interface WatchedAgent extends Disposable {
  readonly process: ChildProcess;
  /** Resolves with the next line of the log that begins with one of these. */
  waitFor(...messages: readonly string[]): Promise<Line>;
  /** Makes a change, and prints and returns the steps from then until the configuration was loaded or refused. */
  measure(what: string, change: () => void): Promise<StepFigures>;
  /** Prints and returns the steps of the agent while something is done; prints what that resolves with. */
  measureWork(what: string, work: () => Promise<string>): Promise<StepFigures>;
}

/** Starts the agent, from source unless `program` is another one, whose longest steps go to a table. */
export function startWatchedAgent(
  configFile: string,
  table: StepTable,
  program = path('../src/main.ts'),
): WatchedAgent {
  const agent = spawn(
    process.execPath,
    [
      ...FLAGS,
      '--import',
      path('watch-steps.ts'),
      program,
      'run',
      '--web.enable-lifecycle',
      '--config.file',
      configFile,
    ],
    { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], env: { ...process.env, WATCH_STEPS: '1' } },
  );
  const waiting = new Set<(line: Line) => void>();
  createInterface({ input: agent.stderr ?? process.stdin }).on('line', (text) => {
    const line = JSON.parse(text) as Line;
    for (const one of waiting) one(line);
  });
  const waitFor = (...messages: readonly string[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<Line>();
    const timer = setTimeout(() => reject(new RangeError(`No "${messages.join('" or "')}"`)), LIMIT_MS);
    const look = (line: Line) => {
      if (messages.some((one) => line.message.startsWith(one))) resolve(line);
    };
    waiting.add(look);
    return promise.finally(() => {
      clearTimeout(timer);
      waiting.delete(look);
    });
  };
  const measureWork = async (what: string, work: () => Promise<string>) => {
    agent.send('begin');
    const begunMs = performance.now();
    const outcome = await work();
    const seconds = (performance.now() - begunMs) / 1000;
    const figures = await readFigures(agent);
    table.add(what, figures);
    const { maxMs, maxSystemMs, p99Ms, peakMiB, collections } = figures;
    const longest = [`${maxSystemMs.toFixed(1)} of it in the kernel`, ...collections].join(', ');
    const others = `p99 ${p99Ms.toFixed(1)} ms, ${seconds.toFixed(1)} s, peak ${peakMiB.toFixed(0)} MiB`;
    process.stdout.write(
      `${what.padEnd(40)} longest step ${maxMs.toFixed(1)} ms (${longest}), ${others} (${outcome})\n`,
    );
    return figures;
  };
  return {
    process: agent,
    waitFor,
    measureWork,
    measure: (what, change) =>
      measureWork(what, async () => {
        const done = waitFor('Loaded the configuration again', 'The configuration was not loaded again');
        change();
        const { added, changed, removed } = await done;
        return added === undefined ? 'refused' : `+${added} ~${changed} -${removed}`;
      }),
    [Symbol.dispose]: () => void agent.kill('SIGKILL'),
  };
}

async function readFigures(child: ChildProcess): Promise<StepFigures> {
  const answer = once(child, 'message');
  child.send('end');
  const [figures] = (await answer) as [StepFigures];
  return figures;
}
