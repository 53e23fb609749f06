import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Clock, CodedError, openDeadline, renderErrorChain } from '../base/index.ts';
import type { CommandIo } from './terminal/io.ts';

/** `process-ended`: a process of a command has ended too early; `no-answer`: it has not said what it had to. */
type ProcessErrorCode = 'process-ended' | 'no-answer';

/** Thrown when another process of a command does not do its part. */
export class ProcessError extends CodedError<ProcessErrorCode> {
  override readonly name = 'ProcessError';
  constructor(code: ProcessErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(code, message, { disposition: 'operator', ...options });
  }
}

/** Limit of one answer of the other process. Milliseconds. */
const ANSWER_MS_MAX = 60_000;

/** The end of an order that could not be carried out. */
interface FailedReport {
  readonly type: 'failed';
  readonly error: string;
}

/** Options of a command's child process. */
interface OtherProcessOptions {
  /** The main file of this program. */
  readonly program: string;
  /** The hidden command that it runs. */
  readonly command: string;
  /** Its role, as errors name it: `stub routers`. */
  readonly role: string;
  /** Clock for the limit of its answers. */
  readonly clock: Clock;
  /** Limit of one answer. Milliseconds. Default: a minute. */
  readonly answerMsMax?: number;
  /** Ends the wait for an answer. Default: nothing does. */
  readonly signal?: AbortSignal;
}

/** Another process of a command, seen from the one that started it. One order at a time. */
export class OtherProcess<Order extends object, Report extends { readonly type: string }> implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #options: OtherProcessOptions;

  constructor(options: OtherProcessOptions) {
    this.#options = options;
    // It says nothing by itself; its faults come as reports.
    this.#child = spawn(
      process.execPath,
      [...process.execArgv, '--disable-sigusr1', options.program, options.command],
      {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      },
    );
  }

  /** Number of the process. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Gives an order and resolves with the report of this type. Throws {@link ProcessError}. */
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
    // Only the first of them is waited for.
    for (const one of [ended, answered]) one.catch(() => {});
    const [report] = (await Promise.race([answered, ended]).catch((cause: unknown) => {
      if (cause instanceof ProcessError) throw cause;
      throw new ProcessError('no-answer', `The process of the ${role} has not answered in time`, { cause });
    })) as [Report | FailedReport];
    // What was not waited for listens no longer.
    done.abort();
    if (report.type === type) return report as Extract<Report, { readonly type: T }>;
    const error = report.type === 'failed' && 'error' in report ? report.error : `Expected ${type}`;
    throw new ProcessError('no-answer', error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Without a number it has never begun, and would never end.
    if (this.#child.pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    if (this.#child.connected) this.#child.disconnect();
    this.#child.kill();
    await ended;
  }
}

/**
 * Carries out the orders of the process that started this one, each with a report, until that process disconnects, also by its
 * own end. Resolves with false at once if no process has started this one for orders.
 */
export async function takeOrders(
  io: Pick<CommandIo, 'signal'>,
  carryOut: (order: never) => Promise<object>,
): Promise<boolean> {
  if (!process.send) return false;
  const report = async (order: unknown): Promise<void> => {
    // Both processes are of one program, which has one type of orders for each hidden command.
    const result = await carryOut(order as never).catch((cause: unknown): FailedReport => {
      return { type: 'failed', error: renderErrorChain(cause) };
    });
    // The parent process may be gone by now.
    if (process.connected) process.send?.(result);
  };
  process.on('message', (order) => void report(order));
  const gone = Promise.withResolvers<void>();
  process.once('disconnect', gone.resolve);
  await Promise.race([gone.promise, io.signal.aborted ? undefined : once(io.signal, 'abort')]);
  return true;
}
