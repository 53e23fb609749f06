import { StoreError } from '../model/index.ts';
import { FENCE_CODES, FULL_CODES, toRefused } from './commit-queue.ts';
import { DEAD_LETTER_HEADERS, DeadLetterIndex, GONE_MS, type IndexedDeadLetter } from './dead-letter-index.ts';
import { type ClusterLink, type Message, type PublishAnswer, toAway } from './link.ts';
import { withConsumer } from './record-feed.ts';
import { readStreamState } from './stream.ts';
import type { Subjects } from './subjects.ts';

/** Messages per request; they come without their contents. */
const AHEAD = 1000;
const PULL_MS = 3000;
/** Idle time after which the server removes the consumer. Milliseconds. */
const UNUSED_MS = 30_000;

/**
 * Keeps an index of the dead letters in the stream: reads what was stored since the last read, without the records. After
 * more than half the lifetime of the removal markers, reads everything again.
 */
export class DeadLetterFeed {
  readonly #link: ClusterLink;
  readonly #subjects: Subjects;
  #index = new DeadLetterIndex();
  #lastSeq = 0;
  #created: unknown;
  /** When the index was last complete. Monotonic milliseconds. */
  #readMs = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(link: ClusterLink, subjects: Subjects) {
    this.#link = link;
    this.#subjects = subjects;
  }

  get index(): DeadLetterIndex {
    return this.#index;
  }

  async whenRead(): Promise<void> {
    if (this.#readMs === -Infinity) await this.catchUp();
  }

  /** Resolves when the index has everything that the stream had at the call. */
  async catchUp(): Promise<void> {
    // A read in progress may have started before the call.
    await this.#reading?.catch(() => {});
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    const info = await this.#link.ask(`STREAM.INFO.${this.#subjects.deadLetterStream}`);
    const { lastSeq } = readStreamState(info);
    const nowMs = this.#link.clock.monotonic();
    const isAnew = this.#created !== info['created'] || lastSeq < this.#lastSeq || nowMs - this.#readMs > GONE_MS / 2;
    const index = isAnew ? new DeadLetterIndex() : this.#index;
    const from = isAnew ? 1 : this.#lastSeq + 1;
    if (from <= lastSeq) await this.#readFrom(from, index);
    this.#index = index;
    this.#lastSeq = lastSeq;
    this.#created = info['created'];
    this.#readMs = nowMs;
  }

  async #readFrom(from: number, index: DeadLetterIndex): Promise<void> {
    const choice = { stream: this.#subjects.deadLetterStream, from, hasHeadersOnly: true, unusedMs: UNUSED_MS };
    await withConsumer(this.#link, choice, async (consumer, waiting) => {
      for (let pending = waiting; pending > 0; ) {
        let read = 0;
        const messages = await consumer.fetch({ max_messages: Math.min(AHEAD, pending), expires: PULL_MS });
        for await (const { subject, seq, headers, info: about } of messages) {
          read++;
          pending = about.pending;
          const of = this.#subjects.parseDeadLetter(subject);
          const deadLetter = DEAD_LETTER_HEADERS.read(headers, seq);
          if (of && deadLetter) index.set({ ...of, ...deadLetter });
          else if (of) index.remove(of.sink, of.uid, seq);
        }
        if (read === 0)
          throw new StoreError('unwritable', 'The dead letters of the cluster do not arrive', { disposition: 'retry' });
      }
    });
  }
}

/** Maximum number of concurrent requests. */
export const AT_ONCE = 128;

export class DeadLetterWriter {
  readonly #link: ClusterLink;
  readonly #subjects: Subjects;
  readonly #index: () => DeadLetterIndex;

  constructor(link: ClusterLink, subjects: Subjects, index: () => DeadLetterIndex) {
    this.#link = link;
    this.#subjects = subjects;
    this.#index = index;
  }

