import { join } from 'node:path';
import type { RecordLines, Slice, SliceBounds } from '../model/index.ts';
import { compact, enableCompaction } from './compaction.ts';
import { hasReserve } from './disk-room.ts';
import { StoreError } from './errors.ts';
import { ForgottenLogs } from './forgotten-logs.ts';
import { makeFolder } from './make-folder.ts';
import { finishRebuild, rebuildDatabase } from './salvage.ts';
import { migrate, STATE_MIGRATIONS, touch } from './schema.ts';
import { packLines } from './spool-batch.ts';
import type { SpoolCursor } from './spool-cursor.ts';
import { DamagedBatch, type LogChoice, type SinkStart, SpoolTable } from './spool-table.ts';
import { isDamage, isDiskFault, toStoreError } from './sqlite-failure.ts';
import { SqliteFile } from './sqlite-file.ts';

export interface EmbeddedStoreOptions {
  /** Folder of the database; made when it is missing. */
  readonly path: string;
  /** The configured sinks, as {@link EmbeddedStore.setSinks} takes them. */
  readonly sinks: readonly SinkStart[];
  /** Bound of the records on disk, compressed: of those that wait, and with them of those that are kept to go again. Bytes. */
  readonly spoolBytesMax: number;
  /** Bound of the database on disk, whatever it holds. Bytes; default: what the disk has. */
  readonly databaseBytesMax?: number | undefined;
  /**
   * Records are taken as long as so much of the disk is free, so that there is room to note what sinks have. Bytes; default
   * 16 MiB, and never more than an eighth of the disk.
   */
  readonly diskReserveBytes?: number | undefined;
  /** Wall time, milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Told when the database was found damaged and has been rebuilt, and how many undelivered records were saved. */
  readonly onRebuilt?: ((rebuilt: { readonly recordsSaved: number; readonly damagedFile: string }) => void) | undefined;
  /**
   * Told when a batch of the spool was found damaged and was dropped. The position of its log is forgotten, so that its
   * lines are read again; a batch of the format before has no router, and is only lost.
   */
  readonly onDamaged?:
    | ((damaged: { readonly router: string; readonly component: string; readonly records: number }) => void)
    | undefined;
}

/** Records of one step of one log, and where the log stands once they are safe. */
export interface LogCommit {
  readonly router: string;
  readonly component: string;
  /** The log's position, as text that only the room `logs` reads. */
  readonly position: string;
  readonly lines: RecordLines;
}

/** Notes are small facts, and they are read and written whole. */
const NOTE_CHARS_MAX = 16 * 1024;
/** What SQLite makes of a new database. */
const PAGE_BYTES = 4096;
/** The write-ahead log is cut back to this once it is folded into the database. Bytes. */
const WAL_BYTES_KEPT = 4 * 1024 * 1024;
/** Default of `diskReserveBytes`: several times what the write-ahead log grows to. */
const DISK_RESERVE_BYTES = 16 * 1024 * 1024;
/** How long the positions of a router that is not configured any more are kept. */
const ABSENCE_GRACE_MS = 7 * 86_400_000;
/** So many damaged batches are dropped in one call at most; each is a transaction. */
const DAMAGED_BATCHES_MAX = 100;

const isAnyLog: LogChoice = () => true;

interface Opened {
  readonly file: SqliteFile;
  readonly spool: SpoolTable;
}

/**
 * Positions and undelivered records in one SQLite database, so that both are committed in one transaction; and notes.
 *
 * Write-ahead log with `synchronous = NORMAL`: a crash of the process loses nothing; a power cut may lose the last
 * commits, but always records and position together, so that the lines are read again with the same uids.
 *
 * ```
 *   open ── the disk fails, or is read-only ──▶ let go ── next call: opened again ──▶ open
 *    │ ▲                                          └────── cannot be opened: `unwritable`, still let go
 *    │ └── the disk is full: `full`, nothing changed, still open
 *    ├──── a batch is damaged: dropped, its log's position forgotten, still open
 *    └──── the structure is damaged: rebuilt from what can be read ──▶ open, with `damaged` for the call that found it
 * ```
 */
