import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type Clock, openDeadline } from '../../base/index.ts';
import { ProcessError } from '../other-process.ts';

/** Limit of the start. Milliseconds. */
const START_MS_MAX = 120_000;
/** Limit of the end, which logs out of all routers. Milliseconds. */
const STOP_MS_MAX = 60_000;

/** The agent as it is shipped, in a process of its own. */
export class AgentProcess implements AsyncDisposable {
  /** Address of its web server. */
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #clock: Clock;

  private constructor(child: ChildProcess, url: string, clock: Clock) {
    this.#child = child;
    this.url = url;
    this.#clock = clock;
  }

  /** Starts it; resolves when it listens. Throws {@link ProcessError}. */
  static async start(program: string, configFile: string, clock: Clock): Promise<AgentProcess> {
    const args = [program, 'run', '--config.file', configFile, '--log.format', 'json'];
    const child = spawn(process.execPath, [...process.execArgv, '--disable-sigusr1', ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    using deadline = openDeadline(clock, START_MS_MAX);
    const started = Promise.withResolvers<string>();
    let last = '';
    const lines = createInterface({ input: child.stderr });
    lines.on('line', (line) => {
      last = line;
      const [url] = readUrls(line);
      if (url !== undefined) started.resolve(url);
    });
    child.once('exit', () => {
      started.reject(
        new ProcessError('process-ended', `The agent has ended; its last line was ${JSON.stringify(last)}`),
      );
    });
    deadline.signal.addEventListener('abort', () => {
      started.reject(new ProcessError('no-answer', 'The agent did not start in time'));
    });
    try {
      return new AgentProcess(child, await started.promise, clock);
    } catch (cause) {
      child.kill('SIGKILL');
      throw cause;
    }
  }

  /** Number of the process. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const timer = this.#clock.setTimer(STOP_MS_MAX, () => this.#child.kill('SIGKILL'));
    await ended;
    timer.cancel();
  }
}

/** Returns the addresses in the line of the agent's log that says it has started; none in other lines. */
function readUrls(line: string): readonly string[] {
  if (!line.includes('"Started"')) return [];
  const { urls } = JSON.parse(line) as { readonly urls?: readonly string[] };
  return urls ?? [];
}

/** The agent's own figures at one moment. */
export interface AgentFigures {
  /** Processor time of the process since its start. Seconds. */
  readonly processorSeconds: number;
  readonly residentBytes: number;
  /** Polls since the start. */
  readonly polls: number;
  /** Starts of polls and readings of logs by how late they were: number up to each bound. Seconds. */
  readonly lags: ReadonlyMap<number, number>;
}

/** Reads the figures from the agent's metrics about itself, in the text format. */
export function parseAgentFigures(text: string): AgentFigures {
  const sum = (pattern: RegExp): number =>
    text
      .matchAll(pattern)
      .map(([, value]) => Number(value))
      .reduce((total, value) => total + value, 0);
  const lags = new Map<number, number>();
  for (const [, bound, count] of text.matchAll(
    /^router_exporter_schedule_lag_seconds_bucket\{[^}]*le="([^"]+)"[^}]*\} (\S+)$/gm,
  )) {
    const seconds = bound === '+Inf' ? Infinity : Number(bound);
    lags.set(seconds, (lags.get(seconds) ?? 0) + Number(count));
  }
  return {
    processorSeconds: sum(/^process_cpu_seconds_total (\S+)$/gm),
    residentBytes: sum(/^process_resident_memory_bytes (\S+)$/gm),
    polls: sum(/^router_exporter_polls_total(?:\{[^}]*\})? (\S+)$/gm),
    lags,
  };
}

/**
 * Returns the bound under which 99 % of the lags between two moments were. Seconds; `Infinity` beyond the last bound,
 * `undefined` if nothing was started.
 */
export function findLagBound(before: AgentFigures, after: AgentFigures): number | undefined {
  const counts = [...after.lags]
    .map(([bound, count]) => [bound, count - (before.lags.get(bound) ?? 0)] as const)
    .toSorted(([a], [b]) => a - b);
  const total = counts.at(-1)?.[1] ?? 0;
  return total === 0 ? undefined : counts.find(([, count]) => count >= 0.99 * total)?.[0];
}
