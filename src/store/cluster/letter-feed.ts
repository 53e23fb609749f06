import { StoreError } from '../errors.ts';
import { withConsumer } from './consumer.ts';
import { LetterIndex } from './letter-index.ts';
import { GONE_MS, LETTER_HEADERS } from './letter-message.ts';
import type { ClusterLink } from './link.ts';
import { readStreamState } from './stream.ts';
import type { Subjects } from './subjects.ts';

/** Messages that one request asks for; they come without their contents. */
const AHEAD = 1000;
const PULL_MS = 3000;
/** A consumer that nobody asks is removed by its server after this time. Milliseconds. */
const UNUSED_MS = 30_000;

/**
 * Keeps an index of the dead letters in the stream: what was stored since the last look is read, without the records. Whoever has
 * not looked for half as long as the marks of removals stay reads everything anew.
 */
export class LetterFeed {
  readonly #link: ClusterLink;
  readonly #subjects: Subjects;
  #index = new LetterIndex();
  #lastSeq = 0;
  #created: unknown;
  /** Time at which the index was complete. Monotonic milliseconds. */
  #readMs = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(link: ClusterLink, subjects: Subjects) {
    this.#link = link;
    this.#subjects = subjects;
  }

  get index(): LetterIndex {
    return this.#index;
  }

  /** Resolves when the index was complete once. */
  async whenRead(): Promise<void> {
    if (this.#readMs === -Infinity) await this.catchUp();
  }

  /** Resolves when the index has what the stream had at the call. */
  async catchUp(): Promise<void> {
    // One that is under way may have asked before.
    await this.#reading?.catch(() => {});
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    const info = await this.#link.ask(`STREAM.INFO.${this.#subjects.lettersStream}`);
    const { lastSeq } = readStreamState(info);
    const nowMs = this.#link.clock.monotonic();
    const isAnew = this.#created !== info['created'] || lastSeq < this.#lastSeq || nowMs - this.#readMs > GONE_MS / 2;
    const index = isAnew ? new LetterIndex() : this.#index;
    const from = isAnew ? 1 : this.#lastSeq + 1;
    if (from <= lastSeq) await this.#readFrom(from, index);
    this.#index = index;
    this.#lastSeq = lastSeq;
    this.#created = info['created'];
    this.#readMs = nowMs;
  }

  /** Reads all messages from a number on. */
  async #readFrom(from: number, index: LetterIndex): Promise<void> {
    const choice = { stream: this.#subjects.lettersStream, from, hasHeadersOnly: true, unusedMs: UNUSED_MS };
    await withConsumer(this.#link, choice, async (consumer, waiting) => {
      for (let pending = waiting; pending > 0; ) {
        let read = 0;
        const messages = await consumer.fetch({ max_messages: Math.min(AHEAD, pending), expires: PULL_MS });
        for await (const { subject, seq, headers, info: about } of messages) {
          read++;
          pending = about.pending;
          const of = this.#subjects.parseLetter(subject);
          const letter = LETTER_HEADERS.read(headers, seq);
          if (of && letter) index.set({ ...of, ...letter });
          else if (of) index.remove(of.sink, of.uid, seq);
        }
        if (read === 0)
          throw new StoreError('unwritable', 'The dead letters of the cluster do not arrive', { disposition: 'retry' });
      }
    });
  }
}
