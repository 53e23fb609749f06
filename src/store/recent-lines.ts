import { packBytes, packLines, unpackLines } from '../base/index.ts';
import { EVENTS_LOG, type LogCommit } from '../model/index.ts';
import type { SqliteFile } from './sqlite-file.ts';

/** Limit of the last lines kept for the pages, and the function that finds their times. */
export interface RecentLinesSettings {
  /** Compressed size of the kept lines of all routers; each may use the same share. 0: none are kept. Bytes. */
  readonly bytesMax: number;
  /** Returns the earliest and latest time of records that are separated by line feeds. */
  readonly spanOf: (bytes: Uint8Array) => TimeSpan;
}

/** Earliest and latest time. Wall time in milliseconds since the Unix epoch. */
export interface TimeSpan {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** The records of one commit of a log among the last lines of its router. */
export interface RecentBatch extends TimeSpan {
  readonly router: string;
  readonly seq: number;
  readonly component: string;
}

/** A place among all last lines, ordered by the latest record of each commit. */
export type RecentPlace = Pick<RecentBatch, 'router' | 'seq' | 'lastMs'>;

/** A commit with its packed records; `body` is absent without records. */
export type PackedCommit = LogCommit & { readonly body: Uint8Array | undefined };

export function packCommits(commits: readonly LogCommit[]): readonly PackedCommit[] {
  return commits.map((one) => ({ ...one, body: one.lines.length > 0 ? packLines(one.lines) : undefined }));
}

/** Overhead of a row: key, numbers and index entries. Bytes. */
const ROW_BYTES = 150;
/**
 * If a commit takes more than this part of its router's share, only its last lines are kept, because rows are dropped as a
 * whole.
 */
const WHOLE_PART = 1 / 4;
/** Uncompressed size of the lines kept of such a commit, as a part of the share; packed, it takes about a tenth. */
const LAST_PART = 3 / 4;
const ROWS_MAX = 256;
const LINE_FEED = 0x0a;

interface Holding {
  bytes: number;
  nextSeq: number;
}

/**
 * The last lines of each router, for the pages, whether or not the sinks have them: one row per commit of a log, whose body
 * is that of its batch in the spool. Every router has the same share, so that one that writes much drops only its own oldest
 * lines. Methods that write must be called inside a transaction; if it fails, call {@link forgetHoldings}.
 */
export class RecentLines {
  readonly #file: SqliteFile;
  readonly #options: RecentLinesSettings;
  readonly #holdings = new Map<string, Holding>();
  #isMeasured = false;
  #shareBytes: number;
  /** Routers whose rows exceed their share since routers were added. */
  #excessive: string[] = [];

  constructor(file: SqliteFile, options: RecentLinesSettings) {
    this.#file = file;
    this.#options = options;
    this.#shareBytes = options.bytesMax;
  }

  /** Drops the cached sizes, because a transaction that changed them has failed. */
  forgetHoldings(): void {
    this.#holdings.clear();
    this.#isMeasured = false;
  }

