import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreError } from './errors.ts';
import { salvage } from './salvage.ts';
import { migrate } from './schema.ts';
import { packLines, unpackLines } from './spool-batch.ts';

export interface EmbeddedStoreOptions {
  /** Folder of the database; made when it is missing. */
  readonly path: string;
  /** Names of the configured sinks. A cursor of any other sink is dropped, so that it holds back no space. */
  readonly sinks: readonly string[];
  /** Bound of the undelivered records on disk, compressed. Bytes. */
  readonly spoolBytesMax: number;
  /** Bound of the database on disk, whatever it holds. Bytes; default: what the disk has. */
  readonly databaseBytesMax?: number | undefined;
  /** Told when the database was found damaged and has been rebuilt, and how many undelivered records were saved. */
  readonly onRebuilt?: ((rebuilt: { readonly recordsSaved: number; readonly damagedFile: string }) => void) | undefined;
}

/** Records of one step of one log, and where the log stands once they are safe. */
export interface LogCommit {
  readonly router: string;
  readonly component: string;
  /** The log's position, as text that only the room `logs` reads. */
  readonly position: string;
  /** Rendered records without line ends. */
  readonly lines: readonly string[];
}

/** A place in the spool: everything before `index` of batch `batch` is behind it. */
export interface SpoolCursor {
  readonly batch: number;
  readonly index: number;
}

/** Records that a sink has yet to acknowledge. */
export interface SpoolSlice {
  readonly lines: readonly string[];
  /** Where the sink stands once it has acknowledged all of `lines`. */
  readonly next: SpoolCursor;
}

/** Most bytes of one slice, decompressed; a single larger batch comes in several slices. */
const SLICE_BYTES_MAX = 1024 * 1024;
const SLICE_RECORDS_MAX = 5000;
/** Notes are small facts, and they are read and written whole. */
const NOTE_CHARS_MAX = 16 * 1024;
/** What SQLite makes of a new database. */
const PAGE_BYTES = 4096;
/** How long the positions of a router that is not configured any more are kept. */
const ABSENCE_GRACE_MS = 7 * 86_400_000;

/**
 * Positions and undelivered records in one SQLite database, so that both are committed in one transaction; and notes.
 *
 * Write-ahead log with `synchronous = NORMAL`: a crash of the process loses nothing; a power cut may lose the last
 * commits, but always records and position together, so that the lines are read again with the same uids.
 */
export class EmbeddedStore implements Disposable {
  #database: DatabaseSync;
  readonly #options: EmbeddedStoreOptions;
  readonly #file: string;
  #sinks: readonly string[];
  #spooledBytes = 0;
  #spooledRecords = 0;

