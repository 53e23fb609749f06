/**
 * Timeouts without a success after which less is sent at once: over a slow line, the same batch would never arrive in time. The first
 * attempts are the same bytes, which some receivers recognise.
 */
const TIMEOUTS_MAX = 3;
/** Answers in time after which as many records as were too many are tried again. */
const ANSWERS_MAX = 100;

/** Finds how many records a sink takes in time. */
export class AttemptSize {
  readonly #batchMax: number;
  readonly #timeoutMs: number;
  #max: number;
  /** Timeouts since the last answer in time. */
  #timeouts = 0;
  /** True if the sink has answered in time since {@link max} was last lowered. */
  #isAnswering = false;
  /** Number of records that were too many although the sink had answered before, and answers in time since. */
  #tooMany = { records: Number.POSITIVE_INFINITY, answers: 0 };

  /** `batchMax`: records of a whole batch. `timeoutMs`: time for an answer; `undefined` = no limit. */
  constructor(batchMax: number, timeoutMs: number | undefined) {
    this.#batchMax = batchMax;
    this.#timeoutMs = timeoutMs ?? Number.POSITIVE_INFINITY;
    this.#max = batchMax;
  }

  /** Maximum number of records of an attempt. */
  get max(): number {
    return this.#max;
  }

  /** No answer to so many records came in time: once that is so too often, half of them are sent from now on. */
  noteTimeout(records: number): void {
    if (++this.#timeouts < TIMEOUTS_MAX) return;
    this.#timeouts = 0;
    // A sink that does not answer at all says nothing about the number of records.
    if (this.#isAnswering) this.#tooMany = { records, answers: 0 };
    this.#isAnswering = false;
    this.#max = Math.ceil(records / 2);
  }

  /** So many records were answered in time: more are sent from now on, unless more were too many; after many answers they are tried again. */
  noteInTime(records: number, durationMs: number): void {
    this.#timeouts = 0;
    this.#isAnswering = true;
    if (records >= this.#tooMany.records) this.#tooMany = { records: Number.POSITIVE_INFINITY, answers: 0 };
    if (records < this.#max) return;
    const next = Math.min(this.#batchMax, this.#max * 2);
    const isSlow = durationMs > this.#timeoutMs / 2;
    if (isSlow && next >= this.#tooMany.records && ++this.#tooMany.answers < ANSWERS_MAX) return;
    this.#tooMany.answers = 0;
    this.#max = next;
  }
}
