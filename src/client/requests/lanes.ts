import { Mutex, untilAborted } from '../../base/index.ts';
import { RouterError } from '../errors.ts';
import type { CompleteOptions } from '../settings.ts';
import { BUSY_STATUSES } from './messages.ts';
import type { Transport } from './transport.ts';

/** `control`: requests with priority over downloads. `bulk`: downloads, and requests that may wait for them. */
export type Lane = 'control' | 'bulk';

/** Work of a slot. `isConcurrent`: a download is in progress, so its bytes are counted meanwhile too. */
export type SlotWork<T> = (signal: AbortSignal, isConcurrent: boolean) => Promise<T>;

/** Wait for the end of a download before a second connection is tried for the first time. Milliseconds. */
const TRIAL_WAIT_MS = 5000;
/** Interval of the checks whether a slot may run concurrently with a download. Milliseconds. */
const CHECK_INTERVAL_MS = 1000;
/** Time without second connections after a router did not answer on one. Milliseconds. */
const REFUSED_MS = 24 * 60 * 60_000;
/** Reason of the signal of a slot whose second connection has failed. */
const LOST = new DOMException('The second connection failed', 'AbortError');

/** Position in the queue, then ownership of the connection, until it is disposed of. */
interface QueueEntry extends Disposable {
  readonly lane: Lane;
  readonly granted: Promise<void>;
  readonly grant: () => void;
}

interface Slot {
  readonly signal: AbortSignal;
  readonly transport: Transport;
  /** Aborts the work when the second connection has failed; absent on the first connection. */
  readonly lost?: AbortController;
}

interface Download {
  /** Called when a slot waits for it. */
  readonly onAwaited: () => void;
  /** True while its body is read and cannot be suspended: slots may run concurrently. */
  isOpen: boolean;
  /** True if a slot ran concurrently. */
  hadConcurrentSlot: boolean;
}

/**
 * The two lanes to one router, which share one connection and its queue: one request at a time, `control` first. A slot (several requests
 * of `control`) owns the connection until its end. If the router supports ranges, a waiting slot suspends the download. Otherwise it runs
 * concurrently on a second connection, if the router is known to answer there during a download.
 *
 * ```
 *   slot ─▶ waits ── connection free, or download suspended ────────────▶ owns the connection ─▶ end
 *             │                                                               ▲
 *             └─ download not suspendable, ──▶ runs concurrently ─ failed ─▶ waits for its end, and starts again
 *                router answers, or is tried        └─▶ end
 * ```
 *
 * Whether the router answers is learnt: an unknown one is tried after five seconds of waiting. After a refusal, a busy status, a time-out
 * or a stalled download, no second connection is opened for a day. The second connection is closed with the download or the concurrent
 * slot, whichever ends last. A concurrent slot keeps its position in the queue, so no other request can need a token meanwhile.
 */
export class Lanes {
  /** Connection of both lanes; of `bulk` alone while a slot runs concurrently. */
  readonly #transport: Transport;
  readonly #hasToken: () => boolean;
  readonly #options: CompleteOptions;
  #holder: QueueEntry | undefined;
  readonly #waiting: QueueEntry[] = [];
  #slot: Slot | undefined;
  /** Requests of a slot, one at a time. */
  readonly #requests = new Mutex();
  #download: Download | undefined;
  /** By path, whether the router supports ranges; paths have no file names, so there are few. */
  #parts: Map<string, boolean> | undefined;
  #second: Transport | undefined;
  /** True once the router has answered there during a download. */
  #answers = false;
  #refusedUntilMs = -Infinity;

  /** `hasToken` returns true if requests need no new token: an untried second connection must not be used to get one. */
  constructor(transport: Transport, hasToken: () => boolean, options: CompleteOptions) {
    this.#transport = transport;
    this.#hasToken = hasToken;
    this.#options = options;
  }

  /** Connection of the request that may need a token: no other request is in progress. */
  get transport(): Transport {
    return this.#slot?.transport ?? this.#transport;
  }

  /** True while a slot waits. */
  get isAwaited(): boolean {
    return !this.#slot && this.#waiting.some(({ lane }) => lane === 'control');
  }

