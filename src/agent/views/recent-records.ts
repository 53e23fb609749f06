import { forEachYielding, renderErrorChain, yieldToLoop } from '../../base/index.ts';
import { type RecordLines, StoreError } from '../../model/index.ts';
import type { EmbeddedStore, RecentBatch, RecentPlace } from '../../store/index.ts';
import {
  createMatcher,
  cutToPage,
  type LogLine,
  type LogLineGap,
  type RecordPage,
  type RecordQuery,
} from '../../web/index.ts';
import { parseRecord, readTimelineTime, toTimelineMs, toTimelineTime } from './record-times.ts';

/** Unpacked records that one query reads at most. Bytes. */
const SEARCHED_BYTES_MAX = 32 * 1024 * 1024;
/** Minimum cost of a commit: it has to be found and unpacked. Bytes. */
const COMMIT_BYTES_MIN = 4096;
const WORD_CHARS_MAX = 200;

interface RecordPlace {
  /** As written. */
  readonly time: string;
  /** Number of its commit among those of its router. */
  readonly seq: number;
  /** Number of records after it in that commit. */
  readonly back: number;
}

const PLACE = /^(\d{4}-[0-9T:.-]{5,30}Z)_(\d{1,15})_(\d{1,15})$/;
interface Found extends RecordPlace {
  readonly line: LogLine;
  readonly message: string;
}

const TOP: RecentPlace = { lastMs: Number.MAX_SAFE_INTEGER, router: '', seq: 0 };

/** Reads the last lines of routers from the store, ordered by time. */
export class RecentRecords {
  readonly #store: Pick<EmbeddedStore, 'listRecent' | 'readRecent'>;
  readonly #isConfigured: (router: string) => boolean;

  /** `isConfigured` selects the routers whose lines are shown; the store keeps lines of removed ones for some days. */
  constructor(store: Pick<EmbeddedStore, 'listRecent' | 'readRecent'>, isConfigured: (router: string) => boolean) {
    this.#store = store;
    this.#isConfigured = isConfigured;
  }

  /**
   * Returns the newest records that match a query. Yields to the event loop; lines added meanwhile may be left out. A
   * store that cannot be read is a fault of the page.
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
    const { router, components, limit } = query;
    const before = parseRecordPlace(query.before ?? '');
    const beforeMs = before ? toTimelineMs(before.time) : Number.POSITIVE_INFINITY;
    /** The newest first, with one more than a page has. */
    let found: readonly Found[] = [];
    let searched = 0;
    let horizonMs = Number.NEGATIVE_INFINITY;
    /** Batches that end before it contain older lines. */
    let newestMs: number | undefined;
    for await (const batch of this.#list(router)) {
      newestMs ??= Math.min(beforeMs, batch.lastMs);
      const least = found[limit]?.time;
      if (least !== undefined && batch.lastMs < toTimelineMs(least)) break;
      if (searched > SEARCHED_BYTES_MAX && batch.lastMs < newestMs) {
        horizonMs = batch.lastMs;
        break;
      }
      const isWanted = components.length === 0 || components.includes(batch.component);
      if (!isWanted || batch.firstMs > beforeMs || !this.#isConfigured(batch.router)) continue;
      const memory = this.#store.readRecent(batch);
      if (!memory) continue;
      searched += Math.max(memory.length, COMMIT_BYTES_MIN);
      const chosen = await this.#choose(memory.toString(), batch, query, least ?? '');
      found = keepNewest([...found, ...chosen], limit + 1);
    }
    return toPage(
      found.filter(({ time }) => toTimelineMs(time) > horizonMs),
      query,
      horizonMs,
    );
  }

  async *#list(router: string | undefined): AsyncGenerator<RecentBatch> {
    let place = TOP;
    for (;;) {
      const batches = this.#store.listRecent(place, router);
      yield* batches;
      const last = batches.at(-1);
      if (!last) return;
      place = last;
      await yieldToLoop();
    }
  }

  /** Skips records before `least`. */
  async #choose(
    text: string,
    { router, seq }: RecentBatch,
    query: RecordQuery,
    least: string,
  ): Promise<readonly Found[]> {
    const before = parseRecordPlace(query.before ?? '');
    const most = before?.time ?? '9';
    const isWanted = createRecordMatcher(query);
    let chosen: readonly Found[] = [];
    let waiting: Found[] = [];
    // The last lines are usually the newest, so hardly any other has to be parsed.
    await forEachYielding(findLinesBackwards(text), ({ start, end, back }) => {
      const time = readTimelineTime(text, start) ?? most;
      if (time >= least && time <= most) {
        const line = toLogLine(text.slice(start, end), router);
        const place = { time: line.time, seq, back };
        if ((!before || isOlder(place, before)) && isWanted(line)) {
          waiting.push({ ...place, line, message: line.message });
        }
      }
      if (waiting.length > query.limit) {
        chosen = keepNewest([...chosen, ...waiting], query.limit + 1);
        waiting = [];
        if (chosen.length > query.limit) least = chosen.at(-1)?.time ?? least;
      }
    });
    return [...chosen, ...waiting];
  }
}

/** From the last line backwards; `back` is the number of lines after it. */
function* findLinesBackwards(text: string): Generator<{ start: number; end: number; back: number }> {
  for (let [back, end] = [0, text.length]; end >= 0; back++) {
    const start = end === 0 ? 0 : text.lastIndexOf('\n', end - 1) + 1;
    yield { start, end, back };
    end = start - 1;
  }
}

