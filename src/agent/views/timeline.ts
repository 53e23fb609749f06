import { renderErrorChain, Steps } from '../../base/index.ts';
import { type EmbeddedStore, type RecentBatch, type RecentPlace, StoreError } from '../../store/index.ts';
import {
  compareRecordPlaces,
  cutToPage,
  type LogLine,
  type LogLineGap,
  parseRecordPlace,
  type RecordPage,
  type RecordPlace,
  type RecordQuery,
  renderRecordPlace,
} from '../../web/index.ts';
import { createRecordMatcher, createTextFilter } from './record-filter.ts';
import { parseRecord, readTimelineTime, toTimelineMs, toTimelineTime } from './record-times.ts';

/**
 * Unpacked records older than `before` that one query looks at, unless those on both sides of it were more; behind that, the next
 * query goes on. Bytes.
 */
const SEARCHED_BYTES_MAX = 64 * 1024 * 1024;
/** Records that wait for their turn in a query; half of them are more than a page. */
const HELD_MAX = 4000;
/** Longest names, tags and texts of details. Characters. */
const WORD_CHARS_MAX = 200;

interface Found extends RecordPlace {
  readonly message: string;
  readonly ms: number;
  readonly line: LogLine;
}

const BEYOND_ALL: RecordPlace = { time: '9999', router: '', seq: 0 };

/** Reads the last lines of routers from the store, in the order of their times. */
export class Timeline {
  readonly #store: Pick<EmbeddedStore, 'listRecent' | 'readRecent'>;

  readonly #isConfigured: (router: string) => boolean;
  readonly #searchedBytesMax: number;
  /** Shared by all reads: together they take no more of a turn than one. */
  readonly #steps = new Steps();

  /** `isConfigured`: tells the routers whose lines are shown; those of others stay in the store for some days. */
  constructor(
    store: Pick<EmbeddedStore, 'listRecent' | 'readRecent'>,
    isConfigured: (router: string) => boolean,
    searchedBytesMax = SEARCHED_BYTES_MAX,
  ) {
    this.#store = store;
    this.#isConfigured = isConfigured;
    this.#searchedBytesMax = searchedBytesMax;
  }

  /**
   * Returns the newest records that fit a query. Takes breaks; lines that are added or merged meanwhile may be left out.
   * A store that cannot be read is a fault of the page.
   */
  async read(query: RecordQuery): Promise<RecordPage> {
    try {
      return await this.#read(query);
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      return { records: [], next: null, searchedTo: null, fault: renderErrorChain(cause) };
    }
  }