export class EmbeddedStore implements Disposable {
  readonly #options: EmbeddedStoreOptions;
  readonly #path: string;
  readonly #forgotten = new ForgottenLogs();
  #sinks: readonly SinkStart[];
  #opened: Opened | undefined;
  #isClosed = false;
  #spooled = { records: 0, bytes: 0 };

  /**
   * Opens or creates the database; one that is damaged is rebuilt. Throws {@link StoreError} `locked`, `broken`, or with
   * disposition `hold-back` when the disk is in the way.
   */
  constructor(options: EmbeddedStoreOptions) {
    this.#options = options;
    this.#sinks = options.sinks;
    this.#path = join(options.path, 'router-exporter.db');
    try {
      makeFolder(options.path);
      this.#opened = this.#open();
    } catch (cause) {
      if (!isDamage(cause)) throw toStoreError(cause, this.#path);
      this.#rebuild();
    }
  }

  #open(): Opened {
    finishRebuild(this.#path);
    const file = openTables(this.#path);
    try {
      file.exec(`PRAGMA journal_size_limit = ${WAL_BYTES_KEPT}`);
      enableCompaction(file);
      const { databaseBytesMax, now } = this.#options;
      if (databaseBytesMax !== undefined) {
        file.exec(`PRAGMA max_page_count = ${Math.floor(databaseBytesMax / PAGE_BYTES)}`);
      }
      file.run('UPDATE batch SET committed_ms = ? WHERE committed_ms = 0', Math.floor(now()));
      const opened = { file, spool: new SpoolTable(file) };
      file.transact(() => opened.spool.setSinks(this.#sinks))();
      this.#spooled = opened.spool.totals;
      return opened;
    } catch (cause) {
      file.close();
      throw cause;
    }
  }

  /** Puts the damaged database aside and goes on with a new one that has what could be saved. */
  #rebuild(): void {
    try {
      this.#letGo();
      const rebuilt = rebuildDatabase(this.#path, openTables);
      this.#opened = this.#open();
      this.#options.onRebuilt?.(rebuilt);
    } catch (cause) {
      throw toStoreError(cause, this.#path);
    }
  }

  /** Records that not every sink has, and their compressed bytes. */
  get spooled(): { readonly records: number; readonly bytes: number } {
    return this.#spooled;
  }

  /** The positions of all logs of a router, by component. */
  readPositions(router: string): Map<string, string> {
    return this.#attempt(({ file }) => {
      const rows = file.all('SELECT component, position FROM log WHERE router = ?', router);
      this.#forgotten.noteRead(router);
      return new Map(rows.map((row) => [String(row['component']), String(row['position'])]));
    });
  }

  /**
   * Adds records to the spool and moves the positions of their logs: all of `commits` in one transaction, or nothing. Throws
   * {@link StoreError}, with nothing changed: `full` when the spool or the disk has no room, `unwritable` when the disk
   * fails, and `damaged` when stored records of one of these logs were lost since its position was read.
   */
  commit(...commits: LogCommit[]): void {
    const packed = commits.map((commit) => ({
      ...commit,
      body: commit.lines.length > 0 ? packLines(commit.lines) : undefined,
    }));
    const added = packed.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
    this.#attempt(({ file, spool }) => {
      const lost = commits.find(({ router, component }) => this.#forgotten.has(router, component));
      if (lost) throw toLostPosition(lost);
      const { bytes } = spool.totals;
      // An empty spool takes a batch of any size: otherwise one that is larger than the bound would never leave the router.
      if (added > 0 && bytes > 0 && bytes + added > this.#options.spoolBytesMax) throw toSpoolFull(this.#options);
      if (added > 0) this.#checkReserve();
      const excess = added > 0 ? bytes + spool.kept.bytes + added - this.#options.spoolBytesMax : 0;
      const committedMs = Math.floor(this.#options.now());
      const settles = file.transact(() => [
        // What every sink has gives way: it must not keep the lines of routers waiting.
        ...(excess > 0 ? [spool.dropKept(excess)] : []),
        ...packed.map(({ router, component, position, lines, body }) => {
          file.run(
            'INSERT INTO log (router, component, position) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position',
            router,
            component,
            position,
          );
          if (!body) return () => {};
          return spool.append({ router, component, committedMs, records: lines.length }, body);
        }),
      ]);
      for (const settle of settles) settle();
      compact(file);
    });
  }

  /**
   * Says which routers are configured now. The positions of others are kept for `graceMs`, in case they come back, and then
   * forgotten; gives the names of those.
   */
  keepRouters(configured: readonly string[], nowMs: number, graceMs: number = ABSENCE_GRACE_MS): string[] {
    return this.#attempt(({ file }) =>
      file.transact(() => {
        const known = file.all('SELECT DISTINCT router FROM log').map((row) => String(row['router']));
        for (const router of configured) file.run('DELETE FROM absence WHERE router = ?', router);
        for (const router of known) {
          if (configured.includes(router)) continue;
          file.run(
            'INSERT INTO absence (router, since_ms) VALUES (?, ?) ON CONFLICT DO NOTHING',
            router,
            Math.floor(nowMs),
          );
        }
        const overdue = file.all('SELECT router FROM absence WHERE since_ms <= ?', nowMs - graceMs);
        const forgotten = overdue.map((row) => String(row['router']));
        for (const router of forgotten) {
          file.run('DELETE FROM log WHERE router = ?', router);
          file.run('DELETE FROM absence WHERE router = ?', router);
        }
        return forgotten;
      }),
    );
  }

  /**
   * The next records for `sink`, in the order of their commits; `undefined` when it has them all. A batch that is found
   * damaged is dropped and told, and the next one is read.
   */
  readSlice(sink: string, bounds: SliceBounds): Slice<SpoolCursor> | undefined {
    return this.#attempt((opened) => {
      for (let damaged = 0; damaged < DAMAGED_BATCHES_MAX; damaged++) {
        const slice = opened.spool.readSlice(sink, bounds);
        if (!(slice instanceof DamagedBatch)) return slice;
        this.#isolate(opened, slice);
      }
      return { lines: [], next: opened.spool.cursorOf(sink), oldestMs: 0, isFull: true, skipped: 0, isRepeat: false };
    });
  }

  /** Drops a damaged batch, and forgets how far its log was read: the router may still have the lines. */
  #isolate({ file, spool }: Opened, { entry }: DamagedBatch): void {
    const { router, component, records } = entry;
    const settle = file.transact(() => {
      file.run('DELETE FROM log WHERE router = ? AND component = ?', router, component);
      return spool.remove(entry);
    });
    settle();
    if (router !== '') this.#forgotten.add(router, component);
    this.#options.onDamaged?.({ router, component, records });
  }