  /**
   * Removes dead letters that have not changed since they were read, and returns them. `onRemoved` gets them also when this
   * rejects because the engine failed for others.
   */
  async remove(
    deadLetters: readonly IndexedDeadLetter[],
    onRemoved?: (deadLetters: readonly IndexedDeadLetter[]) => void,
  ): Promise<readonly IndexedDeadLetter[]> {
    const subjects = this.#subjects;
    const answers = await this.publishAll(
      deadLetters.map((deadLetter): Message => {
        const words = [...expectLast(deadLetter), 'Nats-TTL', DEAD_LETTER_HEADERS.goneTtl];
        return { subject: subjects.deadLetterOf(deadLetter.sink, deadLetter.uid), payload: Buffer.alloc(0), words };
      }),
    );
    const removed: IndexedDeadLetter[] = [];
    const full: IndexedDeadLetter[] = [];
    let failure: StoreError | undefined;
    for (const [index, deadLetter] of deadLetters.entries()) {
      const answer = answers[index];
      if (answer?.kind === 'refused' && FULL_CODES.includes(answer.code)) {
        full.push(deadLetter);
        continue;
      }
      if (answer?.kind === 'stored') removed.push(deadLetter);
      else if (answer?.kind !== 'refused' || !FENCE_CODES.includes(answer.code)) {
        failure ??= toFailure(answer);
        continue;
      }
      // Another replica has removed it, or has stored it again: then the next read finds it.
      this.#index().remove(deadLetter.sink, deadLetter.uid, answer.kind === 'stored' ? answer.seq : deadLetter.seq);
    }
    onRemoved?.(removed);
    await this.purge(full, onRemoved);
    if (failure) throw failure;
    return [...removed, ...full];
  }

  /** Removes dead letters without a marker: other replicas find out when they read them. `onRemoved`: see {@link remove}. */
  async purge(
    deadLetters: readonly IndexedDeadLetter[],
    onRemoved?: (deadLetters: readonly IndexedDeadLetter[]) => void,
  ): Promise<void> {
    const [link, subjects] = [this.#link, this.#subjects];
    for (let from = 0; from < deadLetters.length; from += AT_ONCE) {
      const part = deadLetters.slice(from, from + AT_ONCE);
      const removed: IndexedDeadLetter[] = [];
      const ends = await Promise.allSettled(
        part.map(async (deadLetter) => {
          const { sink, uid, seq } = deadLetter;
          const filter = subjects.deadLetterOf(sink, uid);
          await link.ask(`STREAM.PURGE.${subjects.deadLetterStream}`, { filter, seq: seq + 1 });
          this.#index().remove(sink, uid, seq);
          removed.push(deadLetter);
        }),
      );
      onRemoved?.(removed);
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    }
  }

  async publishAll(messages: readonly Message[]): Promise<PublishAnswer[]> {
    const link = this.#link;
    if (messages.length > 0) await link.ready();
    const answers: PublishAnswer[] = [];
    for (let from = 0; from < messages.length; from += AT_ONCE) {
      const part = messages.slice(from, from + AT_ONCE);
      answers.push(...(await Promise.all(part.map((message) => link.publish(message)))));
    }
    return answers;
  }
}

/** Returns the headers of a message that replaces the last one of a dead letter. */
export function expectLast({ seq }: IndexedDeadLetter): readonly string[] {
  return ['Nats-Expected-Last-Subject-Sequence', String(seq)];
}

export function toFailure(answer: PublishAnswer | undefined): StoreError {
  if (answer?.kind === 'refused') {
    const error = toRefused(answer.text, answer.code);
    if (error.code !== 'full') return error;
    return new StoreError('full', `The stream of the dead letters is full: ${answer.text}`, {
      disposition: 'hold-back',
      hint: 'Look at the disks of the NATS servers, or raise max_bytes of the stream',
    });
  }
  return toAway(answer?.kind === 'unknown' ? answer.cause : undefined);
}
