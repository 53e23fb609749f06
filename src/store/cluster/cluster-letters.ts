import { packBytes, type Timer } from '../../base/index.ts';
import type { UnnumberedLetter } from '../dead-letter-store.ts';
import { StoreError } from '../errors.ts';
import {
  type DeadLetters,
  LETTER_LIST_MAX,
  LETTERS_BYTES_MAX,
  LETTERS_KEEP_MS,
  type LetterBounds,
  type LetterSelection,
  type ListOptions,
  measureLetter,
  type RefusedRecord,
  type StoredLetter,
  toLetterFields,
} from '../letters.ts';
import { FENCE_CODES, FULL_CODES, toFenced } from './commit-queue.ts';
import { LetterFeed } from './letter-feed.ts';
import type { IndexedLetter } from './letter-index.ts';
import { LETTER_HEADERS, readLetter, renderLetter } from './letter-message.ts';
import { AT_ONCE, expectLast, LetterWriter, toFailure } from './letter-writer.ts';
import type { ClusterLink } from './link.ts';
import { readPayloadMax } from './record-messages.ts';
import { type ClusterStreamState, LETTERS_ROOM_FACTOR } from './stream.ts';
import type { Subjects } from './subjects.ts';

/** The dead letters of a cluster, and which of them are looked after here. */
export interface ClusterLettersOptions {
  /** Connection to the engine. */
  readonly link: ClusterLink;
  /** Subjects of the cluster. */
  readonly subjects: Subjects;
  /** Maximum size of all letters together. Bytes. Default 64 MiB; never more than the stream has room for. */
  readonly bytesMax?: number | undefined;
  /** Retention of a letter. Milliseconds. Default 30 days. */
  readonly keepMs?: number | undefined;
  /** True while a sink is this replica's: then it shows and replays its letters, and nobody else does. Default: all are. */
  readonly isOwner?: ((sink: string) => boolean) | undefined;
  /** True if nobody serves a sink, which may be gone, and its old letters are dropped here. Default: nowhere. */
  readonly ownsOrphans?: ((sink: string) => boolean) | undefined;
  /** Called when letters are dropped without a request: too many, too old, too large, or damaged. Default: not reported. */
  readonly onDropped?: ((sink: string, letters: number) => void) | undefined;
}

/** Interval of the looks at what other replicas and commands have done. Milliseconds. */
const LOOK_MS = 5000;
/** Attempts to store letters in a stream without room. */
const FULL_ATTEMPTS_MAX = 3;

/**
 * Dead letters that the replicas of a cluster share, in a stream of their own: a letter is a message, the last one of its subject,
 * which names sink and record. Its number is that of its first message. One that is removed leaves an empty message for a minute, so
 * that the others notice. See decision 0035.
 */