  /** Opens or creates the database; one that is damaged is rebuilt. Throws {@link StoreError} `locked` or `broken`. */
  constructor(options: EmbeddedStoreOptions) {
    this.#options = options;
    this.#sinks = options.sinks;
    this.#file = join(options.path, 'router-exporter.db');
    try {
      mkdirSync(options.path, { recursive: true, mode: 0o700 });
      this.#database = this.#open();
    } catch (cause) {
      if (!isDamage(cause)) throw toStoreError(cause, this.#file);
      this.#database = this.#rebuild();
    }
  }

  #open(): DatabaseSync {
    const database = new DatabaseSync(this.#file, { timeout: 0 });
    try {
      database.exec(
        'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE; COMMIT',
      );
      const { databaseBytesMax } = this.#options;
      if (databaseBytesMax !== undefined) {
        database.exec(`PRAGMA max_page_count = ${Math.floor(databaseBytesMax / PAGE_BYTES)}`);
      }
      migrate(database);
      this.#database = database;
      const row = database
        .prepare('SELECT coalesce(sum(length(body)), 0) AS bytes, coalesce(sum(records), 0) AS records FROM spool')
        .get();
      this.#spooledBytes = Number(row?.['bytes']);
      this.#spooledRecords = Number(row?.['records']);
      this.setSinks(this.#sinks);
      return database;
    } catch (cause) {
      database.close();
      throw cause;
    }
  }

  /** Puts the damaged database aside and begins a new one with what can be saved. */
  #rebuild(): DatabaseSync {
    const damagedFile = `${this.#file}.damaged`;
    try {
      for (const suffix of ['', '-wal', '-shm']) {
        rmSync(`${damagedFile}${suffix}`, { force: true });
        if (existsSync(`${this.#file}${suffix}`)) renameSync(`${this.#file}${suffix}`, `${damagedFile}${suffix}`);
      }
      const { batches, cursors } = salvage(damagedFile);
      const database = this.#open();
      this.#transact(() => {
        for (const { sink, batch, index } of cursors) {
          database.prepare('UPDATE cursor SET batch = ?, idx = ? WHERE sink = ?').run(batch, index, sink);
        }
        // New batches must come behind what the sinks have; the database counts on from the highest number it has seen.
        const highest = Math.max(0, ...cursors.map((cursor) => cursor.batch), ...batches.map((one) => one.batch));
        database.prepare('INSERT INTO spool (batch, records, body) VALUES (?, 0, ?)').run(highest, new Uint8Array());
        database.prepare('DELETE FROM spool WHERE batch = ?').run(highest);
        for (const { batch, records, body } of batches) {
          database.prepare('INSERT INTO spool (batch, records, body) VALUES (?, ?, ?)').run(batch, records, body);
          this.#spooledBytes += body.length;
          this.#spooledRecords += records;
        }
      });
      const recordsSaved = batches.reduce((sum, { records }) => sum + records, 0);
      this.#options.onRebuilt?.({ recordsSaved, damagedFile });
      return database;
    } catch (cause) {
      throw toStoreError(cause, this.#file);
    }
  }