  /** Runs a request in its lane; requests of `control` run in the slot in progress, if any. */
  async run<T>(
    lane: Lane,
    signal: AbortSignal,
    request: (way: Transport, isConcurrent: boolean) => Promise<T>,
  ): Promise<T> {
    const slot = this.#slot;
    if (slot && lane === 'control') {
      const ask = () => request(slot.transport, slot.lost !== undefined);
      return this.#requests.run(() => (slot.lost ? this.#learnBy(ask, signal, slot, slot.lost) : ask()), signal);
    }
    using entry = this.#take(lane);
    await whenGranted(entry, signal);
    return await request(this.#transport, false);
  }

  /** Starts a download, or the rest of one; it lasts until the result is disposed of. `onAwaited` is called when a slot waits for it. */
  async enter(signal: AbortSignal, onAwaited: () => void): Promise<Disposable> {
    for (;;) {
      const entry = this.#take('bulk');
      try {
        await whenGranted(entry, signal);
      } catch (cause) {
        entry[Symbol.dispose]();
        throw cause;
      }
      // A request that was queued while the download granted goes first: no slot runs concurrently with a download that has not started.
      if (this.isAwaited) {
        entry[Symbol.dispose]();
        continue;
      }
      this.#download = { onAwaited, isOpen: false, hadConcurrentSlot: false };
      return {
        [Symbol.dispose]: () => {
          this.#download = undefined;
          entry[Symbol.dispose]();
        },
      };
    }
  }

  /** Returns true if the router supports ranges for this path. */
  supportsRanges(path: string): boolean {
    return this.#parts?.get(path) ?? false;
  }

  /** Records whether the router supports ranges for a path. */
  recordRangeSupport(path: string, isSent: boolean): void {
    this.#parts ??= new Map();
    this.#parts.set(path, isSent && this.#parts.get(path) !== false);
  }

  /** Reads the body of the download that was granted last. Slots may run concurrently, unless the download can be suspended. */
  async read<T>(path: string, read: () => Promise<T>): Promise<T> {
    const download = this.#download;
    if (!download || this.supportsRanges(path)) return await read();
    download.isOpen = true;
    try {
      return await read();
    } catch (cause) {
      // Without an answer the connection failed: the router may serve only one at a time.
      if (download.hadConcurrentSlot && cause instanceof RouterError && !cause.isAnswered && cause.code !== 'budget') {
        this.#refuse(cause);
      }
      throw cause;
    } finally {
      download.isOpen = false;
      await this.#closeIfUnused();
    }
  }

  /** Runs the work of a slot. If its second connection fails, the signal of the work aborts, and the work is started again. */
  async runInSlot<T>(signal: AbortSignal, work: SlotWork<T>): Promise<T> {
    using entry = this.#take('control');
    if (this.#download && (await this.#mayRunConcurrently(entry, signal))) {
      const done = await this.#runConcurrently(entry, signal, work);
      if (done) return done.result;
    }
    await whenGranted(entry, signal);
    this.#slot = { signal, transport: this.#transport };
    try {
      return await work(signal, false);
    } finally {
      this.#slot = undefined;
    }
  }

  /** Closes the connections and ends a slot on the second one. */
  async close(): Promise<void> {
    await this.#closeSecond();
    await this.#transport.close();
  }

  #take(lane: Lane): QueueEntry {
    const { promise: granted, resolve: grant } = Promise.withResolvers<void>();
    const entry: QueueEntry = {
      lane,
      granted,
      grant,
      [Symbol.dispose]: () => {
        if (this.#holder === entry) this.#holder = undefined;
        else if (this.#waiting.includes(entry)) this.#waiting.splice(this.#waiting.indexOf(entry), 1);
        this.#admit();
      },
    };
    this.#waiting.push(entry);
    this.#admit();
    if (lane === 'control' && this.isAwaited) this.#download?.onAwaited();
    return entry;
  }

  #admit(): void {
    if (this.#holder) return;
    const index = this.#waiting.findIndex(({ lane }) => lane === 'control');
    [this.#holder] = this.#waiting.splice(Math.max(0, index), 1);
    this.#holder?.grant();
  }

  /** Resolves with true when the slot may run concurrently with the download, with false if it owns the first connection before. */
  async #mayRunConcurrently({ granted }: QueueEntry, signal: AbortSignal): Promise<boolean> {
    const isOver = new AbortController();
    const usable = this.#whenUsable(isOver.signal).then(() => true);
    usable.catch(() => {});
    try {
      return await untilAborted(Promise.race([granted.then(() => false), usable]), signal);
    } finally {
      isOver.abort();
    }
  }

  async #whenUsable(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    if (!this.#answers) await clock.sleep(TRIAL_WAIT_MS, signal);
    const isUsable = () =>
      this.#download?.isOpen && clock.monotonic() >= this.#refusedUntilMs && (this.#answers || this.#hasToken());
    while (!isUsable()) await clock.sleep(CHECK_INTERVAL_MS, signal);
  }

  /** Resolves with `undefined` if another slot uses the second connection, the download has ended or the connection has failed. */
  async #runConcurrently<T>(
    entry: QueueEntry,
    signal: AbortSignal,
    work: SlotWork<T>,
  ): Promise<{ readonly result: T } | undefined> {
    if (this.#slot || !this.#download?.isOpen) return undefined;
    // To the front of the queue: no other request may use the connection during this slot.
    this.#waiting.splice(this.#waiting.indexOf(entry), 1);
    this.#waiting.unshift(entry);
    const lost = new AbortController();
    this.#second ??= this.#transport.createSecond();
    this.#slot = { signal, transport: this.#second, lost };
    this.#download.hadConcurrentSlot = true;
    const hasFailed = () => lost.signal.aborted && !signal.aborted;
    try {
      const result = await work(AbortSignal.any([signal, lost.signal]), true);
      return hasFailed() ? undefined : { result };
    } catch (cause) {
      if (hasFailed()) return undefined;
      throw cause;
    } finally {
      this.#slot = undefined;
      await this.#closeIfUnused();
    }
  }

  /** Runs a request on the second connection and learns from its result. `signal`: that of the request. */
  async #learnBy<T>(ask: () => Promise<T>, signal: AbortSignal, slot: Slot, lost: AbortController): Promise<T> {
    const download = this.#download;
    // An answer after the end of the download says nothing about the router's behaviour during one.
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
      if (slot.signal.aborted || lost.signal.aborted) throw cause;
      const error = cause instanceof RouterError ? cause : undefined;
      // A new token is requested after the download; a local shortage may be over then.
      if (error?.disposition === 'login-again' || error?.isLocal) lost.abort(LOST);
      else if (error?.status !== undefined && !BUSY_STATUSES.has(error.status)) learn();
      // A budget of the agent says nothing about the router; the caller's time limit does.
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
    if (!this.#slot?.lost && !(this.#download?.isOpen && this.#answers)) await this.#closeSecond();
  }

  async #closeSecond(): Promise<void> {
    this.#slot?.lost?.abort(LOST);
    const second = this.#second;
    this.#second = undefined;
    await second?.close();
  }
}

async function whenGranted({ granted }: QueueEntry, signal: AbortSignal): Promise<void> {
  await untilAborted(granted, signal);
  signal.throwIfAborted();
}
