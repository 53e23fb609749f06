import type { Slice, SliceBounds } from '../../model/index.ts';
import { collectSlice } from '../collect-slice.ts';
import type { LogChoice, SinkStart, SpoolCursor } from '../contracts.ts';
import { StoreError } from '../errors.ts';
import { advancePlace, beginPass, isBefore, type SinkPlace } from '../sink-place.ts';
import { type CommitQueue, type Owned, STEP_HEADER, toFenced } from './commit-queue.ts';
import { parsePlace, renderPlace } from './cursor.ts';
import type { ClusterLink } from './link.ts';
import { RecordFeed, type RecordMessage } from './record-feed.ts';
import { readStreamState } from './stream.ts';
import type { Subjects } from './subjects.ts';

/** Dependencies shared by the readers of all sinks. */
export interface SinkReaderOptions {
  /** Connection to the engine. */
  readonly link: ClusterLink;
  /** Subjects of the cluster. */
  readonly subjects: Subjects;
  /** The queue that writes cursors. */
  readonly queue: CommitQueue;
  /** Returns the wall time in milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Called when there may be more for a sink than at its last reading. */
  readonly onRecords: (sink: string) => void;
  /** Called when the records for a sink do not arrive any more, and are read anew from where they stopped. */
  readonly onSilent?: ((sink: string, cause: unknown) => void) | undefined;
  /** Called when records in the stream cannot be read, which the sink does not get. */
  readonly onDamaged?: ((damaged: DamagedRecords) => void) | undefined;
}

/** Records that stand in the stream and cannot be read. */
export interface DamagedRecords {
  readonly router: string;
  readonly component: string;
  readonly records: number;
  readonly cause: unknown;
}

/** A message of the stream, as it was when it was read. */
export type KnownMessage = Pick<RecordMessage, 'seq' | 'step'>;

/** Messages of unwanted logs that one slice passes over at most. */
const PASSED_MAX = 1000;
/** Messages that cannot be read, as far as one slice passes over them: to find that out takes a few milliseconds each. */
const DAMAGED_MAX = 16;

/**
 * Serves one sink from the stream, at one replica at a time: reads ahead from its cursor, which is a message that only its
 * last reader can replace.
 */
export class SinkReader {
  readonly #options: SinkReaderOptions;
  readonly #start: SinkStart;
  readonly #subject: string;
  #place: SinkPlace | undefined;
  #feed: RecordFeed | undefined;
  /** The last message of the stream when the cursor was read. */
  #lastSeq = 0;
  #isClosed = false;
  /** The last message that an earlier reader gave out; `undefined` if there was none. */
  readonly #before: KnownMessage | undefined;
  /** True if the stream has lost it: then its number, and those of what came before it, may be other messages' by now. */
  #hasGoneBack = false;
  #lastGiven: KnownMessage | undefined;
  /** Ends of the slices that were read here. */
  readonly #ends = new WeakSet<SpoolCursor>();

  /** `before`: the last message that an earlier reader of the sink gave out. */
  constructor(options: SinkReaderOptions, start: SinkStart, before?: KnownMessage) {
    this.#options = options;
    this.#start = start;
    this.#before = before;
    this.#subject = options.subjects.of({ kind: 'cur', sink: start.name });
  }