  /** Undelivered records and their compressed bytes. */
  get spooled(): { readonly records: number; readonly bytes: number } {
    return { records: this.#spooledRecords, bytes: this.#spooledBytes };
  }

  /** The positions of all logs of a router, by component. */
  readPositions(router: string): Map<string, string> {
    return this.#attempt(() => {
      const rows = this.#database.prepare('SELECT component, position FROM log WHERE router = ?').all(router);
      return new Map(rows.map((row) => [String(row['component']), String(row['position'])]));
    });
  }

  /**
   * Adds records to the spool and moves the log's position, both or neither. Throws {@link StoreError} `full`, with
   * nothing changed, when the spool has no room.
   */
  commit(commit: LogCommit): void {
    const body = commit.lines.length > 0 ? packLines(commit.lines) : undefined;
    // An empty spool takes a batch of any size: otherwise one that is larger than the bound would never leave the router.
    if (body && this.#spooledBytes > 0 && this.#spooledBytes + body.length > this.#options.spoolBytesMax) {
      throw new StoreError('full', `The spool has reached its bound of ${this.#options.spoolBytesMax} bytes`, {
        disposition: 'hold-back',
        hint: 'A sink does not take its records; see its state, or raise storage.spool_max',
      });
    }
    this.#transact(() => {
      if (body) {
        this.#database.prepare('INSERT INTO spool (records, body) VALUES (?, ?)').run(commit.lines.length, body);
      }
      this.#database
        .prepare(
          'INSERT INTO log (router, component, position) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position',
        )
        .run(commit.router, commit.component, commit.position);
    });
    if (!body) return;
    this.#spooledBytes += body.length;
    this.#spooledRecords += commit.lines.length;
  }

  /**
   * Says which routers are configured now. The positions of others are kept for `graceMs`, in case they come back, and then
   * forgotten; gives the names of those.
   */
  keepRouters(configured: readonly string[], nowMs: number, graceMs: number = ABSENCE_GRACE_MS): string[] {
    const forgotten: string[] = [];
    this.#transact(() => {
      const known = this.#database.prepare('SELECT DISTINCT router FROM log').all();
      const absent = known.map((row) => String(row['router'])).filter((router) => !configured.includes(router));
      for (const router of configured) this.#database.prepare('DELETE FROM absence WHERE router = ?').run(router);
      for (const router of absent) {
        this.#database
          .prepare('INSERT INTO absence (router, since_ms) VALUES (?, ?) ON CONFLICT DO NOTHING')
          .run(router, Math.floor(nowMs));
      }
      const overdue = this.#database.prepare('SELECT router FROM absence WHERE since_ms <= ?').all(nowMs - graceMs);
      for (const row of overdue) {
        const router = String(row['router']);
        this.#database.prepare('DELETE FROM log WHERE router = ?').run(router);
        this.#database.prepare('DELETE FROM absence WHERE router = ?').run(router);
        forgotten.push(router);
      }
    });
    return forgotten;
  }

  /** The next records for `sink`, in the order of their commits; `undefined` when it has them all. */
  readSlice(sink: string): SpoolSlice | undefined {
    return this.#attempt(() => this.#collectSlice(sink));
  }

  #collectSlice(sink: string): SpoolSlice | undefined {
    let { batch, index } = this.#cursorOf(sink);
    const lines: string[] = [];
    let bytes = 0;
    const rows = this.#database.prepare('SELECT batch, body FROM spool WHERE batch >= ? ORDER BY batch').iterate(batch);
    for (const row of rows) {
      const fresh = Number(row['batch']);
      if (fresh !== batch) [batch, index] = [fresh, 0];
      const packed = row['body'];
      if (!(packed instanceof Uint8Array)) continue;
      for (const line of unpackLines(packed).slice(index)) {
        if (lines.length > 0 && (bytes + line.length > SLICE_BYTES_MAX || lines.length >= SLICE_RECORDS_MAX)) {
          return { lines, next: { batch, index } };
        }
        lines.push(line);
        bytes += line.length;
        index++;
      }
    }
    return lines.length > 0 ? { lines, next: { batch: batch + 1, index: 0 } } : undefined;
  }

  /**
   * Changes which sinks there are, as opening with other `sinks` does: the cursor of one that is gone is dropped, and
   * records that only it was to get are freed; a new one gets all that is still spooled. Without any sink nothing is
   * freed, so that what is spooled waits for the next one.
   */
  setSinks(sinks: readonly string[]): void {
    this.#sinks = sinks;
    this.#transact(() => {
      const known = this.#database.prepare('SELECT sink FROM cursor').all();
      for (const row of known) {
        const sink = String(row['sink']);
        if (!sinks.includes(sink)) this.#database.prepare('DELETE FROM cursor WHERE sink = ?').run(sink);
      }
      for (const sink of sinks) {
        this.#database
          .prepare('INSERT INTO cursor (sink, batch, idx) VALUES (?, 0, 0) ON CONFLICT DO NOTHING')
          .run(sink);
      }
      // What only a sink that is gone was to get would otherwise fill the spool until another sink gets something.
      this.#dropDelivered();
    });
  }

  /** A small fact about a router that was written down under `key`, if there is one. */
  readNote(router: string, key: string): string | undefined {
    return this.#attempt(() => {
      const row = this.#database.prepare('SELECT text FROM note WHERE router = ? AND key = ?').get(router, key);
      return row && String(row['text']);
    });
  }

  /** Writes a small fact down in place of what was under `key`. Throws {@link StoreError} `too-long` above 16 Ki characters. */
  writeNote(router: string, key: string, text: string): void {
    if (text.length > NOTE_CHARS_MAX) {
      throw new StoreError('too-long', `A note of ${text.length} characters is above the bound of ${NOTE_CHARS_MAX}`, {
        disposition: 'skip',
      });
    }
    this.#attempt(() =>
      this.#database
        .prepare('INSERT INTO note (router, key, text) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET text = excluded.text')
        .run(router, key, text),
    );
  }

  /** Records that a sink has yet to acknowledge. */
  countWaiting(sink: string): number {
    return this.#attempt(() => {
      const { batch, index } = this.#cursorOf(sink);
      const row = this.#database
        .prepare('SELECT coalesce(sum(records), 0) AS records FROM spool WHERE batch >= ?')
        .get(batch);
      return Number(row?.['records']) - index;
    });
  }

  /** Moves the sink's cursor behind what it has acknowledged, and drops what every sink has. */
  acknowledge(sink: string, cursor: SpoolCursor): void {
    this.#transact(() => {
      this.#database
        .prepare('UPDATE cursor SET batch = ?, idx = ? WHERE sink = ?')
        .run(cursor.batch, cursor.index, sink);
      this.#dropDelivered();
    });
  }

  /** Ends all access; the write-ahead log is folded into the database. */
  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Drops the batches that every sink has. */
  #dropDelivered(): void {
    const dropped = this.#database
      .prepare(
        'DELETE FROM spool WHERE batch < (SELECT min(batch) FROM cursor) RETURNING records, length(body) AS bytes',
      )
      .all();
    for (const row of dropped) {
      this.#spooledRecords -= Number(row['records']);
      this.#spooledBytes -= Number(row['bytes']);
    }
  }

  #cursorOf(sink: string): SpoolCursor {
    const row = this.#database.prepare('SELECT batch, idx FROM cursor WHERE sink = ?').get(sink);
    return row ? { batch: Number(row['batch']), index: Number(row['idx']) } : { batch: 0, index: 0 };
  }

  #transact(work: () => void): void {
    this.#attempt(() => {
      try {
        this.#database.exec('BEGIN IMMEDIATE');
        work();
        this.#database.exec('COMMIT');
      } catch (cause) {
        if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec('ROLLBACK');
        throw cause;
      }
    });
  }

  #attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      if (!isDamage(cause)) throw toStoreError(cause, this.#file);
      if (this.#database.isOpen) this.#database.close();
      this.#database = this.#rebuild();
      throw new StoreError('damaged', `The state in ${this.#file} was damaged and has been rebuilt`, {
        disposition: 'retry',
        hint: 'Look at the disk. Lines come again with the same uids; the damaged file is kept beside it',
        cause,
      });
    }
  }
}