  /**
   * Changes which sinks there are, as opening with other `sinks` does: the cursor of one that is gone is dropped, and
   * records that only it was to get are freed; a new one gets all that is still spooled, or what comes from now on. Without
   * any sink nothing is freed, so that what is spooled waits for the next one.
   */
  setSinks(sinks: readonly SinkStart[]): void {
    this.#attempt(({ file, spool }) => {
      const settle = file.transact(() => spool.setSinks(sinks));
      // Only now: a store that is opened again after a failure has the sinks that it had.
      this.#sinks = sinks;
      settle();
      compact(file);
    });
  }

  /** A small fact about a router that was written down under `key`, if there is one. */
  readNote(router: string, key: string): string | undefined {
    return this.#attempt(({ file }) => {
      const row = file.get('SELECT text FROM note WHERE router = ? AND key = ?', router, key);
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
    this.#attempt(({ file }) => {
      file.run(
        'INSERT INTO note (router, key, text) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET text = excluded.text',
        router,
        key,
        text,
      );
    });
  }

  /** Records that a sink has yet to acknowledge, of the logs that it wants. Costs no more for a long backlog. */
  countWaiting(sink: string, isWanted: LogChoice = isAnyLog): number {
    return this.#attempt(({ spool }) => spool.countWaiting(sink, isWanted));
  }

  /** When the oldest record was committed that a sink has yet to acknowledge; `undefined` without one. Wall time, ms. */
  oldestWaitingMs(sink: string, isWanted: LogChoice = isAnyLog): number | undefined {
    return this.#attempt(({ spool }) => spool.oldestWaitingMs(sink, isWanted));
  }

  /**
   * Moves the sink's cursor behind what it has acknowledged, never back, and drops what every sink has and none may get
   * again.
   */
  acknowledge(sink: string, cursor: SpoolCursor): void {
    this.#attempt(({ file, spool }) => {
      file.transact(() => spool.acknowledge(sink, cursor, this.#options.now()))();
      compact(file);
    });
  }

  /**
   * Has a sink get again, before what is new, what it took in the last `replayMs` before the time `endedMs` or, without
   * one, before it took its last records; then what it takes again counts as taken now. Its backlog is as before.
   */
  repeat(sink: string, endedMs?: number): void {
    this.#attempt(({ file, spool }) => file.transact(() => spool.repeat(sink, endedMs)));
  }

  /** Writes without changing anything: throws what {@link commit} of records would throw because of the disk. */
  checkWritable(): void {
    this.#attempt(({ file }) => {
      this.#checkReserve();
      touch(file);
    });
  }

  #checkReserve(): void {
    const { path, diskReserveBytes = DISK_RESERVE_BYTES } = this.#options;
    if (hasReserve(path, diskReserveBytes)) return;
    throw new StoreError('full', `The disk of ${path} is nearly full`, {
      disposition: 'hold-back',
      hint: 'Free some space on it; work goes on by itself where it stopped',
    });
  }

  /** Ends all access; the write-ahead log is folded into the database. */
  close(): void {
    this.#isClosed = true;
    this.#letGo();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #letGo(): void {
    const file = this.#opened?.file;
    this.#opened = undefined;
    file?.close();
  }

  #attempt<T>(work: (opened: Opened) => T): T {
    if (this.#isClosed) {
      throw new StoreError('broken', `The state in ${this.#path} is closed`, { disposition: 'operator' });
    }
    try {
      this.#opened ??= this.#open();
      return work(this.#opened);
    } catch (cause) {
      if (isDiskFault(cause)) this.#letGo();
      if (!isDamage(cause)) throw toStoreError(cause, this.#path);
      this.#rebuild();
      this.#forgotten.addAll();
      throw new StoreError('damaged', `The state in ${this.#path} was damaged and has been rebuilt`, {
        disposition: 'retry',
        hint: 'Look at the disk. Lines come again with the same uids; the damaged file is kept beside it',
        cause,
      });
    } finally {
      if (this.#opened) this.#spooled = this.#opened.spool.totals;
    }
  }
}

function openTables(path: string): SqliteFile {
  const file = new SqliteFile(path, 0);
  try {
    // Before anything is written to it: a database that has no tables yet can still become one that gives space back.
    file.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA auto_vacuum = INCREMENTAL');
    file.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE; COMMIT');
    migrate(file, STATE_MIGRATIONS);
    return file;
  } catch (cause) {
    file.close();
    throw cause;
  }
}

function toSpoolFull({ spoolBytesMax }: EmbeddedStoreOptions): StoreError {
  return new StoreError('full', `The spool has reached its bound of ${spoolBytesMax} bytes`, {
    disposition: 'hold-back',
    hint: 'Look at the sinks: records leave the spool once every sink has them. Or raise storage.spool_max',
  });
}

function toLostPosition({ router, component }: LogCommit): StoreError {
  return new StoreError(
    'damaged',
    `Stored records of ${component} of ${router} were lost, so it has to be read again`,
    {
      disposition: 'retry',
    },
  );
}
