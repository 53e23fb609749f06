import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../../base/index.ts';
import { RouterError } from '../errors.ts';
import type { Transport } from './transport.ts';

/** Options of the second connection. */
export interface SecondConnectionOptions {
  /** Opens the way of a second connection; nothing is connected before the first request. */
  readonly open: () => Transport;
  /** Returns true if requests need no new token, for which a connection that is not known must not be used. */
  readonly hasToken: () => boolean;
  /** Clock of the waits. */
  readonly clock: Clock;
  /** Called when this router has been seen to answer on it during a download, and when it no longer does. */
  readonly onLearnt: (answers: boolean, cause?: unknown) => void;
}

/** Wait for the end of a download before a router is asked for the first time whether it answers meanwhile. Milliseconds. */
const TRIAL_WAIT_MS = 5000;
/** Interval of the looks whether there is a download beside which a turn may go on. Milliseconds. */
const LOOK_MS = 1000;
/** A router that did not answer is not asked in this way again for so long. Milliseconds. */
const REFUSED_MS = 24 * 60 * 60_000;
/** Statuses of a router that is busy, perhaps with the download. */
const BUSY_STATUSES: ReadonlySet<number> = new Set([429, 503]);
/** Reason of the signal of work whose second connection has failed. */
const LOST = new DOMException('The second connection failed', 'AbortError');

/** A turn that uses the second connection. */
interface TurnBeside {
  /** Signal of its caller. */
  readonly signal: AbortSignal;
  /** Aborts its work when the connection has failed. */
  readonly lost: AbortController;
}

/**
 * A second connection to a router, for one turn at a time that would otherwise wait for a download. Whether the router answers
 * there is learnt: one that is not known is tried after a wait of five seconds, and one that refuses, is busy, does not answer
 * in time or lets the download stall is left alone for a day. Open no longer than the download and the turn beside it.
 */
export class SecondConnection {
  readonly #options: SecondConnectionOptions;
  /** The turn to which a call belongs, because the requests of others wait for the turn: they may need a token, too. */
  readonly #caller = new AsyncLocalStorage<TurnBeside>();
  /** True once the router has answered here during a download. */
  #answers = false;
  #refusedUntilMs = -Infinity;
  #transport: Transport | undefined;
  /** The turn that uses it. */
  #turn: TurnBeside | undefined;
  /** The download under way beside which turns may go on; `wasBeside`: one did. */
  #download: { wasBeside: boolean } | undefined;

  constructor(options: SecondConnectionOptions) {
    this.#options = options;
  }

  /** Set in the work of the turn that uses it: its requests go there. */
  get transport(): Transport | undefined {
    const turn = this.#caller.getStore();
    return turn && turn === this.#turn ? this.#transport : undefined;
  }

  /** Resolves when a turn may go on beside the download that it waits for; rejects when `signal` aborts. */
  async whenUsable(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    if (!this.#answers) await clock.sleep(TRIAL_WAIT_MS, signal);
    while (!this.#isUsable()) await clock.sleep(LOOK_MS, signal);
  }

  /** Reads a download beside which turns may go on. */
  async beside<T>(read: () => Promise<T>): Promise<T> {
    const download = { wasBeside: false };
    this.#download = download;
    try {
      return await read();
    } catch (cause) {
      // Without an answer it was the connection that ended: perhaps the router serves one at a time.
      if (download.wasBeside && cause instanceof RouterError && !cause.isAnswered && cause.code !== 'budget') {
        this.#refuse(cause);
      }
      throw cause;
    } finally {
      this.#download = undefined;
      await this.#closeIfUnused();
    }
  }

  /**
   * Does the work of a turn whose requests go here. Resolves with `undefined` if another turn uses it, or when the connection
   * has failed; the signal of the work aborts then. `signal`: that of the caller.
   */
  async run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<{ result: T } | undefined> {
    if (this.#turn) return undefined;
    const lost = new AbortController();
    const turn = { signal, lost };
    this.#turn = turn;
    this.#transport ??= this.#options.open();
    if (this.#download) this.#download.wasBeside = true;
    const hasFailed = () => lost.signal.aborted && !signal.aborted;
    try {
      const result = await this.#caller.run(turn, () => work(AbortSignal.any([signal, lost.signal])));
      return hasFailed() ? undefined : { result };
    } catch (cause) {
      if (hasFailed()) return undefined;
      throw cause;
    } finally {
      this.#turn = undefined;
      await this.#closeIfUnused();
    }
  }

  /** Does a request of the turn, and learns from its outcome. `signal`: that of the request. */
  async ask<T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> {
    const [turn, download] = [this.#turn, this.#download];
    // What a router answers when the download has ended says nothing about what it does meanwhile.
    const learn = () => download && download === this.#download && this.#learn();
    try {
      const answer = await request();
      learn();
      return answer;
    } catch (cause) {
      if (turn && !turn.signal.aborted && !turn.lost.signal.aborted) this.#learnFrom(cause, signal, learn, turn.lost);
      throw cause;
    }
  }

  /** Ends it, and the work of a turn that uses it. */
  async close(): Promise<void> {
    this.#turn?.lost.abort(LOST);
    const transport = this.#transport;
    this.#transport = undefined;
    await transport?.close();
  }

  async #closeIfUnused(): Promise<void> {
    if (!this.#turn && !(this.#download && this.#answers)) await this.close();
  }

  #isUsable(): boolean {
    const { clock, hasToken } = this.#options;
    const isRefused = clock.monotonic() < this.#refusedUntilMs;
    return this.#download !== undefined && !isRefused && (this.#answers || hasToken());
  }

  #learnFrom(cause: unknown, { aborted }: AbortSignal, learn: () => void, lost: AbortController): void {
    const error = cause instanceof RouterError ? cause : undefined;
    const status = error?.status;
    // A new token is asked for when the download has ended, and what this machine lacks may be there then.
    if (error?.disposition === 'login-again' || error?.isLocal) lost.abort(LOST);
    else if (status !== undefined && !BUSY_STATUSES.has(status)) learn();
    // What the agent refuses by itself says nothing about the router; the end of the caller's time does.
    else if (error ? error.code !== 'budget' : aborted) {
      this.#refuse(cause);
      lost.abort(LOST);
    }
  }

  #learn(): void {
    if (this.#answers) return;
    this.#answers = true;
    this.#options.onLearnt(true);
  }

  #refuse(cause: unknown): void {
    this.#refusedUntilMs = this.#options.clock.monotonic() + REFUSED_MS;
    if (this.#answers) this.#options.onLearnt(false, cause);
    this.#answers = false;
  }
}
