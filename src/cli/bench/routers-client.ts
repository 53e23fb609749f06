import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Clock, openDeadline } from '../../base/index.ts';
import { BenchError } from './bench-error.ts';
import type { Order, Report } from './messages.ts';

/** Limit of one answer of the other process. Milliseconds. */
const ANSWER_MS_MAX = 60_000;

/** The process of the stub routers, seen from the one that measures. One order at a time. */
export class RoutersClient implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #clock: Clock;

  /** `program`: the main file of this program. */
  constructor(program: string, clock: Clock) {
    this.#clock = clock;
    // The routers say nothing; their faults come as reports.
    this.#child = spawn(process.execPath, [...process.execArgv, program, 'bench-routers'], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
  }

  /** Number of the process. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Gives an order and resolves with the report of this type. Throws {@link BenchError}. */
  async ask<T extends Report['type']>(order: Order, type: T): Promise<Extract<Report, { readonly type: T }>> {
    using deadline = openDeadline(this.#clock, ANSWER_MS_MAX);
    const { signal } = deadline;
    const ended = once(this.#child, 'exit', { signal }).then(() => {
      throw new BenchError('process-ended', 'The process of the stub routers has ended');
    });
    const answered = once(this.#child, 'message', { signal });
    this.#child.send(order);
    // Only the first of them is waited for.
    for (const one of [ended, answered]) one.catch(() => {});
    const [report] = (await Promise.race([answered, ended]).catch((cause: unknown) => {
      if (cause instanceof BenchError) throw cause;
      throw new BenchError('no-answer', `The process of the stub routers has not answered to ${order.type}`, { cause });
    })) as [Report];
    if (report.type === type) return report as Extract<Report, { readonly type: T }>;
    throw new BenchError('no-answer', report.type === 'failed' ? report.error : `Expected ${type}, not ${report.type}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    if (this.#child.connected) this.#child.disconnect();
    this.#child.kill();
    await ended;
  }
}
