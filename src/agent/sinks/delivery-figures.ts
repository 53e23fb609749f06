import { type Clock, renderErrorChain, type Timer } from '../../base/index.ts';
import { type DeadLetters, type StoredDeadLetter, StoreError } from '../../model/index.ts';
import type { DeadLetterPage, DeadLetterSummary, FoundDeadLetter, WebContent } from '../../web/index.ts';

const SLOT_MS = 5000;
/** One minute. */
const SLOTS = 12;
const STEP_MS = 30_000;
/** Ten minutes: single batches do not matter. */
const STEPS = 20;

/** Delivered records per second over the last minute, or since creation if that is shorter. */
export class DeliveryRate {
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #counts = new Float64Array(SLOTS);
  #newest: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMs = clock.monotonic();
    this.#newest = Math.floor(this.#startMs / SLOT_MS);
  }

  add(records: number): void {
    this.#advance();
    const slot = this.#newest % SLOTS;
    this.#counts[slot] = (this.#counts[slot] ?? 0) + records;
  }

  get perSecond(): number {
    this.#advance();
    const nowMs = this.#clock.monotonic();
    // The newest slot is not complete.
    const spanMs = nowMs - Math.max(this.#startMs, (this.#newest - SLOTS + 1) * SLOT_MS);
    return this.#counts.reduce((sum, count) => sum + count, 0) / (Math.max(spanMs, SLOT_MS) / 1000);
  }

  #advance(): void {
    const slot = Math.floor(this.#clock.monotonic() / SLOT_MS);
    for (let next = Math.max(this.#newest + 1, slot - SLOTS + 1); next <= slot; next++) this.#counts[next % SLOTS] = 0;
    this.#newest = slot;
  }
}

/** Measures the growth of the spool during the last ten minutes. */
export class SpoolTrend {
  readonly #clock: Clock;
  readonly #measure: () => number;
  readonly #sizes: { readonly atMs: number; readonly bytes: number }[] = [];
  #timer: Timer | undefined;

  constructor(clock: Clock, measure: () => number) {
    this.#clock = clock;
    this.#measure = measure;
  }

  start(): void {
    this.#sizes.push({ atMs: this.#clock.monotonic(), bytes: this.#measure() });
    if (this.#sizes.length > STEPS) this.#sizes.shift();
    this.#timer = this.#clock.setTimer(STEP_MS, () => this.start());
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /**
   * Returns the time in seconds until the spool reaches `bytesMax` at the current growth; `undefined` if it does not
   * grow, or was not measured for long enough.
   */
  findSecondsToFull(bytesMax: number): number | undefined {
    const [oldest] = this.#sizes;
    const seconds = oldest ? (this.#clock.monotonic() - oldest.atMs) / 1000 : 0;
    if (!oldest || seconds < STEP_MS / 1000) return undefined;
    const bytes = this.#measure();
    const perSecond = (bytes - oldest.bytes) / seconds;
    return perSecond > 0 ? Math.max(0, bytesMax - bytes) / perSecond : undefined;
  }
}

/**
 * Returns a page of dead letters. A file that cannot be read is a fault of the page: a command may lock it for a
 * moment.
 */
export async function listDeadLetters(
  store: Pick<DeadLetters, 'list' | 'counts'>,
  { sink, limit, before }: Parameters<WebContent['listDeadLetters']>[0],
): Promise<DeadLetterPage> {
  try {
    const letters = (await store.list({ sink, limit: limit + 1, afterId: before })).map(toSummary);
    const counts = [...store.counts()].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return { letters: letters.slice(0, limit), hasMore: letters.length > limit, counts, fault: null };
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    return { letters: [], hasMore: false, counts: [], fault: renderErrorChain(cause) };
  }
}

/**
 * Returns one dead letter with its record; `undefined` if the number is unknown, or the fault if the file cannot be
 * read.
 */
export async function findDeadLetter(store: Pick<DeadLetters, 'get'>, id: number): Promise<FoundDeadLetter> {
  try {
    const letter = await store.get(id);
    return letter && { ...toSummary(letter), record: letter.line };
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    return { fault: renderErrorChain(cause) };
  }
}

function toSummary(letter: StoredDeadLetter): DeadLetterSummary {
  const { id, sink, atMs, router, component, timestamp = null, code = null, reason, isReplayed } = letter;
  return { id, sink, at: new Date(atMs).toISOString(), router, component, timestamp, code, reason, isReplayed };
}
