import { Mutex, untilAborted } from '../../base/index.ts';
import { RouterError } from '../errors.ts';
import type { KnownOptions } from '../options.ts';
import { BUSY_STATUSES } from './messages.ts';
import type { Transport } from './transport.ts';

/** `control`: what goes before downloads, or beside one. `bulk`: downloads, and what may wait for them. */
export type Lane = 'control' | 'bulk';

/** Work of a turn. `isBeside`: bytes on the wire meanwhile are those of a download too. */
export type TurnWork<T> = (signal: AbortSignal, isBeside: boolean) => Promise<T>;

/** Wait for the end of a download before a router is asked for the first time whether it answers meanwhile. Milliseconds. */
const TRIAL_WAIT_MS = 5000;
/** Interval of the looks whether there is a download beside which a turn may go on. Milliseconds. */
const LOOK_MS = 1000;
/** A router that did not answer is not asked in this way again for so long. Milliseconds. */
const REFUSED_MS = 24 * 60 * 60_000;
/** Reason of the signal of work whose second connection has failed. */
const LOST = new DOMException('The second connection failed', 'AbortError');

/** A place in the queue, or with the connection, until it is disposed of. */
interface Place extends Disposable {
  readonly lane: Lane;
  readonly entered: Promise<void>;
  readonly enter: () => void;
}

/** A turn that has begun. */
interface Turn {
  /** Signal of its caller. */
  readonly signal: AbortSignal;
  /** Connection of its requests. */
  readonly transport: Transport;
  /** Aborts its work when the second connection has failed; absent: the turn has the first one. */
  readonly lost?: AbortController;
}

/** A download that is under way. */
interface Download {
  /** Called when a turn waits for it. */
  readonly onAwaited: () => void;
  /** True while its body is read and will not give way: turns may go on beside it. */
  isOpen: boolean;
  /** True once one did. */
  wasBeside: boolean;
}

/**
 * The two lanes to one router, which share one connection and its queue: one request at a time, those of `control` first. A
 * turn, which is several requests of `control`, has the connection until its end. It has a download give way where the router
 * sends parts of files. Elsewhere it goes on beside the download, on a second connection, where the router has been seen to
 * answer there meanwhile.
 *
 * ```
 *   turn ─▶ waits ── the connection is free, or was given way ────────────▶ has the connection ─▶ end
 *             │                                                               ▲
 *             └─ a download will not give way, and ─▶ is beside it ─ failed ─▶ waits for its end, and begins anew
 *                the router answers, or is tried           └─▶ end
 * ```
 *
 * Whether the router answers is learnt: one that is not known is tried after a wait of five seconds, and one that refuses, is
 * busy, does not answer in time or lets the download stall is left alone for a day. The second connection is open no longer
 * than the download and the turn beside it. Such a turn keeps its place in the queue, so that nobody else needs a token.
 */
export class Lanes {
  /** The connection of both lanes; of `bulk` alone while a turn goes on beside a download. */
  readonly #transport: Transport;
  readonly #hasToken: () => boolean;
  readonly #options: KnownOptions;
  #holder: Place | undefined;
  /** In the order of asking. */
  readonly #waiting: Place[] = [];
  #turn: Turn | undefined;
  /** The requests of a turn, one at a time. */
  readonly #requests = new Mutex();
  #download: Download | undefined;
  /** By path whether the router sends parts of files; few, as paths have no names of files. */
  #parts: Map<string, boolean> | undefined;
  /** The second connection. */
  #second: Transport | undefined;
  /** True once the router has answered there during a download. */
  #answers = false;
  #refusedUntilMs = -Infinity;

  /** `hasToken` returns true if requests need no new token, for which a connection that is not known must not be used. */
  constructor(transport: Transport, hasToken: () => boolean, options: KnownOptions) {
    this.#transport = transport;
    this.#hasToken = hasToken;
    this.#options = options;
  }

  /** Connection of the request that may need a token: no other one is under way meanwhile. */
  get transport(): Transport {
    return this.#turn?.transport ?? this.#transport;
  }