  /** Reads the cursor from the leader, and begins to read the records behind it. */
  async open(): Promise<void> {
    const { link, subjects, queue } = this.#options;
    // What the reader before this one is about to store would be missing, and given out again.
    await queue.settle(this.#owned);
    const [stored, info, same] = await Promise.all([
      link.readLast(subjects.stream, this.#subject),
      link.ask(`STREAM.INFO.${subjects.stream}`),
      this.#before && link.readAt(subjects.stream, this.#before.seq),
    ]);
    // The reader that followed this one may have moved it meanwhile.
    if (this.#isClosed) return;
    const place = stored && parsePlace(stored.payload.toString());
    if (stored && !place) {
      // To begin anew would pass over records, or deliver all of them again.
      throw new StoreError('broken', `The stream has a place of the sink ${this.#start.name} that cannot be read`, {
        disposition: 'operator',
        hint: `A later version may have written it: upgrade this replica. Or purge ${this.#subject} to begin anew`,
      });
    }
    queue.note(this.#subject, stored?.seq ?? 0);
    this.#lastSeq = readStreamState(info).lastSeq;
    // Also if it was purged: then another replica has moved the cursor beyond it.
    this.#hasGoneBack = this.#before !== undefined && same?.headers.get(STEP_HEADER) !== this.#before.step;
    if (place) this.#place = place;
    else await this.#begin();
    if (!this.#isClosed) this.#restart();
  }

  /** Ends the reading. A cursor that waits to be stored is stored all the same: the sink has taken what lies before it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#feed?.close();
  }

  get #owned(): Owned {
    return { kind: 'sink', name: this.#start.name };
  }

  /** Number of the last message that was read from the stream; 0 before the first. */
  get seenSeq(): number {
    return this.#feed?.seenSeq ?? 0;
  }

  /** The last message that was given out here; `undefined` if there was none. */
  get lastGiven(): KnownMessage | undefined {
    return this.#lastGiven;
  }

  /** The first record that the sink has yet to take. */
  get cursor(): SpoolCursor | undefined {
    return this.#place?.cursor;
  }

  /** A sink without a cursor begins at the oldest record, or behind the newest. */
  async #begin(): Promise<void> {
    const batch = this.#start.start === 'newest' ? this.#lastSeq + 1 : 0;
    await this.#store({ cursor: { batch, index: 0 }, taken: [] });
  }

  async #store(place: SinkPlace): Promise<void> {
    // Another reader may have read where the sink stands, and goes on from there.
    if (this.#isClosed) throw toFenced(this.#owned);
    const payload = Buffer.from(renderPlace(place));
    await this.#options.queue.commit({ owned: this.#owned, added: [], fenced: [{ subject: this.#subject, payload }] });
    this.#place = place;
  }

  #restart(): void {
    const { link, subjects, onRecords, onSilent } = this.#options;
    const { name } = this.#start;
    const place = this.#place?.pass ?? this.#place?.cursor;
    void this.#feed?.close();
    this.#feed = new RecordFeed(link, subjects, place?.batch ?? 0, {
      onRecords: () => onRecords(name),
      onSilent: (cause) => onSilent?.(name, cause),
    });
  }

  /** Returns the next records that are here; `undefined` if there are none. Throws while the engine is there and gives none out. */
  readSlice(bounds: SliceBounds): Slice<SpoolCursor> | undefined {
    const [place, feed] = [this.#place, this.#feed];
    if (!place || !feed) return undefined;
    if (feed.fault && feed.held.length === 0) throw feed.fault;
    let damaged = 0;
    const slice = collectSlice(
      {
        batches: feed.held,
        isComplete: feed.isCaughtUp,
        skippedMax: PASSED_MAX,
        numberOf: ({ seq }) => seq,
        linesOf: (message) => (damaged < DAMAGED_MAX ? message : undefined),
        onMissing: (message, records) => {
          damaged++;
          this.#reportDamaged(message, records);
        },
      },
      place,
      bounds,
    );
    if (slice) this.#noteGiven(slice.next, feed.held);
    return slice;
  }

  #noteGiven(end: SpoolCursor, held: readonly RecordMessage[]): void {
    this.#ends.add(end);
    const last = held.findLast(({ seq }) => isBefore({ batch: seq, index: 0 }, end));
    if (last) this.#lastGiven = { seq: last.seq, step: last.step };
  }

  #reportDamaged(message: RecordMessage, records: number): void {
    if (message.isReported) return;
    message.isReported = true;
    const { router, component, fault } = message;
    this.#options.onDamaged?.({ router, component, records, cause: fault });
  }

  /**
   * Moves the cursor, or the redelivery. Rejects with code `fenced` if another replica has moved it, and if `next` was read from
   * messages that the stream has lost: those that come now have their numbers.
   */
  async acknowledge(next: SpoolCursor): Promise<void> {
    const place = this.#place;
    if (this.#hasGoneBack && !this.#ends.has(next)) throw toFenced(this.#owned);
    // Up to its own cursor anything may go: there a redelivery ends, of which nothing may be left in the stream.
    const seen = Math.max(this.#lastSeq, this.seenSeq) + 1;
    if (next.batch > Math.max(seen, place?.cursor.batch ?? 0)) throw toFenced(this.#owned);
    const { replayMs = 0 } = this.#start;
    const moved = place && advancePlace(place, next, { nowMs: this.#options.now(), replayMs });
    if (!moved) return;
    await this.#store(moved);
    this.#feed?.dropBefore((moved.pass ?? moved.cursor).batch);
  }

  /** Begins to deliver again what the sink took last. */
  async repeat(endedMs: number | undefined): Promise<void> {
    const place = this.#place;
    const moved = place && beginPass(place, endedMs, this.#start.replayMs ?? 0);
    if (!moved) return;
    await this.#store(moved);
    this.#restart();
  }

  /**
   * Number of records behind the cursor, of the logs that are wanted. Exact for those that are here; of the others the stream
   * tells the number of messages, which count as those that are here do.
   */
  countWaiting(isWanted: LogChoice): number {
    const [place, feed] = [this.#place, this.#feed];
    if (!place || !feed) return 0;
    let wanted = 0;
    let messages = 0;
    for (const { seq, router, component, records } of feed.held) {
      if (seq < place.cursor.batch) continue;
      messages++;
      if (isWanted(router, component)) wanted += records - (seq === place.cursor.batch ? place.cursor.index : 0);
    }
    return messages === 0 ? feed.behind : wanted + Math.round((wanted / messages) * feed.behind);
  }

  /** Commit time of the oldest wanted record behind the cursor, among those that are here. */
  oldestWaitingMs(isWanted: LogChoice): number | undefined {
    const [place, feed] = [this.#place, this.#feed];
    if (!place || !feed) return undefined;
    return feed.held.find(({ seq, router, component }) => seq >= place.cursor.batch && isWanted(router, component))
      ?.committedMs;
  }
}
