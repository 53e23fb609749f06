import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type Clock, CodedError, openDeadline, renderErrorChain } from '../../base/index.ts';
import type { CommandIo } from './io.ts';

type ProcessErrorCode = 'process-ended' | 'no-answer';

/** Thrown when a child process ends early or does not answer. */
export class ProcessError extends CodedError<ProcessErrorCode> {
  override readonly name = 'ProcessError';
  constructor(code: ProcessErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(code, message, { disposition: 'operator', ...options });
  }
}

const ANSWER_MS_MAX = 60_000;

interface FailedReport {
  readonly type: 'failed';
  readonly error: string;
}

interface OtherProcessOptions {
  readonly program: string;
  readonly command: string;
  /** As errors name it: `simulated routers`. */
  readonly role: string;
  readonly clock: Clock;
  readonly answerMsMax?: number;
  readonly signal?: AbortSignal;
}

/** A child process of a command. It carries out one order at a time. */
export class OtherProcess<Order extends object, Report extends { readonly type: string }> implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #options: OtherProcessOptions;

  constructor(options: OtherProcessOptions) {
    this.#options = options;
    // Its output is discarded; its faults arrive as reports.
    this.#child = spawn(
      process.execPath,
      [...process.execArgv, '--disable-sigusr1', options.program, options.command],
      {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      },
    );
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Sends an order and resolves with the report of this type. Throws {@link ProcessError}. */
  async ask<T extends Report['type']>(order: Order, type: T): Promise<Extract<Report, { readonly type: T }>> {
    const { role, clock, answerMsMax = ANSWER_MS_MAX } = this.#options;
    using deadline = openDeadline(clock, answerMsMax, this.#options.signal);
    const done = new AbortController();
    const signal = AbortSignal.any([deadline.signal, done.signal]);
    const ended = once(this.#child, 'exit', { signal }).then(() => {
      throw new ProcessError('process-ended', `The process of the ${role} has ended`);
    });
    const answered = once(this.#child, 'message', { signal });
    this.#child.send(order);
    // Only the first of them is awaited.
    for (const one of [ended, answered]) one.catch(() => {});
    const [report] = (await Promise.race([answered, ended]).catch((cause: unknown) => {
      if (cause instanceof ProcessError) throw cause;
      throw new ProcessError('no-answer', `The process of the ${role} has not answered in time`, { cause });
    })) as [Report | FailedReport];
    // Removes the listener that was not called.
    done.abort();
    if (report.type === type) return report as Extract<Report, { readonly type: T }>;
    const error = report.type === 'failed' && 'error' in report ? report.error : `Expected ${type}`;
    throw new ProcessError('no-answer', error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Without a pid it never started, and would never end.
    if (this.#child.pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    if (this.#child.connected) this.#child.disconnect();
    this.#child.kill();
    await ended;
  }
}

/**
 * Carries out the orders of the parent process, each with a report, until that disconnects. Resolves to false at once
 * if this is no child process.
 */
export async function takeOrders(
  io: Pick<CommandIo, 'signal'>,
  carryOut: (order: never) => Promise<object>,
): Promise<boolean> {
  if (!process.send) return false;
  const report = async (order: unknown): Promise<void> => {
    // Both processes run the same program, with one type of orders per hidden command.
    const result = await carryOut(order as never).catch((cause: unknown): FailedReport => {
      return { type: 'failed', error: renderErrorChain(cause) };
    });
    // The parent process may have ended.
    if (process.connected) process.send?.(result);
  };
  process.on('message', (order) => void report(order));
  const gone = Promise.withResolvers<void>();
  process.once('disconnect', gone.resolve);
  await Promise.race([gone.promise, io.signal.aborted ? undefined : once(io.signal, 'abort')]);
  return true;
}

const START_MS_MAX = 120_000;
/** Includes the logout from all routers. */
const STOP_MS_MAX = 60_000;

/** The shipped agent, as a child process. */
export class AgentProcess implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #clock: Clock;

  private constructor(child: ChildProcess, url: string, clock: Clock) {
    this.#child = child;
    this.url = url;
    this.#clock = clock;
  }

  /** Resolves when it listens. Throws {@link ProcessError}. */
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

/** The log line of the start has the addresses; other lines have none. */
function readUrls(line: string): readonly string[] {
  if (!line.includes('"Started"')) return [];
  const { urls } = JSON.parse(line) as { readonly urls?: readonly string[] };
  return urls ?? [];
}
