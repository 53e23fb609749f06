import { StoreError } from '../errors.ts';
import { FENCE_CODES, FULL_CODES, toRefused } from './commit-queue.ts';
import type { IndexedLetter, LetterIndex } from './letter-index.ts';
import { LETTER_HEADERS } from './letter-message.ts';
import { type ClusterLink, type Message, type PublishAnswer, toAway } from './link.ts';
import type { Subjects } from './subjects.ts';

/** Requests under way at a time. */
export const AT_ONCE = 128;

/** Publishes and removes dead letters, and keeps the index right. */
export class LetterWriter {
  readonly #link: ClusterLink;
  readonly #subjects: Subjects;
  readonly #index: () => LetterIndex;

  constructor(link: ClusterLink, subjects: Subjects, index: () => LetterIndex) {
    this.#link = link;
    this.#subjects = subjects;
    this.#index = index;
  }

  /**
   * Removes letters that have not changed since they were read, and returns them. `onRemoved` gets them also when the engine failed for
   * some of the others, with which this rejects.
   */
  async remove(
    letters: readonly IndexedLetter[],
    onRemoved?: (letters: readonly IndexedLetter[]) => void,
  ): Promise<readonly IndexedLetter[]> {
    const subjects = this.#subjects;
    const answers = await this.publishAll(
      letters.map((letter): Message => {
        const words = [...expectLast(letter), 'Nats-TTL', LETTER_HEADERS.goneTtl];
        return { subject: subjects.letterOf(letter.sink, letter.uid), payload: Buffer.alloc(0), words };
      }),
    );
    const removed: IndexedLetter[] = [];
    const full: IndexedLetter[] = [];
    let failure: StoreError | undefined;
    for (const [index, letter] of letters.entries()) {
      const answer = answers[index];
      if (answer?.kind === 'refused' && FULL_CODES.includes(answer.code)) {
        full.push(letter);
        continue;
      }
      if (answer?.kind === 'stored') removed.push(letter);
      else if (answer?.kind !== 'refused' || !FENCE_CODES.includes(answer.code)) {
        failure ??= toFailure(answer);
        continue;
      }
      // Another replica has removed it, or has stored it anew: then it is read at the next look.
      this.#index().remove(letter.sink, letter.uid, answer.kind === 'stored' ? answer.seq : letter.seq);
    }
    onRemoved?.(removed);
    await this.purge(full, onRemoved);
    if (failure) throw failure;
    return [...removed, ...full];
  }

  /** Removes letters without a mark: other replicas notice when they read them. `onRemoved`: see {@link remove}. */
  async purge(
    letters: readonly IndexedLetter[],
    onRemoved?: (letters: readonly IndexedLetter[]) => void,
  ): Promise<void> {
    const [link, subjects] = [this.#link, this.#subjects];
    for (let from = 0; from < letters.length; from += AT_ONCE) {
      const part = letters.slice(from, from + AT_ONCE);
      const removed: IndexedLetter[] = [];
      const ends = await Promise.allSettled(
        part.map(async (letter) => {
          const { sink, uid, seq } = letter;
          const filter = subjects.letterOf(sink, uid);
          await link.ask(`STREAM.PURGE.${subjects.lettersStream}`, { filter, seq: seq + 1 });
          this.#index().remove(sink, uid, seq);
          removed.push(letter);
        }),
      );
      onRemoved?.(removed);
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    }
  }

  /** Publishes messages in their order, some at a time. */
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

/** Words of a message that replaces one of a letter. */
export function expectLast({ seq }: IndexedLetter): readonly string[] {
  return ['Nats-Expected-Last-Subject-Sequence', String(seq)];
}

/** Returns the error for an answer that was not expected. */
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
