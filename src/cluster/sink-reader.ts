import {
  advancePlace,
  beginPass,
  collectSlice,
  isBefore,
  type LogChoice,
  type SinkPlace,
  type SinkStart,
  type Slice,
  type SliceBounds,
  type SpoolCursor,
  StoreError,
} from '../model/index.ts';
import { type CommitQueue, type Owned, STEP_HEADER, toFenced } from './commit-queue.ts';
import { parsePlace, renderPlace } from './cursors.ts';
import { type ClusterLink, toAway } from './link.ts';
import { RecordFeed, type RecordMessage } from './record-feed.ts';
import { readStreamState } from './stream.ts';
import type { Subjects } from './subjects.ts';

interface SinkReaderOptions {
  readonly link: ClusterLink;
  readonly subjects: Subjects;
  readonly queue: CommitQueue;
  /** Wall time in milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly onRecords: (sink: string) => void;
  readonly onSilent?: ((sink: string, cause: unknown) => void) | undefined;
  /** Called when unreadable records in the stream are skipped: the sink does not get them. */
  readonly onDamaged?: ((damaged: DamagedRecords) => void) | undefined;
}

/** Unreadable records in the stream. */
export interface DamagedRecords {
  readonly router: string;
  readonly component: string;
  readonly records: number;
  readonly cause: unknown;
}

type KnownMessage = Pick<RecordMessage, 'seq' | 'step'>;

/** Messages of unwanted logs that one slice skips at most. */
const PASSED_MAX = 1000;
/** Unreadable messages that one slice skips at most: detecting one takes a few milliseconds. */
const DAMAGED_MAX = 16;

/**
 * Serves one sink from the stream, at one replica at a time: reads ahead from its cursor, which is a message that only its
 * last reader can replace.
 */
class SinkReader {
  readonly #options: SinkReaderOptions;
  readonly #start: SinkStart;
  readonly #subject: string;
  #place: SinkPlace | undefined;
  #feed: RecordFeed | undefined;
  #lastSeq = 0;
  #isClosed = false;
  /** The last message that an earlier reader returned; `undefined` if there was none. */
  readonly #before: KnownMessage | undefined;
  /** True if the stream has lost it: then its number, and earlier ones, may now belong to other messages. */
  #hasGoneBack = false;
  #lastReturned: KnownMessage | undefined;
  readonly #ends = new WeakSet<SpoolCursor>();

  /** `before`: the last message that an earlier reader of the sink returned. */
  constructor(options: SinkReaderOptions, start: SinkStart, before?: KnownMessage) {
    this.#options = options;
    this.#start = start;
    this.#before = before;
    this.#subject = options.subjects.of({ kind: 'cur', sink: start.name });
  }

  async open(): Promise<void> {
    const { link, subjects, queue } = this.#options;
    // Otherwise a pending cursor of the previous reader would be missing, and its records returned again.
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
      // Restarting would skip records, or deliver all of them again.
      throw new StoreError('broken', `The stream has a place of the sink ${this.#start.name} that cannot be read`, {
        disposition: 'operator',
        hint: `A later version may have written it: upgrade this replica. Or purge ${this.#subject} to start over`,
      });
    }
    queue.recordSequence(this.#subject, stored?.seq ?? 0);
    this.#lastSeq = readStreamState(info).lastSeq;
    // Also if it was purged: then another replica has moved the cursor beyond it.
    this.#hasGoneBack = this.#before !== undefined && same?.headers.get(STEP_HEADER) !== this.#before.step;
    if (place) this.#place = place;
    else await this.#begin();
    if (!this.#isClosed) this.#restart();
  }

  /** Stops reading. A pending cursor is still stored: the sink has accepted what precedes it. */
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

  get lastReturned(): KnownMessage | undefined {
    return this.#lastReturned;
  }

  get cursor(): SpoolCursor | undefined {
    return this.#place?.cursor;
  }

  async #begin(): Promise<void> {
    const batch = this.#start.start === 'newest' ? this.#lastSeq + 1 : 0;
    await this.#store({ cursor: { batch, index: 0 }, taken: [] });
  }