  async #read(query: RecordQuery): Promise<RecordPage> {
    const before = parseRecordPlace(query.before ?? '') ?? BEYOND_ALL;
    const beforeMs = before === BEYOND_ALL ? Number.POSITIVE_INFINITY : toTimelineMs(before.time);
    const isWanted = createRecordMatcher(query);
    const mayBeWanted = createTextFilter(query);
    const held = new Map<string, Found>();
    /** Bytes of records older than `before`, and of records on both sides of it. */
    let [searched, passed] = [0, 0];
    /** Time of the oldest record that may still be on the page. */
    let least = '';
    let horizonMs: number | undefined;
    for (const batch of this.#batches(query.router)) {
      if (this.#steps.isDue) await this.#steps.next();
      if (batch.firstMs > beforeMs || !this.#isConfigured(batch.router)) continue;
      // Batches with records from both sides of `before` are all read, or the next query would stop at the same one again.
      const isBehind = batch.lastMs < beforeMs - 1;
      const isMuch = searched > Math.max(this.#searchedBytesMax, passed);
      if (isBehind && (isMuch || countBehind(held, batch.lastMs, query.limit) > query.limit)) {
        horizonMs = batch.lastMs;
        break;
      }
      const memory = this.#store.readRecent(batch);
      if (!memory) continue;
      if (isBehind) searched += memory.length;
      else passed += memory.length;
      const text = memory.toString();
      if (!mayBeWanted(text, batch.router)) continue;
      for (const { line, seq } of selectLines(text, batch.seq, least, before.time)) {
        if (!mayBeWanted(line, batch.router)) continue;
        const found = toFound(line, batch.router, seq);
        if (compareRecordPlaces(found, before) < 0 && isWanted(found.line))
          held.set(`${batch.router}\n${found.line.uid}`, found);
        if (held.size > HELD_MAX) least = keepNewest(held);
        if (this.#steps.isDue) await this.#steps.next();
      }
    }
    return toPage([...held.values()], query.limit, horizonMs);
  }

  *#batches(router: string | undefined): Generator<RecentBatch> {
    let place: RecentPlace = { lastMs: Number.MAX_SAFE_INTEGER, router: '', seq: 0 };
    for (;;) {
      const batches = this.#store.listRecent(place, router);
      yield* batches;
      const last = batches.at(-1);
      if (!last) return;
      place = last;
    }
  }
}

/** Converts a rendered record of a router to a line of a timeline. */
export function toLogLine(text: string, router: string): LogLine {
  const record = parseRecord(text);
  const event = word(record['event']);
  const isGap = event === 'log.gap' || event === 'log.gap_end';
  return {
    router,
    timestamp: word(record['timestamp']),
    observedTimestamp: word(record['observed_timestamp']),
    time: toTimelineTime(record),
    component: word(record['component']) ?? '',
    tag: word(record['tag']),
    severity: word(record['severity']),
    message: typeof record['message'] === 'string' ? record['message'] : '',
    uid: word(record['uid']) ?? '',
    event,
    gap: isGap ? toGap(record['details']) : null,
    before: null,
  };
}

function toGap(details: unknown): LogLineGap {
  const fields = typeof details === 'object' && details !== null ? (details as Record<string, unknown>) : {};
  const bytesMin = fields['bytes_min'];
  return {
    certainty: word(fields['certainty']),
    reason: word(fields['reason']),
    from: word(fields['time_from']),
    to: word(fields['time_to']),
    bytesMin: typeof bytesMin === 'number' ? bytesMin : null,
    gapUid: word(fields['gap_uid']),
  };
}

function word(value: unknown): string | null {
  return typeof value === 'string' ? value.slice(0, WORD_CHARS_MAX) : null;
}

function toFound(text: string, router: string, seq: number): Found {
  const line = toLogLine(text, router);
  return { time: line.time, ms: toTimelineMs(line.time), router, seq, message: line.message, line };
}

/** The lines of a text that may be between two times, with their numbers; one that does not begin with its time may be. */
function* selectLines(text: string, first: number, least: string, most: string) {
  for (let [start, seq] = [0, first]; start <= text.length; seq++) {
    const feed = text.indexOf('\n', start);
    const end = feed < 0 ? text.length : feed;
    const time = readTimelineTime(text, start);
    if (time === undefined || (time >= least && time <= most)) yield { line: text.slice(start, end), seq };
    start = end + 1;
  }
}

/** Counts the records behind a moment, before which nothing was looked at: they are final. Stops beyond `limit`. */
function countBehind(held: ReadonlyMap<string, Found>, ms: number, limit: number): number {
  if (held.size <= limit) return 0;
  let count = 0;
  for (const found of held.values()) if (found.ms > ms && ++count > limit) break;
  return count;
}

/** Drops the older half of the records: those that stay are more than a page. Returns the time of the oldest that stays. */
function keepNewest(held: Map<string, Found>): string {
  const sorted = [...held].toSorted(([, a], [, b]) => compareRecordPlaces(a, b));
  const half = sorted.length >> 1;
  for (const [key] of sorted.slice(0, half)) held.delete(key);
  return sorted[half]?.[1].time ?? '';
}

function toPage(held: readonly Found[], limit: number, horizonMs: number | undefined): RecordPage {
  const final = held.filter(({ ms }) => horizonMs === undefined || ms > horizonMs);
  final.sort((a, b) => compareRecordPlaces(b, a));
  const shown = cutToPage(final, limit);
  const records = shown.map((found) => ({ ...found.line, before: renderRecordPlace(found) }));
  const last = shown.at(-1);
  if (shown.length < final.length && last)
    return { records, next: renderRecordPlace(last), searchedTo: last.time, fault: null };
  if (horizonMs === undefined) return { records, next: null, searchedTo: null, fault: null };
  const time = `${new Date(horizonMs + 1).toISOString().slice(0, -1)}000000Z`;
  return { records, next: renderRecordPlace({ time, router: '', seq: 0 }), searchedTo: time, fault: null };
}