function toLogLine(text: string, router: string): LogLine {
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

/** The newest first, without duplicates. */
function keepNewest(records: readonly Found[], max: number): readonly Found[] {
  const kept = new Map<string, Found>();
  const toRank = (one: Found, other: Found) => (one.line.router === other.line.router && isOlder(one, other) ? 1 : -1);
  const sorted = records.toSorted((one, other) => {
    if (one.time !== other.time) return one.time < other.time ? 1 : -1;
    return one.line.router === other.line.router ? toRank(one, other) : one.line.router < other.line.router ? 1 : -1;
  });
  for (const one of sorted) {
    const key = `${one.line.router}\n${one.line.uid}`;
    if (!kept.has(key)) kept.set(key, one);
    if (kept.size === max) break;
  }
  return [...kept.values()];
}

/** The page of a router includes the start of the next one. `horizonMs`: nothing up to there was searched. */
function toPage(found: readonly Found[], { router, limit }: RecordQuery, horizonMs: number): RecordPage {
  const shown = cutToPage(found, limit);
  const records = shown.map(({ line }) => line);
  const last = shown.at(-1);
  const end = { records, next: null, searchedTo: null, fault: null };
  if (router === undefined) return end;
  if (last && shown.length < found.length) return { ...end, next: renderRecordPlace(last), searchedTo: last.time };
  if (horizonMs === Number.NEGATIVE_INFINITY) return end;
  const time = `${new Date(horizonMs + 1).toISOString().slice(0, -1)}000000Z`;
  return { ...end, next: renderRecordPlace({ time, seq: 0, back: 0 }), searchedTo: time };
}

function createRecordMatcher({
  components,
  severities,
  search,
}: Pick<RecordQuery, 'components' | 'severities' | 'search'>): (line: LogLine) => boolean {
  const isMatch = createMatcher(search);
  return ({ router, component, severity, tag, message, gap }) =>
    (components.length === 0 || components.includes(component)) &&
    // Missing lines may have had any severity.
    (severities.length === 0 || gap !== null || severities.includes(severity ?? 'none')) &&
    isMatch([router, component, tag, message]);
}

const LINE_FEED = 0x0a;
/** Longest names in the origin of a record. Characters. */
const ORIGIN_CHARS_MAX = 80;
/** The last lines of a commit that are passed on; a commit of an archive has thousands. */
const COMMIT_LINES_MAX = 200;

/** Called with new matching lines, the oldest first, and the number of lines of the same commit that were skipped. */
type LineListener = (lines: readonly LogLine[], skipped: number) => void;

interface Follower {
  readonly query: RecordQuery;
  readonly isWanted: (line: LogLine) => boolean;
  readonly listener: LineListener;
}

/** Passes stored lines on to followers of the logs. Costs nothing without followers. */
export class LineFeed {
  readonly #followers = new Set<Follower>();

  /** Calls `listener` for new lines that match a query; returns the function that ends it. */
  follow(query: RecordQuery, listener: LineListener): () => void {
    const follower = { query, isWanted: createRecordMatcher(query), listener };
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /**
   * Reads records that are about to be stored for a router, if it has followers; returns the function that passes them
   * on after the commit. Their memory is valid during this call only.
   */
  prepare(router: string, records: RecordLines): () => void {
    const followers = [...this.#followers].filter(({ query }) => query.router === undefined || query.router === router);
    if (followers.length === 0 || records.length === 0) return () => {};
    const lines = readLastLines(records, COMMIT_LINES_MAX).map((text) => toLogLine(text, router));
    const skipped = records.length - lines.length;
    return () => {
      for (const follower of followers) {
        const wanted = lines.filter(follower.isWanted);
        if (this.#followers.has(follower) && wanted.length + skipped > 0) follower.listener(wanted, skipped);
      }
    };
  }
}

/** A commit may have thousands of lines, so the others are not decoded. */
function readLastLines(records: RecordLines, max: number): readonly string[] {
  const { bytes } = records;
  if (!bytes) return [...records].slice(-max);
  let start = bytes.length;
  for (let count = 0; count < max && start > 0; count++) start = bytes.lastIndexOf(LINE_FEED, start - 1);
  return Buffer.from(bytes.subarray(start + 1))
    .toString()
    .split('\n');
}

export interface RecordOrigin {
  readonly component: string;
  readonly file: string;
  readonly offset: number;
}

/** Returns the origin of the last of some rendered records; `undefined` when there are none. */
export function findLastOrigin(records: RecordLines): RecordOrigin | undefined {
  if (records.length === 0) return undefined;
  const record = parseRecord(readLastLines(records, 1)[0] ?? '');
  const cut = (key: string) => {
    const value = record[key];
    return typeof value === 'string' ? value.slice(0, ORIGIN_CHARS_MAX) : '';
  };
  return { component: cut('component'), file: cut('file'), offset: Number(record['offset'] ?? 0) };
}

/** Ordered by time, then by commit. */
function isOlder(one: RecordPlace, other: RecordPlace): boolean {
  if (one.time !== other.time) return one.time < other.time;
  return one.seq === other.seq ? one.back > other.back : one.seq < other.seq;
}

function renderRecordPlace({ time, seq, back }: RecordPlace): string {
  return `${time}_${seq}_${back}`;
}

function parseRecordPlace(before: string): RecordPlace | undefined {
  const [, time, seq, back] = PLACE.exec(before) ?? [];
  return time === undefined ? undefined : { time, seq: Number(seq), back: Number(back) };
}