  /** Divides the space between the configured routers and those whose lines are still kept. */
  setRouters(configured: readonly string[]): void {
    const { bytesMax } = this.#options;
    if (!this.#isMeasured) this.#measure();
    const held = [...this.#holdings].filter(([, { bytes }]) => bytes > 0);
    if (bytesMax === 0) for (const [router] of held) this.remove(router);
    const routers = new Set([...configured, ...held.map(([router]) => router)]).size;
    this.#shareBytes = Math.floor(bytesMax / Math.max(1, routers));
    this.#excessive = held.filter(([, { bytes }]) => bytes > this.#shareBytes).map(([router]) => router);
  }

  /** Reads the whole table, which takes some tenths of a second when it is full. */
  #measure(): void {
    this.#holdings.clear();
    const rows = this.#file.all('SELECT router, sum(bytes) AS bytes, max(seq) + 1 AS next FROM recent GROUP BY router');
    for (const row of rows) {
      this.#holdings.set(String(row['router']), { bytes: Number(row['bytes']), nextSeq: Number(row['next']) });
    }
    this.#isMeasured = true;
  }

  /**
   * Adds the records of a commit, and drops the oldest of its router beyond its share. `batch`: the spool batch with the same
   * body.
   */
  append({ router, component, lines, body: packed }: PackedCommit, batch?: number): void {
    if (this.#options.bytesMax === 0 || !packed || component === EVENTS_LOG) return;
    const holding = this.#holdingOf(router);
    const bytes = lines.bytes ?? Buffer.from([...lines].join('\n'));
    const isWhole = packed.length + ROW_BYTES <= this.#shareBytes * WHOLE_PART;
    const kept = isWhole ? bytes : cutLast(bytes, this.#shareBytes * LAST_PART);
    const body = isWhole ? packed : packBytes(kept);
    const { firstMs, lastMs } = this.#options.spanOf(kept);
    const size = body.length + ROW_BYTES;
    const isInSpool = isWhole && batch !== undefined;
    this.#file.run(
      'INSERT INTO recent (router, seq, component, first_ms, last_ms, bytes, batch, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      router,
      holding.nextSeq++,
      component,
      firstMs,
      lastMs,
      size,
      isInSpool ? batch : null,
      isInSpool ? null : body,
    );
    holding.bytes += size;
    this.#trim(router, holding);
    // One per commit: many routers may exceed their share at once.
    const excessive = this.#excessive.pop();
    if (excessive !== undefined) this.#trim(excessive, this.#holdingOf(excessive));
  }

  remove(router: string): void {
    this.#drop(router, Number.MAX_SAFE_INTEGER);
    this.#holdings.delete(router);
  }

  /** Returns the next rows after `place`, latest records first. Empty at the end. */
  list(place: RecentPlace, router: string | undefined): readonly RecentBatch[] {
    const { lastMs, router: after, seq } = place;
    const sql = (condition: string) =>
      `SELECT router, seq, component, first_ms, last_ms FROM recent WHERE ${condition} ORDER BY last_ms DESC, router DESC, seq DESC LIMIT ${ROWS_MAX}`;
    const rows =
      router === undefined
        ? this.#file.all(sql('(last_ms, router, seq) < (?, ?, ?)'), lastMs, after, seq)
        : this.#file.all(sql('router = ? AND (last_ms, seq) < (?, ?)'), router, lastMs, seq);
    return rows.map((row) => ({
      router: String(row['router']),
      seq: Number(row['seq']),
      component: String(row['component']),
      firstMs: Number(row['first_ms']),
      lastMs: Number(row['last_ms']),
    }));
  }

  /** Returns the records of a row in log order; `undefined` if it was dropped or is damaged. */
  read(router: string, seq: number): Buffer | undefined {
    const row = this.#file.get(
      `SELECT coalesce(recent.body, spool.body) AS body FROM recent LEFT JOIN spool ON spool.batch = recent.batch
       WHERE router = ? AND seq = ?`,
      router,
      seq,
    );
    const body = row?.['body'];
    return body instanceof Uint8Array ? unpack(body) : undefined;
  }

  #holdingOf(router: string): Holding {
    const known = this.#holdings.get(router);
    if (known) return known;
    const row = this.#file.get(
      'SELECT coalesce(sum(bytes), 0) AS bytes, coalesce(max(seq) + 1, 0) AS next FROM recent WHERE router = ?',
      router,
    );
    const holding = { bytes: Number(row?.['bytes']), nextSeq: Number(row?.['next']) };
    this.#holdings.set(router, holding);
    return holding;
  }

  #trim(router: string, holding: Holding): void {
    while (holding.bytes > this.#shareBytes) {
      const rows = this.#file.all(
        'SELECT seq, bytes FROM recent WHERE router = ? ORDER BY seq LIMIT ?',
        router,
        ROWS_MAX,
      );
      let last = -1;
      for (const row of rows) {
        if (holding.bytes <= this.#shareBytes) break;
        holding.bytes -= Number(row['bytes']);
        last = Number(row['seq']);
      }
      if (last < 0) return;
      this.#drop(router, last);
    }
  }

  /** Drops the rows of a router up to `lastSeq`, and those of their bodies that no sink may need any more. */
  #drop(router: string, lastSeq: number): void {
    this.#file.run(
      `DELETE FROM spool WHERE batch IN (SELECT batch FROM recent WHERE router = ? AND seq <= ?)
       AND NOT EXISTS (SELECT 1 FROM batch WHERE id = spool.batch)`,
      router,
      lastSeq,
    );
    this.#file.run('DELETE FROM recent WHERE router = ? AND seq <= ?', router, lastSeq);
  }
}

/** Returns the last lines that take up to `bytesMax` together; at least one. */
function cutLast(bytes: Buffer, bytesMax: number): Buffer {
  let start = bytes.length + 1;
  while (start > 0) {
    const feed = start < 2 ? -1 : bytes.lastIndexOf(LINE_FEED, start - 2);
    if (start <= bytes.length && bytes.length - (feed + 1) > bytesMax) break;
    start = feed + 1;
  }
  return bytes.subarray(start);
}

function unpack(body: Uint8Array): Buffer | undefined {
  try {
    return unpackLines(body).memory;
  } catch {
    return undefined;
  }
}