/** Codes of SQLite: a malformed database, and a file that is none. */
const DAMAGE_CODES: readonly unknown[] = [11, 26];
/** SQLite has no room to write: the disk is full. */
const FULL_CODE = 13;

function isDamage(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  const errcode: unknown = Reflect.get(cause, 'errcode');
  // The low byte is the kind of the error, the rest says more.
  const kind = typeof errcode === 'number' ? errcode % 256 : undefined;
  const isBody = String(Reflect.get(cause, 'code')).startsWith('ZSTD_');
  return DAMAGE_CODES.includes(kind) || isBody;
}

function toStoreError(cause: unknown, where: string): StoreError {
  if (cause instanceof StoreError) return cause;
  const message = cause instanceof Error ? cause.message : '';
  if (message.includes('database is locked')) {
    return new StoreError('locked', `The state in ${where} is in use by another process`, {
      disposition: 'operator',
      hint: 'Stop the other agent, or give this one a storage.path of its own',
      cause,
    });
  }
  if (cause instanceof Error && Reflect.get(cause, 'errcode') === FULL_CODE) {
    return new StoreError('full', `There is no room to write the state in ${where}`, {
      disposition: 'hold-back',
      hint: 'Free some space on its disk; reading goes on where it stopped',
      cause,
    });
  }
  return new StoreError('broken', `The state in ${where} could not be used`, {
    disposition: 'operator',
    hint: 'Check that the folder can be written to and that its disk is not full',
    cause,
  });
}
