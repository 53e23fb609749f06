import { packBytes, unpackLines } from '../base/index.ts';
import type { RecentBatch, RecentLinesSettings, RecentPlace, TimeSpan } from './contracts.ts';
import type { SqliteFile } from './sqlite-file.ts';

/**
 * Lines are kept in pieces of such an unpacked size: a page reads few of them for its lines, and a router with a large share
 * has no more than some thousand. Bytes.
 */
const PIECE_BYTES = { min: 64 * 1024, max: 1024 * 1024, perShare: 1 / 256 };
/** Overhead of a row: its key, twice, and its numbers. Bytes. */
const ROW_BYTES = 100;
/** Small rows of a router that become one: a line alone hardly compresses. */
const MERGED_ROWS = 16;
/** A commit whose body takes up to this part of the share of its router is kept as it is. */
const WHOLE_PART = 1 / 4;
/** Rows looked at in one go. */
const ROWS_MAX = 256;
const LINE_FEED = 0x0a;

/** Records of one commit of one router. */
export interface RecentRecords {
  readonly records: number;
  /** The records, separated by line feeds. */
  readonly bytes: Uint8Array;
  /** The same, packed. */
  readonly body: Uint8Array;
}

/** A part of what a router wrote, as it becomes a row. */
interface Piece extends RecentRecords {
  /** Number of the records of the commit before it. */
  readonly before: number;
}

/** Bookkeeping of the rows of one router. */
interface Holding {
  bytes: number;
  /** Number of its next record. */
  nextSeq: number;
  /** The newest rows, as long as they are small: their numbers and their unpacked size. */
  tail: { readonly rows: readonly number[]; readonly bytes: number };
}

const NO_TAIL: Holding['tail'] = { rows: [], bytes: 0 };

/**
 * The last lines of each router, for the pages, whether or not the sinks have them. Every router may use the same share,
 * so that one that writes much drops its own oldest lines and nobody else's. Methods that write must be called inside a
 * transaction; if it fails, call {@link forgetHoldings}.
 */
export class RecentLines {
  readonly #file: SqliteFile;
  readonly #options: RecentLinesSettings;
  readonly #holdings = new Map<string, Holding>();
  /** True when {@link #holdings} has every router with rows. */
  #isMeasured = false;
  #shareBytes: number;
  /** Routers whose rows take more than their share since there are more routers. */
  #excessive: string[] = [];

  constructor(file: SqliteFile, options: RecentLinesSettings) {
    this.#file = file;
    this.#options = options;
    this.#shareBytes = options.bytesMax;
  }

  /** Forgets what was known about rows, because a transaction that changed them has failed. */
  forgetHoldings(): void {
    this.#holdings.clear();
    this.#isMeasured = false;
  }

  /** Divides the space between the configured routers and those whose lines are still kept. */
  setRouters(configured: readonly string[]): void {
    const { bytesMax } = this.#options;
    if (bytesMax === 0) {
      this.#file.run('DELETE FROM recent');
      this.#holdings.clear();
    }
    if (!this.#isMeasured) this.#measure();
    const held = [...this.#holdings].filter(([, { bytes }]) => bytes > 0);
    const routers = new Set([...configured, ...held.map(([router]) => router)]).size;
    this.#shareBytes = Math.floor(bytesMax / Math.max(1, routers));
    this.#excessive = held.filter(([, { bytes }]) => bytes > this.#shareBytes).map(([router]) => router);
  }

  /** Reads the whole table, which takes some tenths of a second when it is full. */
  #measure(): void {
    this.#holdings.clear();
    const rows = this.#file.all(
      'SELECT router, sum(bytes) AS bytes, max(seq + records) AS next FROM recent GROUP BY router',
    );
    for (const row of rows) {
      const holding = { bytes: Number(row['bytes']), nextSeq: Number(row['next']), tail: NO_TAIL };
      this.#holdings.set(String(row['router']), holding);
    }
    this.#isMeasured = true;
  }

  /** Adds the records that a router wrote in one commit, and drops its oldest ones beyond its share. */
  append(router: string, added: RecentRecords): void {
    if (this.#options.bytesMax === 0) return;
    const holding = this.#holdingOf(router);
    const pieces = this.#cut(added);
    for (const piece of pieces) this.#insert(router, holding, holding.nextSeq + piece.before, piece);
    const [first] = pieces;
    if (pieces.length === 1 && first && first.bytes.length < this.#pieceBytes / 2) {
      this.#extendTail(router, holding, holding.nextSeq + first.before, first.bytes.length);
    } else holding.tail = NO_TAIL;
    holding.nextSeq += added.records;
    this.#trim(router, holding);
    // One at a time: many routers may have come at once.
    const excessive = this.#excessive.pop();
    if (excessive !== undefined) this.#trim(excessive, this.#holdingOf(excessive));
  }

  /** Removes all lines of a router. */
  remove(router: string): void {
    this.#file.run('DELETE FROM recent WHERE router = ?', router);
    this.#holdings.delete(router);
  }

  /** Returns the next rows behind `place`, those with the latest records first. Empty at the end. */
  list(place: RecentPlace, router: string | undefined): readonly RecentBatch[] {
    const { lastMs, router: after, seq } = place;
    const sql = (condition: string) =>
      `SELECT router, seq, first_ms, last_ms FROM recent WHERE ${condition} ORDER BY last_ms DESC, router DESC, seq DESC LIMIT ${ROWS_MAX}`;
    const rows =
      router === undefined
        ? this.#file.all(sql('(last_ms, router, seq) < (?, ?, ?)'), lastMs, after, seq)
        : this.#file.all(sql('router = ? AND (last_ms, seq) < (?, ?)'), router, lastMs, seq);
    return rows.map((row) => ({
      router: String(row['router']),
      seq: Number(row['seq']),
      firstMs: Number(row['first_ms']),
      lastMs: Number(row['last_ms']),
    }));
  }

  /** Returns the records of a row in the order of their commits; `undefined` if it was dropped or is damaged. */
  read(router: string, seq: number): Buffer | undefined {
    const body = this.#file.get('SELECT body FROM recent WHERE router = ? AND seq = ?', router, seq)?.['body'];
    return body instanceof Uint8Array ? unpack(body) : undefined;
  }

  get #pieceBytes(): number {
    const { min, max, perShare } = PIECE_BYTES;
    return Math.min(Math.max(min, this.#shareBytes * perShare), max, this.#shareBytes);
  }

  #holdingOf(router: string): Holding {
    const known = this.#holdings.get(router);
    if (known) return known;
    const row = this.#file.get(
      'SELECT coalesce(sum(bytes), 0) AS bytes, coalesce(max(seq + records), 0) AS next FROM recent WHERE router = ?',
      router,
    );
    const holding = { bytes: Number(row?.['bytes']), nextSeq: Number(row?.['next']), tail: NO_TAIL };
    this.#holdings.set(router, holding);
    return holding;
  }