  /** True while a turn waits. */
  get isAwaited(): boolean {
    return !this.#turn && this.#waiting.some(({ lane }) => lane === 'control');
  }

  /** Does a request in its lane: in the turn that has begun if it is one of `control`. */
  async run<T>(
    lane: Lane,
    signal: AbortSignal,
    request: (way: Transport, isBeside: boolean) => Promise<T>,
  ): Promise<T> {
    const turn = this.#turn;
    if (turn && lane === 'control') {
      const ask = () => request(turn.transport, turn.lost !== undefined);
      return this.#requests.run(() => (turn.lost ? this.#learnBy(ask, signal, turn, turn.lost) : ask()), signal);
    }
    using place = this.#take(lane);
    await whenEntered(place, signal);
    return await request(this.#transport, false);
  }

  /** Lets a download in, or the rest of one, until the result is disposed of. `onAwaited` is called when a turn waits for it. */
  async enter(signal: AbortSignal, onAwaited: () => void): Promise<Disposable> {
    for (;;) {
      const place = this.#take('bulk');
      try {
        await whenEntered(place, signal);
      } catch (cause) {
        place[Symbol.dispose]();
        throw cause;
      }
      // What was asked for in the moment in which it entered is next: nobody goes on beside a download before that is known of.
      if (this.isAwaited) {
        place[Symbol.dispose]();
        continue;
      }
      this.#download = { onAwaited, isOpen: false, wasBeside: false };
      return {
        [Symbol.dispose]: () => {
          this.#download = undefined;
          place[Symbol.dispose]();
        },
      };
    }
  }

  /** Returns true if the router sends parts of the files below a path. */
  sendsParts(path: string): boolean {
    return this.#parts?.get(path) ?? false;
  }

  /** Records whether it does, as it has just shown. */
  noteParts(path: string, isSent: boolean): void {
    this.#parts ??= new Map();
    this.#parts.set(path, isSent && this.#parts.get(path) !== false);
  }

  /** Reads the body of the download that was let in last. Turns may go on beside it, unless it gives way to them. */
  async read<T>(path: string, read: () => Promise<T>): Promise<T> {
    const download = this.#download;
    if (!download || this.sendsParts(path)) return await read();
    download.isOpen = true;
    try {
      return await read();
    } catch (cause) {
      // Without an answer it was the connection that ended: perhaps the router serves one at a time.
      if (download.wasBeside && cause instanceof RouterError && !cause.isAnswered && cause.code !== 'budget') {
        this.#refuse(cause);
      }
      throw cause;
    } finally {
      download.isOpen = false;
      await this.#closeIfUnused();
    }
  }

  /** Does the work of a turn. If its second connection fails, the signal of the work aborts, and it is begun again. */
  async inTurn<T>(signal: AbortSignal, work: TurnWork<T>): Promise<T> {
    using place = this.#take('control');
    if (this.#download && (await this.#mayGoBeside(place, signal))) {
      const done = await this.#workBeside(place, signal, work);
      if (done) return done.result;
    }
    await whenEntered(place, signal);
    this.#turn = { signal, transport: this.#transport };
    try {
      return await work(signal, false);
    } finally {
      this.#turn = undefined;
    }
  }

  /** Closes the connections, and ends a turn on the second one. */
  async close(): Promise<void> {
    await this.#closeSecond();
    await this.#transport.close();
  }

  #take(lane: Lane): Place {
    const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
    const place: Place = {
      lane,
      entered,
      enter,
      [Symbol.dispose]: () => {
        if (this.#holder === place) this.#holder = undefined;
        else if (this.#waiting.includes(place)) this.#waiting.splice(this.#waiting.indexOf(place), 1);
        this.#admit();
      },
    };
    this.#waiting.push(place);
    this.#admit();
    if (lane === 'control' && this.isAwaited) this.#download?.onAwaited();
    return place;
  }

  #admit(): void {
    if (this.#holder) return;
    const index = this.#waiting.findIndex(({ lane }) => lane === 'control');
    [this.#holder] = this.#waiting.splice(Math.max(0, index), 1);
    this.#holder?.enter();
  }

  /** Resolves with true when a turn may go on beside the download, and with false if it enters before. */
  async #mayGoBeside({ entered }: Place, signal: AbortSignal): Promise<boolean> {
    const isOver = new AbortController();
    const beside = this.#whenUsable(isOver.signal).then(() => true);
    beside.catch(() => {});
    try {
      return await untilAborted(Promise.race([entered.then(() => false), beside]), signal);
    } finally {
      isOver.abort();
    }
  }

  async #whenUsable(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    if (!this.#answers) await clock.sleep(TRIAL_WAIT_MS, signal);
    const isUsable = () =>
      this.#download?.isOpen && clock.monotonic() >= this.#refusedUntilMs && (this.#answers || this.#hasToken());
    while (!isUsable()) await clock.sleep(LOOK_MS, signal);
  }

  /** Resolves with `undefined` if another turn uses the second connection or the download has ended, and when the connection has failed. */
  async #workBeside<T>(
    place: Place,
    signal: AbortSignal,
    work: TurnWork<T>,
  ): Promise<{ readonly result: T } | undefined> {
    if (this.#turn || !this.#download?.isOpen) return undefined;
    // Who asked before it comes behind it now: nobody else has the connection as long as this turn lasts.
    this.#waiting.splice(this.#waiting.indexOf(place), 1);
    this.#waiting.unshift(place);
    const lost = new AbortController();
    this.#second ??= this.#transport.createSecond();
    this.#turn = { signal, transport: this.#second, lost };
    this.#download.wasBeside = true;
    const hasFailed = () => lost.signal.aborted && !signal.aborted;
    try {
      const result = await work(AbortSignal.any([signal, lost.signal]), true);
      return hasFailed() ? undefined : { result };
    } catch (cause) {
      if (hasFailed()) return undefined;
      throw cause;
    } finally {
      this.#turn = undefined;
      await this.#closeIfUnused();
    }
  }

  /** Does a request on the second connection, and learns from its outcome. `signal`: that of the request. */
  async #learnBy<T>(ask: () => Promise<T>, signal: AbortSignal, turn: Turn, lost: AbortController): Promise<T> {
    const download = this.#download;
    // What a router answers when the download has ended says nothing about what it does meanwhile.
    const learn = () => {
      if (!download?.isOpen || this.#answers) return;
      this.#answers = true;
      this.#options.onSecondConnection?.(true);
    };
    try {
      const answer = await ask();
      learn();
      return answer;
    } catch (cause) {
      if (turn.signal.aborted || lost.signal.aborted) throw cause;
      const error = cause instanceof RouterError ? cause : undefined;
      // A new token is asked for when the download has ended, and what this machine lacks may be there then.
      if (error?.disposition === 'login-again' || error?.isLocal) lost.abort(LOST);
      else if (error?.status !== undefined && !BUSY_STATUSES.has(error.status)) learn();
      // What the agent refuses by itself says nothing about the router; the end of the caller's time does.
      else if (error ? error.code !== 'budget' : signal.aborted) {
        this.#refuse(cause);
        lost.abort(LOST);
      }
      throw cause;
    }
  }

  #refuse(cause: unknown): void {
    this.#refusedUntilMs = this.#options.clock.monotonic() + REFUSED_MS;
    if (this.#answers) this.#options.onSecondConnection?.(false, cause);
    this.#answers = false;
  }

  async #closeIfUnused(): Promise<void> {
    if (!this.#turn?.lost && !(this.#download?.isOpen && this.#answers)) await this.#closeSecond();
  }

  async #closeSecond(): Promise<void> {
    this.#turn?.lost?.abort(LOST);
    const second = this.#second;
    this.#second = undefined;
    await second?.close();
  }
}

async function whenEntered({ entered }: Place, signal: AbortSignal): Promise<void> {
  await untilAborted(entered, signal);
  signal.throwIfAborted();
}
