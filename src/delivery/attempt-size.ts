/**
 * Attempts in a row without an answer after which less is sent at once: over a slow line, the same batch would never arrive in time,
 * and some receivers end the connection instead of saying that a batch is too large. The first attempts are the same bytes, which some
 * receivers recognise.
 */
const UNANSWERED_MAX = 3;
/** Answers in time after which as many records as were too many are tried again. */
const ANSWERS_MAX = 100;

const NO_LIMIT = { records: Number.POSITIVE_INFINITY, isCutOff: false, answers: 0 } as const;

/** Finds how many records a sink takes at once. */
export class AttemptSize {
  readonly #batchMax: number;
  readonly #timeoutMs: number;
  #max: number;
  /** Attempts without an answer since the last one in time. */
  #unanswered = 0;
  /** True if the sink has answered in time since {@link max} was last lowered. */
  #isAnswering = false;
  /**
   * Number of records that were too many although the sink had answered before, whether it ended the connection then, and answers in
   * time since.
   */
  #tooMany: { readonly records: number; readonly isCutOff: boolean; readonly answers: number } = NO_LIMIT;

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

  /** No answer to so many records came in time, or the sink ended the connection: once that is so too often, half of them are sent from now on. */
  noteUnanswered(records: number, isCutOff: boolean): void {
    if (++this.#unanswered < UNANSWERED_MAX) return;
    this.#unanswered = 0;
    // A sink that does not answer at all says nothing about the number of records.
    if (this.#isAnswering) this.#tooMany = { records, isCutOff, answers: 0 };
    else if (isCutOff) this.#tooMany = NO_LIMIT;
    this.#isAnswering = false;
    this.#max = Math.ceil(records / 2);
  }

  /** So many records were answered in time: more are sent from now on, unless more were too many; after many answers they are tried again. */
  noteInTime(records: number, durationMs: number): void {
    this.#unanswered = 0;
    this.#isAnswering = true;
    if (records >= this.#tooMany.records) this.#tooMany = NO_LIMIT;
    if (records < this.#max) return;
    const next = Math.min(this.#batchMax, this.#max * 2);
    const isNear = this.#tooMany.isCutOff || durationMs > this.#timeoutMs / 2;
    if (isNear && next >= this.#tooMany.records) {
      const answers = this.#tooMany.answers + 1;
      this.#tooMany = { ...this.#tooMany, answers: answers % ANSWERS_MAX };
      if (answers < ANSWERS_MAX) return;
    }
    this.#max = next;
  }
}