  /** Cuts what a router wrote in pieces, and leaves out what its share has no room for. */
  #cut({ records, bytes, body }: RecentRecords): readonly Piece[] {
    if (body.length + ROW_BYTES <= this.#shareBytes * WHOLE_PART) return [{ records, bytes, body, before: 0 }];
    const pieces: Piece[] = [];
    let left = this.#shareBytes;
    let before = records;
    for (let end = bytes.length; end >= 0; ) {
      const { start, count } = findPiece(bytes, end, this.#pieceBytes);
      const part = bytes.subarray(start, end);
      const packed = packBytes(part);
      left -= packed.length + ROW_BYTES;
      before -= count;
      if (left < 0) break;
      pieces.unshift({ records: count, bytes: part, body: packed, before });
      end = start - 1;
    }
    return pieces;
  }

  #insert(router: string, holding: Holding, seq: number, { records, bytes, body }: RecentRecords, span?: TimeSpan) {
    const { firstMs, lastMs } = span ?? this.#options.spanOf(bytes);
    const size = body.length + ROW_BYTES;
    this.#file.run(
      'INSERT INTO recent (router, seq, records, first_ms, last_ms, bytes, body) VALUES (?, ?, ?, ?, ?, ?, ?)',
      router,
      seq,
      records,
      firstMs,
      lastMs,
      size,
      body,
    );
    holding.bytes += size;
  }

  /** Adds a small row to those at the end, and makes one of them when they are many. */
  #extendTail(router: string, holding: Holding, seq: number, bytes: number): void {
    holding.tail = { rows: [...holding.tail.rows, seq], bytes: holding.tail.bytes + bytes };
    const { tail } = holding;
    if (tail.rows.length < MERGED_ROWS && tail.bytes < this.#pieceBytes) return;
    const [first] = tail.rows;
    if (first === undefined) return;
    this.#merge(router, holding, first);
    holding.tail = tail.bytes < this.#pieceBytes / 2 ? { rows: [first], bytes: tail.bytes } : NO_TAIL;
  }

  #merge(router: string, holding: Holding, from: number): void {
    const rows = this.#file.all('SELECT * FROM recent WHERE router = ? AND seq >= ? ORDER BY seq', router, from);
    if (rows.length < 2) return;
    const parts = rows.map(({ body }) => (body instanceof Uint8Array ? unpack(body) : undefined));
    // Damaged: these rows stay as they are, and the pages pass them over.
    if (!parts.every((part) => part !== undefined)) return;
    const bytes = Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [Buffer.of(LINE_FEED), part])));
    const sum = (column: string) => rows.reduce((total, row) => total + Number(row[column]), 0);
    const span = {
      firstMs: Math.min(...rows.map((row) => Number(row['first_ms']))),
      lastMs: Math.max(...rows.map((row) => Number(row['last_ms']))),
    };
    this.#file.run('DELETE FROM recent WHERE router = ? AND seq >= ?', router, from);
    holding.bytes -= sum('bytes');
    this.#insert(router, holding, from, { records: sum('records'), bytes, body: packBytes(bytes) }, span);
  }

  /** Drops the oldest rows of a router beyond its share. */
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
      this.#file.run('DELETE FROM recent WHERE router = ? AND seq <= ?', router, last);
      if (holding.tail.rows.some((seq) => seq <= last)) holding.tail = NO_TAIL;
    }
  }
}

/** Finds the last lines before `end` that take up to `bytesMax` together; at least one. */
function findPiece(bytes: Uint8Array, end: number, bytesMax: number) {
  let start = end;
  let count = 0;
  while (start > 0 || count === 0) {
    // The line ends where the one behind it begins, but for the line feed between them.
    const from = count === 0 ? start - 1 : start - 2;
    const feed = from >= 0 ? bytes.lastIndexOf(LINE_FEED, from) : -1;
    if (count > 0 && end - (feed + 1) > bytesMax) break;
    start = feed + 1;
    count++;
  }
  return { start, count };
}

function unpack(body: Uint8Array): Buffer | undefined {
  try {
    return unpackLines(body).memory;
  } catch {
    // Whatever the codec reports: these are not the bytes that were written.
    return undefined;
  }
}
