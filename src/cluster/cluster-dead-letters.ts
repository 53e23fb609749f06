import { packBytes, type Timer } from '../base/index.ts';
import {
  DEAD_LETTER_LIST_MAX,
  DEAD_LETTERS_BYTES_MAX,
  DEAD_LETTERS_KEEP_MS,
  type DeadLetterBounds,
  type DeadLetterSelection,
  type DeadLetters,
  type ListOptions,
  measureDeadLetter,
  type RefusedRecord,
  type StoredDeadLetter,
  StoreError,
  toDeadLetterFields,
  type UnnumberedDeadLetter,
} from '../model/index.ts';
import { FENCE_CODES, FULL_CODES, toFenced } from './commit-queue.ts';
import { DEAD_LETTER_HEADERS, type IndexedDeadLetter, readDeadLetter, renderDeadLetter } from './dead-letter-index.ts';
import { AT_ONCE, DeadLetterFeed, DeadLetterWriter, expectLast, toFailure } from './dead-letter-stream.ts';
import type { ClusterLink } from './link.ts';
import { readPayloadMax } from './record-feed.ts';
import { type ClusterStreamState, DEAD_LETTERS_ROOM_FACTOR } from './stream.ts';
import type { Subjects } from './subjects.ts';

/** The dead letters of a cluster, their limits, and which are managed by this replica. */
export interface ClusterDeadLettersOptions {
  readonly link: ClusterLink;
  readonly subjects: Subjects;
  /** Maximum size of all dead letters; never more than the stream has room for. Bytes; default 64 MiB. */
  readonly bytesMax?: number | undefined;
  /** Retention of a dead letter. Milliseconds; default 30 days. */
  readonly keepMs?: number | undefined;
  /** Returns true while this replica owns a sink: only the owner shows and replays its dead letters. Default: all. */
  readonly isOwner?: ((sink: string) => boolean) | undefined;
  /** Returns true if no replica serves a sink, which may be gone, and this one drops its expired dead letters. Default: none. */
  readonly ownsOrphans?: ((sink: string) => boolean) | undefined;
  /** Called when dead letters are dropped without a request: too many, too old, too large, or damaged. Default: not reported. */
  readonly onDropped?: ((sink: string, deadLetters: number) => void) | undefined;
}

/** Interval of reading changes by other replicas and commands. Milliseconds. */
const LOOK_MS = 5000;
/** Attempts to store dead letters in a full stream. */
const FULL_ATTEMPTS_MAX = 3;

/**
 * Dead letters shared by the replicas of a cluster, in a stream of their own. A dead letter is the last message of its
 * subject, which names sink and record. Its number is that of its first message. A removed one leaves an empty message for a
 * minute, so that other replicas see the removal. See decision 0035.
 */