  async #store(place: SinkPlace): Promise<void> {
    // Another reader may have read the cursor, and continues from there.
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

  /** Returns the next records read ahead; `undefined` if there are none. Throws while the engine is reachable and returns none. */
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
        linesOf: (message) => (damaged < DAMAGED_MAX ? message : undefined),
        onMissing: (message, records) => {
          damaged++;
          this.#reportDamaged(message, records);
        },
      },
      place,
      bounds,
    );
    if (slice) this.#recordReturned(slice.next, feed.held);
    return slice;
  }

  #recordReturned(end: SpoolCursor, held: readonly RecordMessage[]): void {
    this.#ends.add(end);
    const last = held.findLast(({ seq }) => isBefore({ batch: seq, index: 0 }, end));
    if (last) this.#lastReturned = { seq: last.seq, step: last.step };
  }

  #reportDamaged(message: RecordMessage, records: number): void {
    if (message.isReported) return;
    message.isReported = true;
    const { router, component, fault } = message;
    this.#options.onDamaged?.({ router, component, records, cause: fault });
  }

  /**
   * Moves the cursor, or the redelivery. Rejects with code `fenced` if another replica has moved it, or if `next` was read
   * from messages that the stream has lost: new messages have their numbers.
   */
  async acknowledge(next: SpoolCursor): Promise<void> {
    const place = this.#place;
    if (this.#hasGoneBack && !this.#ends.has(next)) throw toFenced(this.#owned);
    // Any value up to its own cursor is valid: a redelivery ends there even if the stream has nothing left of it.
    const seen = Math.max(this.#lastSeq, this.seenSeq) + 1;
    if (next.batch > Math.max(seen, place?.cursor.batch ?? 0)) throw toFenced(this.#owned);
    const { replayMs = 0 } = this.#start;
    const moved = place && advancePlace(place, next, { nowMs: this.#options.now(), replayMs });
    if (!moved) return;
    await this.#store(moved);
    this.#feed?.dropBefore((moved.pass ?? moved.cursor).batch);
  }

  async repeat(endedMs: number | undefined): Promise<void> {
    const place = this.#place;
    const moved = place && beginPass(place, endedMs, this.#start.replayMs ?? 0);
    if (!moved) return;
    await this.#store(moved);
    this.#restart();
  }

  /**
   * Returns the number of wanted records after the cursor. Exact for those read ahead; the remaining messages, whose number
   * the stream reports, are assumed to be alike.
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

  /** Returns the commit time of the oldest wanted record after the cursor, among those read ahead. */
  oldestWaitingMs(isWanted: LogChoice): number | undefined {
    const [place, feed] = [this.#place, this.#feed];
    if (!place || !feed) return undefined;
    return feed.held.find(({ seq, router, component }) => seq >= place.cursor.batch && isWanted(router, component))
      ?.committedMs;
  }
}

interface SinkReadersOptions extends SinkReaderOptions {
  readonly sinks: () => readonly SinkStart[];
  readonly serves: (sink: string) => boolean;
  /** Returns a value that changes whenever others may have served a sink. */
  readonly termOf: (sink: string) => number;
  /** Returns true once the streams are checked. */
  readonly isReady: () => boolean;
  readonly onServing?: ((sink: string) => void) | undefined;
}

interface Entry {
  readonly connection: object | undefined;
  readonly term: number;
  readonly reader: SinkReader;
  readonly opening: Promise<void>;
  isOpen: boolean;
}

/** Wait before a cursor that could not be read is read again. Milliseconds. */
const AGAIN_MS = 2000;

/**
 * The readers of the sinks that this replica serves. Each is opened at its first use, and closed when another replica owns
 * the sink.
 */
export class SinkReaders {
  readonly #options: SinkReadersOptions;
  readonly #readers = new Map<string, Entry>();
  /** The last message returned for each sink by a closed reader. */
  readonly #returned = new Map<string, KnownMessage>();
  readonly #closing = new AbortController();
  readonly #failing = new Set<string>();

  constructor(options: SinkReadersOptions) {
    this.#options = options;
  }

  /** Number of records of the sink that lags most. */
  get waiting(): number {
    return Math.max(0, ...[...this.#readers.values()].map(({ reader }) => reader.countWaiting(() => true)));
  }

  /** The highest number of a message that was read from the stream for a sink. */
  get seenSeq(): number {
    return Math.max(0, ...[...this.#readers.values()].map(({ reader }) => reader.seenSeq));
  }

  /** Returns the reader of a sink that this replica serves, once it has its cursor. */
  find(sink: string): SinkReader | undefined {
    const known = this.#readers.get(sink);
    const { connection } = this.#options.link;
    const isServed = this.#options.serves(sink);
    const term = this.#options.termOf(sink);
    // A server that lost its last commits in a power cut reuses their numbers; and another replica may have moved the cursor
    // while this one did not read it.
    const isOutdated = connection !== undefined && (known?.connection !== connection || known.term !== term);
    if (known && (!isServed || isOutdated)) void this.close(sink);
    else if (known) return known.isOpen ? known.reader : undefined;
    if (!isServed) return undefined;
    const start = this.#options.sinks().find(({ name }) => name === sink);
    if (!start || !this.#options.isReady()) return undefined;
    const reader = new SinkReader(this.#options, start, this.#returned.get(sink));
    this.#readers.set(sink, { connection, term, reader, opening: this.#open(sink, reader), isOpen: false });
    return undefined;
  }

  /** Resolves with the reader of a sink. Rejects if this replica does not serve it, or cannot read its cursor. */
  async whenOpen(sink: string): Promise<SinkReader> {
    await this.#options.link.ready();
    if (!this.find(sink)) await this.#readers.get(sink)?.opening;
    const reader = this.find(sink);
    if (reader) return reader;
    if (!this.#options.serves(sink)) throw toFenced({ kind: 'sink', name: sink });
    throw toAway(this.#options.link.fault);
  }

  /** Closes the reader of a sink; the next one reads the cursor again. */
  async close(sink: string): Promise<void> {
    const known = this.#readers.get(sink);
    this.#readers.delete(sink);
    if (known?.reader.lastReturned) this.#returned.set(sink, known.reader.lastReturned);
    await known?.reader.close();
  }

  /** Closes all readers; new ones read the cursors again. */
  async closeAll(): Promise<void> {
    await Promise.all([...this.#readers.keys()].map((sink) => this.close(sink)));
  }

  /** Closes all readers permanently. */
  async end(): Promise<void> {
    this.#closing.abort();
    await this.closeAll();
  }

  /** Opens a reader, and wakes its sink; after a while if its cursor could not be read. */
  async #open(sink: string, reader: SinkReader): Promise<void> {
    const { onRecords, onServing } = this.#options;
    try {
      await reader.open();
      const entry = this.#readers.get(sink);
      if (entry?.reader === reader) {
        entry.isOpen = true;
        this.#failing.delete(sink);
        onServing?.(sink);
      }
      onRecords(sink);
    } catch (cause) {
      this.#reportFailure(sink, cause);
      void this.#reopenLater(sink, reader);
    }
  }

  /** Not reported without a connection, whose failure the link reports, nor for the sink of another replica. */
  #reportFailure(sink: string, cause: unknown): void {
    const isFenced = cause instanceof StoreError && cause.code === 'fenced';
    const { link, onSilent } = this.#options;
    if (isFenced || !link.connection || this.#closing.signal.aborted || this.#failing.has(sink)) return;
    this.#failing.add(sink);
    onSilent?.(sink, cause);
  }

  async #reopenLater(sink: string, reader: SinkReader): Promise<void> {
    const { signal } = this.#closing;
    if (this.#readers.get(sink)?.reader === reader) this.#readers.delete(sink);
    await reader.close();
    await this.#options.link.clock.sleep(AGAIN_MS, signal).catch(() => {});
    if (!signal.aborted) this.#options.onRecords(sink);
  }
}