export class ClusterLetters implements DeadLetters {
  readonly #options: ClusterLettersOptions;
  readonly #feed: LetterFeed;
  readonly #writer: LetterWriter;
  /** Room that the stream has for letters. Bytes. */
  #roomBytes = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: ClusterLettersOptions) {
    this.#options = options;
    this.#feed = new LetterFeed(options.link, options.subjects);
    this.#writer = new LetterWriter(options.link, options.subjects, () => this.#feed.index);
  }

  /** Tells how large the stream may be. */
  noteRoom({ bytesMax }: Pick<ClusterStreamState, 'bytesMax'>): void {
    this.#roomBytes = bytesMax / LETTERS_ROOM_FACTOR;
  }

  /** Looks once at what the stream holds. */
  look(): Promise<void> {
    return this.#feed.catchUp();
  }

  /** Looks now and then at what others have done, until the end. */
  follow(): void {
    if (this.#isClosed) return;
    this.#timer = this.#options.link.clock.setTimer(LOOK_MS, () => {
      const look = this.#options.link.connection ? this.#feed.catchUp() : Promise.resolve();
      // Without the engine, what is known stays.
      void look.catch(() => {}).finally(() => this.follow());
    });
  }

  async add(sink: string, refused: readonly RefusedRecord[], taken: readonly number[] = []): Promise<void> {
    if (refused.length + taken.length === 0) return;
    this.#checkOwner(sink);
    await this.#feed.whenRead();
    const gone = taken.flatMap((id) => this.#index.get(id) ?? []);
    const atMs = Math.floor(this.#options.link.clock.now());
    await this.#store(refused.map((one) => ({ ...toLetterFields(one), sink, atMs, isReplayed: false })));
    await this.#writer.remove(gone);
    await this.#keepBound();
  }

  async addMoved(letters: readonly StoredLetter[]): Promise<number> {
    await this.#feed.whenRead();
    const missing = letters
      .filter(({ sink, uid }) => !this.#index.has(sink, uid))
      .map((letter) => ({ ...letter, bytes: measureLetter(letter) }));
    const wanted = missing.reduce((sum, { bytes }) => sum + bytes, this.bytes);
    if (missing.length > 0 && wanted > this.#roomBytes) {
      throw new StoreError('full', `The dead letters take ${wanted} bytes, and their stream has ${this.#roomBytes}`, {
        disposition: 'hold-back',
        hint: 'Raise max_bytes of the stream of the dead letters, or drop some with router-exporter dead-letters drop',
      });
    }
    await this.#store(missing);
    return missing.length;
  }

  /** Stores letters as they are; each replaces the one of its record and sink. */
  async #store(letters: readonly UnnumberedLetter[]): Promise<void> {
    const { link, subjects } = this.#options;
    await link.ready();
    const bytesMax = readPayloadMax(link);
    const messages = letters.flatMap((letter) => {
      const payload = packBytes(Buffer.from(renderLetter(letter)));
      const { sink, uid, bytes, atMs, isReplayed } = letter;
      if (payload.length > bytesMax) {
        this.#options.onDropped?.(sink, 1);
        return [];
      }
      const about = { sink, uid, bytes, atMs, isReplayed };
      const words = LETTER_HEADERS.write(about);
      return [{ about, message: { subject: subjects.letterOf(sink, uid), payload, words } }];
    });
    for (let left = messages, attempt = 1; left.length > 0; attempt++) {
      const answers = await this.#writer.publishAll(left.map(({ message }) => message));
      const full: typeof left = [];
      for (const [index, one] of left.entries()) {
        const answer = answers[index];
        if (answer?.kind === 'stored') this.#index.set({ ...one.about, id: answer.seq, seq: answer.seq });
        else if (answer?.kind === 'refused' && FULL_CODES.includes(answer.code) && attempt < FULL_ATTEMPTS_MAX) {
          full.push(one);
        } else throw toFailure(answer);
      }
      left = full;
      if (left.length > 0) await this.#makeRoom(left.reduce((sum, { about }) => sum + about.bytes, 0));
    }
  }

  async readReplayed(sink: string, { recordsMax, bytesMax }: LetterBounds): Promise<readonly StoredLetter[]> {
    // The letters of another replica's sinks are tried again there.
    if (!this.#isOwner(sink)) return [];
    await this.#feed.whenRead();
    const marked = this.#index.list(sink).filter(({ isReplayed }) => isReplayed);
    const found: StoredLetter[] = [];
    let bytes = 0;
    for (let from = 0; from < marked.length; from += AT_ONCE) {
      for (const letter of await this.#readAll(marked.slice(from, from + AT_ONCE))) {
        bytes += Buffer.byteLength(letter.line);
        if (found.length >= recordsMax || (found.length > 0 && bytes > bytesMax)) return found;
        found.push(letter);
      }
    }
    return found;
  }

  async list({ sink, limit, order = 'newest', afterId }: ListOptions): Promise<readonly StoredLetter[]> {
    await this.#feed.catchUp();
    const letters = this.#index.list(sink).filter((one) => this.#isOwner(one.sink));
    if (order === 'newest') letters.reverse();
    const isBehind = ({ id }: IndexedLetter) =>
      afterId === undefined || (order === 'newest' ? id < afterId : id > afterId);
    return await this.#readAll(letters.filter(isBehind).slice(0, Math.min(Math.max(0, limit), LETTER_LIST_MAX)));
  }

  async get(id: number): Promise<StoredLetter | undefined> {
    await this.#feed.catchUp();
    const known = this.#index.get(id);
    return known && (await this.#readAll([known]))[0];
  }

  async markReplay(selection: LetterSelection): Promise<number> {
    const selected = await this.#select(selection);
    const { link, subjects } = this.#options;
    let marked = 0;
    for (let from = 0; from < selected.length; from += AT_ONCE) {
      const part = selected.slice(from, from + AT_ONCE);
      const fresh = part.filter(({ isReplayed }) => !isReplayed);
      marked += part.length - fresh.length;
      const stored = await Promise.all(
        fresh.map(({ sink, uid }) => link.readLast(subjects.lettersStream, subjects.letterOf(sink, uid))),
      );
      const known = fresh.flatMap((letter, index) => {
        const message = stored[index];
        return message?.seq === letter.seq ? [{ letter: { ...letter, isReplayed: true }, message }] : [];
      });
      const answers = await this.#writer.publishAll(
        known.map(({ letter, message: { subject, payload } }) => {
          return { subject, payload, words: [...expectLast(letter), ...LETTER_HEADERS.write(letter)] };
        }),
      );
      for (const [index, answer] of answers.entries()) {
        const letter = known[index]?.letter;
        if (letter && answer.kind === 'stored') {
          this.#index.set({ ...letter, seq: answer.seq });
          marked++;
        } else if (answer.kind !== 'refused' || !FENCE_CODES.includes(answer.code)) throw toFailure(answer);
      }
    }
    return marked;
  }

  async drop(selection: LetterSelection): Promise<number> {
    const selected = await this.#select(selection);
    const removed = await this.#writer.remove(selected);
    return removed.length;
  }

  async expire(nowMs: number): Promise<void> {
    if (!this.#options.link.connection) return;
    await this.#feed.whenRead();
    const { keepMs = LETTERS_KEEP_MS, ownsOrphans = () => false } = this.#options;
    const isOurs = (sink: string) => this.#isOwner(sink) || ownsOrphans(sink);
    await this.#dropUnasked(this.#index.list().filter(({ sink, atMs }) => atMs <= nowMs - keepMs && isOurs(sink)));
  }

  count(sink?: string): number {
    if (sink !== undefined) return this.counts().get(sink) ?? 0;
    return [...this.counts().values()].reduce((sum, letters) => sum + letters, 0);
  }

  counts(): Map<string, number> {
    return new Map([...this.#index.counts()].filter(([sink]) => this.#isOwner(sink)));
  }

  get bytes(): number {
    return this.#index.bytes;
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  get #index() {
    return this.#feed.index;
  }

  #isOwner(sink: string): boolean {
    return this.#options.isOwner?.(sink) ?? true;
  }

  #checkOwner(sink: string): void {
    if (!this.#isOwner(sink)) throw toFenced({ kind: 'sink', name: sink });
  }

  async #select({ sink, ids, olderThanMs }: LetterSelection): Promise<readonly IndexedLetter[]> {
    await this.#feed.catchUp();
    const nowMs = this.#options.link.clock.now();
    const wanted = ids && new Set(ids);
    return this.#index
      .list(sink)
      .filter(
        ({ id, atMs }) => (wanted?.has(id) ?? true) && (olderThanMs === undefined || atMs <= nowMs - olderThanMs),
      );
  }

  /** Reads letters; those that are gone or damaged are left out, and the damaged ones removed. */
  async #readAll(wanted: readonly IndexedLetter[]): Promise<readonly StoredLetter[]> {
    const { link, subjects } = this.#options;
    const letters: StoredLetter[] = [];
    const damaged: IndexedLetter[] = [];
    for (let from = 0; from < wanted.length; from += AT_ONCE) {
      const part = wanted.slice(from, from + AT_ONCE);
      const stored = await Promise.all(
        part.map(({ sink, uid }) => link.readLast(subjects.lettersStream, subjects.letterOf(sink, uid))),
      );
      for (const [index, known] of part.entries()) {
        const message = stored[index];
        if (!message || message.payload.length === 0) this.#index.remove(known.sink, known.uid, known.seq);
        else {
          const fields = readLetter(message.payload);
          const { id, sink, uid, isReplayed } = known;
          if (fields) letters.push({ ...fields, id, sink, uid, isReplayed });
          else damaged.push(known);
        }
      }
    }
    await this.#dropUnasked(damaged);
    return letters;
  }

  /** Drops the oldest letters beyond the limit. */
  async #keepBound(): Promise<void> {
    const { bytesMax = LETTERS_BYTES_MAX } = this.#options;
    const excess = this.#index.bytes - Math.min(bytesMax, this.#roomBytes);
    if (excess > 0) await this.#dropUnasked(this.#index.findOldest(excess));
  }

  /** The stream takes no more: letters are purged, because not even a mark of a removal has room. */
  async #makeRoom(bytes: number): Promise<void> {
    await this.#feed.catchUp();
    const leaving = this.#index.findOldest(bytes);
    await this.#writer.purge(leaving, (purged) => this.#reportDropped(purged));
  }

  async #dropUnasked(leaving: readonly IndexedLetter[]): Promise<void> {
    await this.#writer.remove(leaving, (removed) => this.#reportDropped(removed));
  }

  #reportDropped(leaving: readonly IndexedLetter[]): void {
    const dropped = new Map<string, number>();
    for (const { sink } of leaving) dropped.set(sink, (dropped.get(sink) ?? 0) + 1);
    for (const [sink, letters] of dropped) this.#options.onDropped?.(sink, letters);
  }
}