export class ClusterDeadLetters implements DeadLetters {
  readonly #options: ClusterDeadLettersOptions;
  readonly #feed: DeadLetterFeed;
  readonly #writer: DeadLetterWriter;
  #roomBytes = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: ClusterDeadLettersOptions) {
    this.#options = options;
    this.#feed = new DeadLetterFeed(options.link, options.subjects);
    this.#writer = new DeadLetterWriter(options.link, options.subjects, () => this.#feed.index);
  }

  setRoom({ bytesMax }: Pick<ClusterStreamState, 'bytesMax'>): void {
    this.#roomBytes = bytesMax / DEAD_LETTERS_ROOM_FACTOR;
  }

  look(): Promise<void> {
    return this.#feed.catchUp();
  }

  /** Reads changes of other processes periodically, until closed. */
  follow(): void {
    if (this.#isClosed) return;
    this.#timer = this.#options.link.clock.setTimer(LOOK_MS, () => {
      const look = this.#options.link.connection ? this.#feed.catchUp() : Promise.resolve();
      // Without the engine, the index stays as it is.
      void look.catch(() => {}).finally(() => this.follow());
    });
  }

  async add(sink: string, refused: readonly RefusedRecord[], taken: readonly number[] = []): Promise<void> {
    if (refused.length + taken.length === 0) return;
    this.#checkOwner(sink);
    await this.#feed.whenRead();
    const gone = taken.flatMap((id) => this.#index.get(id) ?? []);
    const atMs = Math.floor(this.#options.link.clock.now());
    await this.#store(refused.map((one) => ({ ...toDeadLetterFields(one), sink, atMs, isReplayed: false })));
    await this.#writer.remove(gone);
    await this.#keepBound();
  }

  async addMoved(deadLetters: readonly StoredDeadLetter[]): Promise<number> {
    await this.#feed.whenRead();
    const missing = deadLetters
      .filter(({ sink, uid }) => !this.#index.has(sink, uid))
      .map((deadLetter) => ({ ...deadLetter, bytes: measureDeadLetter(deadLetter) }));
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

  async #store(deadLetters: readonly UnnumberedDeadLetter[]): Promise<void> {
    const { link, subjects } = this.#options;
    await link.ready();
    const bytesMax = readPayloadMax(link);
    const messages = deadLetters.flatMap((deadLetter) => {
      const payload = packBytes(Buffer.from(renderDeadLetter(deadLetter)));
      const { sink, uid, bytes, atMs, isReplayed } = deadLetter;
      if (payload.length > bytesMax) {
        this.#options.onDropped?.(sink, 1);
        return [];
      }
      const about = { sink, uid, bytes, atMs, isReplayed };
      const words = DEAD_LETTER_HEADERS.write(about);
      return [{ about, message: { subject: subjects.deadLetterOf(sink, uid), payload, words } }];
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

  async readReplayed(sink: string, { recordsMax, bytesMax }: DeadLetterBounds): Promise<readonly StoredDeadLetter[]> {
    // The owner of the sink replays its dead letters.
    if (!this.#isOwner(sink)) return [];
    await this.#feed.whenRead();
    const marked = this.#index.list(sink).filter(({ isReplayed }) => isReplayed);
    const found: StoredDeadLetter[] = [];
    let bytes = 0;
    for (let from = 0; from < marked.length; from += AT_ONCE) {
      for (const deadLetter of await this.#readAll(marked.slice(from, from + AT_ONCE))) {
        bytes += Buffer.byteLength(deadLetter.line);
        if (found.length >= recordsMax || (found.length > 0 && bytes > bytesMax)) return found;
        found.push(deadLetter);
      }
    }
    return found;
  }

  async list({ sink, limit, order = 'newest', afterId }: ListOptions): Promise<readonly StoredDeadLetter[]> {
    await this.#feed.catchUp();
    const deadLetters = this.#index.list(sink).filter((one) => this.#isOwner(one.sink));
    if (order === 'newest') deadLetters.reverse();
    const isBehind = ({ id }: IndexedDeadLetter) =>
      afterId === undefined || (order === 'newest' ? id < afterId : id > afterId);
    return await this.#readAll(
      deadLetters.filter(isBehind).slice(0, Math.min(Math.max(0, limit), DEAD_LETTER_LIST_MAX)),
    );
  }

  async get(id: number): Promise<StoredDeadLetter | undefined> {
    await this.#feed.catchUp();
    const known = this.#index.get(id);
    return known && (await this.#readAll([known]))[0];
  }

  async markReplay(selection: DeadLetterSelection): Promise<number> {
    const selected = await this.#select(selection);
    const { link, subjects } = this.#options;
    let marked = 0;
    for (let from = 0; from < selected.length; from += AT_ONCE) {
      const part = selected.slice(from, from + AT_ONCE);
      const fresh = part.filter(({ isReplayed }) => !isReplayed);
      marked += part.length - fresh.length;
      const stored = await Promise.all(
        fresh.map(({ sink, uid }) => link.readLast(subjects.deadLetterStream, subjects.deadLetterOf(sink, uid))),
      );
      const known = fresh.flatMap((deadLetter, index) => {
        const message = stored[index];
        return message?.seq === deadLetter.seq ? [{ deadLetter: { ...deadLetter, isReplayed: true }, message }] : [];
      });
      const answers = await this.#writer.publishAll(
        known.map(({ deadLetter, message: { subject, payload } }) => {
          return { subject, payload, words: [...expectLast(deadLetter), ...DEAD_LETTER_HEADERS.write(deadLetter)] };
        }),
      );
      for (const [index, answer] of answers.entries()) {
        const deadLetter = known[index]?.deadLetter;
        if (deadLetter && answer.kind === 'stored') {
          this.#index.set({ ...deadLetter, seq: answer.seq });
          marked++;
        } else if (answer.kind !== 'refused' || !FENCE_CODES.includes(answer.code)) throw toFailure(answer);
      }
    }
    return marked;
  }

  async drop(selection: DeadLetterSelection): Promise<number> {
    const selected = await this.#select(selection);
    const removed = await this.#writer.remove(selected);
    return removed.length;
  }

  async expire(nowMs: number): Promise<void> {
    if (!this.#options.link.connection) return;
    await this.#feed.whenRead();
    const { keepMs = DEAD_LETTERS_KEEP_MS, ownsOrphans = () => false } = this.#options;
    const isOurs = (sink: string) => this.#isOwner(sink) || ownsOrphans(sink);
    await this.#dropUnasked(this.#index.list().filter(({ sink, atMs }) => atMs <= nowMs - keepMs && isOurs(sink)));
  }

  count(sink?: string): number {
    if (sink !== undefined) return this.counts().get(sink) ?? 0;
    return [...this.counts().values()].reduce((sum, deadLetters) => sum + deadLetters, 0);
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

  async #select({ sink, ids, olderThanMs }: DeadLetterSelection): Promise<readonly IndexedDeadLetter[]> {
    await this.#feed.catchUp();
    const nowMs = this.#options.link.clock.now();
    const wanted = ids && new Set(ids);
    return this.#index
      .list(sink)
      .filter(
        ({ id, atMs }) => (wanted?.has(id) ?? true) && (olderThanMs === undefined || atMs <= nowMs - olderThanMs),
      );
  }

  async #readAll(wanted: readonly IndexedDeadLetter[]): Promise<readonly StoredDeadLetter[]> {
    const { link, subjects } = this.#options;
    const deadLetters: StoredDeadLetter[] = [];
    const damaged: IndexedDeadLetter[] = [];
    for (let from = 0; from < wanted.length; from += AT_ONCE) {
      const part = wanted.slice(from, from + AT_ONCE);
      const stored = await Promise.all(
        part.map(({ sink, uid }) => link.readLast(subjects.deadLetterStream, subjects.deadLetterOf(sink, uid))),
      );
      for (const [index, known] of part.entries()) {
        const message = stored[index];
        if (!message || message.payload.length === 0) this.#index.remove(known.sink, known.uid, known.seq);
        else {
          const fields = readDeadLetter(message.payload);
          const { id, sink, uid, isReplayed } = known;
          if (fields) deadLetters.push({ ...fields, id, sink, uid, isReplayed });
          else damaged.push(known);
        }
      }
    }
    await this.#dropUnasked(damaged);
    return deadLetters;
  }

  async #keepBound(): Promise<void> {
    const { bytesMax = DEAD_LETTERS_BYTES_MAX } = this.#options;
    const excess = this.#index.bytes - Math.min(bytesMax, this.#roomBytes);
    if (excess > 0) await this.#dropUnasked(this.#index.findOldest(excess));
  }

  /** Purges dead letters when the stream is full: not even the marker of a removal has room. */
  async #makeRoom(bytes: number): Promise<void> {
    await this.#feed.catchUp();
    const leaving = this.#index.findOldest(bytes);
    await this.#writer.purge(leaving, (purged) => this.#reportDropped(purged));
  }

  async #dropUnasked(leaving: readonly IndexedDeadLetter[]): Promise<void> {
    await this.#writer.remove(leaving, (removed) => this.#reportDropped(removed));
  }

  #reportDropped(leaving: readonly IndexedDeadLetter[]): void {
    const dropped = new Map<string, number>();
    for (const { sink } of leaving) dropped.set(sink, (dropped.get(sink) ?? 0) + 1);
    for (const [sink, deadLetters] of dropped) this.#options.onDropped?.(sink, deadLetters);
  }
}
