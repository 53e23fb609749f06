import { type Mutex, untilAborted } from '../../base/index.ts';

/** A turn that is taken. */
export interface Turn extends Disposable {
  /** True if it goes on beside a download. */
  readonly isBeside: boolean;
  /** Resolves when that has ended. */
  whenAlone(): Promise<void>;
}

/**
 * Lets turns of several requests go before downloads: while one is asked for or taken, no download begins, and one that can
 * go on later is told to give way.
 */
export class Turns {
  readonly #mutex: Mutex;
  /** Turns that are asked for or taken. */
  #wanted = 0;
  /** Turns that are taken. */
  #taken = 0;
  /** True while a download is under way. */
  #isDownloading = false;
  /** Resolves when no turn is wanted any more; set while one is. */
  #free: PromiseWithResolvers<void> | undefined;
  /** Called when a turn is asked for; set by the first download. */
  #listeners: Set<() => void> | undefined;

  /** `mutex`: held by the request that is under way. */
  constructor(mutex: Mutex) {
    this.#mutex = mutex;
  }

  /** True while a turn is asked for and waits for a download. */
  get isAwaited(): boolean {
    return this.#wanted > this.#taken;
  }

  /**
   * Takes a turn as soon as the request that is under way has ended or given way, or `whenUsable` resolves: then it goes on
   * beside that request, and lets no other in behind it. The turn lasts until it is disposed of.
   */
  async take(signal: AbortSignal, whenUsable: (signal: AbortSignal) => Promise<void>): Promise<Turn> {
    this.#wanted++;
    this.#free ??= Promise.withResolvers();
    for (const listener of this.#listeners ?? []) listener();
    const entered = this.#hold(signal);
    try {
      // Any other request that is under way is short.
      const isBeside = this.#isDownloading && (await isFirst(entered, whenUsable));
      if (!isBeside) (await entered)();
      this.#taken++;
      return { isBeside, whenAlone: async () => (await entered)(), [Symbol.dispose]: () => this.#give(entered) };
    } catch (cause) {
      this.#end();
      throw cause;
    }
  }

  /** Waits until no turn is asked for, and resolves with a function that lets the next request in. */
  async enter(signal: AbortSignal): Promise<() => void> {
    for (;;) {
      if (this.#free) await untilAborted(this.#free.promise, signal);
      const leave = await this.#hold(signal);
      // One that was asked for while this one waited is next.
      if (this.#wanted > 0) leave();
      else {
        this.#isDownloading = true;
        return () => {
          this.#isDownloading = false;
          leave();
        };
      }
    }
  }

  /** Calls `give` when a turn is asked for, until the result is disposed of. */
  watch(give: () => void): Disposable {
    this.#listeners ??= new Set();
    this.#listeners.add(give);
    return { [Symbol.dispose]: () => void this.#listeners?.delete(give) };
  }

  /** Ends a turn, and lets in who waits behind it. */
  #give(entered: Promise<() => void>): void {
    entered.then((leave) => leave()).catch(() => {});
    this.#taken--;
    this.#end();
  }

  #end(): void {
    if (--this.#wanted > 0) return;
    this.#free?.resolve();
    this.#free = undefined;
  }

  async #hold(signal: AbortSignal): Promise<() => void> {
    const entered = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    this.#mutex
      .run(() => {
        entered.resolve();
        return left.promise;
      }, signal)
      .catch(entered.reject);
    await entered.promise;
    return left.resolve;
  }
}

/** Returns true if `whenUsable` resolves before `entered`. */
async function isFirst(
  entered: Promise<unknown>,
  whenUsable: (signal: AbortSignal) => Promise<void>,
): Promise<boolean> {
  const isOver = new AbortController();
  const beside = whenUsable(isOver.signal).then(() => true);
  try {
    return await Promise.race([entered.then(() => false), beside]);
  } finally {
    isOver.abort();
    beside.catch(() => {});
  }
}
