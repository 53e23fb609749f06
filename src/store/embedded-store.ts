import { join } from 'node:path';
import { LineRanges } from '../base/index.ts';
import {
  EVENTS_LOG,
  type FactsCommit,
  type LogChoice,
  type LogCommit,
  type MovableStore,
  type RouterAddition,
  type RouterState,
  type SinkStart,
  type Slice,
  type SliceBounds,
  type SpoolCursor,
  type Store,
  type StoredBatch,
  StoreError,
  toValueTooLong,
  VALUE_CHARS_MAX,
} from '../model/index.ts';
import { type OlderState, openCurrent, openState, STATE_FILE, touch } from './database-format.ts';
import { finishRebuild, type Rebuilt, rebuildDatabase } from './rebuild.ts';
import {
  type PackedCommit,
  packCommits,
  type RecentBatch,
  RecentLines,
  type RecentLinesSettings,
  type RecentPlace,
} from './recent-lines.ts';
import {
  keepRouters,
  listRouters,
  readState,
  readValue,
  removeRouters,
  type Transact,
  writeValue,
} from './router-tables.ts';
import { DamagedBatch, SpoolTable } from './spool-table.ts';
import {
  compact,
  DISK_RESERVE_BYTES,
  hasReserve,
  isDamage,
  isDiskFault,
  isEmptyFile,
  makeFolder,
  type SqliteFile,
  toStoreError,
} from './sqlite-file.ts';

/** Folder, sinks and limits of the store. */
export interface EmbeddedStoreOptions {
  /** Folder of the database; created if missing. */
  readonly path: string;
  /** The configured sinks, as for `EmbeddedStore.setSinks`. Default: those in the database. */
  readonly sinks?: readonly SinkStart[] | undefined;
  /** Maximum compressed size of the spooled records: those waiting for sinks plus those kept for replay. Bytes. */
  readonly spoolBytesMax: number;
  /** The last lines of each router, kept for the pages. Default: none. */
  readonly recent?: RecentLinesSettings | undefined;
  /** Maximum size of the database file. Bytes; default: the size of the disk. */
  readonly databaseBytesMax?: number | undefined;
  /**
   * Free disk space below which no records are accepted, so that acknowledgements can still be stored. Bytes; default 16 MiB,
   * never more than an eighth of the disk.
   */
  readonly diskReserveBytes?: number | undefined;
  /** Wall time in milliseconds since the Unix epoch. */
  readonly now: () => number;
  /**
   * True: a disk that cannot be written at first is no error; every call tries to open the database again, and throws until
   * it can. Default false.
   */
  readonly canWait?: boolean | undefined;
  /** Called after a damaged database was rebuilt from what could be read. Default: not reported. */
  readonly onRebuilt?: ((rebuilt: Rebuilt) => void) | undefined;
  /** Called when a database of an older format was moved aside and an empty one created. Default: such a database is an error. */
  readonly onOlder?: ((older: OlderState) => void) | undefined;
  /** Called when the database has a sink that is not configured and did not get all of its records. Default: not reported. */
  readonly onSinkGone?: ((gone: { readonly sink: string; readonly records: number }) => void) | undefined;
  /** Called when the database file existed and was empty. Default: not reported. */
  readonly onEmpty?: ((file: string) => void) | undefined;
  /**
   * Called when a damaged batch of the spool was dropped. The position of its log is removed, so that its lines are read
   * again; a batch whose log is unknown (empty router) is lost. Default: not reported.
   */
  readonly onDamaged?:
    | ((damaged: { readonly router: string; readonly component: string; readonly records: number }) => void)
    | undefined;
}

/** Time for which the positions of a router are kept after its removal from the configuration. Milliseconds. */
const ABSENCE_GRACE_MS = 7 * 86_400_000;
/** Damaged batches dropped in one call; each is a transaction. */
const DAMAGED_BATCHES_MAX = 100;
/** Minimum interval of failed rebuilds: copying a large database takes long. Milliseconds. */
const REBUILD_INTERVAL_MS = 5000;

/** A router that used up its share may add records again when this many times its waiting records are free. */
const RESUME_FACTOR = 2;

const isAnyLog: LogChoice = () => true;

interface Opened {
  readonly file: SqliteFile;
  readonly spool: SpoolTable;
  readonly recent: RecentLines | undefined;
}

/**
 * Positions, undelivered records and facts of routers in one SQLite database, so that one transaction commits them together.
 *
 * Write-ahead log with `synchronous = NORMAL`: a process crash loses nothing; a power cut may lose the last commits, but
 * always records and position together, so that the lines are read again with the same uids.
 *
 * ```
 *   open ── disk fails or is read-only ──▶ closed ── next call ──▶ open, or `unwritable` and still closed
 *    ├── disk full: `full`, nothing changed, still open
 *    ├── a batch is damaged: dropped, the position of its log removed, still open
 *    └── the structure is damaged: rebuilt from what can be read ──▶ open; the call that found it throws `damaged`
 *          (while opening: the call continues)
 * ```
 */
export class EmbeddedStore implements Store, MovableStore, Disposable {
  readonly #options: EmbeddedStoreOptions;
  readonly #path: string;
  readonly #forgotten = new ForgottenLogs();
  #sinks: readonly SinkStart[] | undefined;
  #opened: Opened | undefined;
  #isClosed = false;
  /** True until the database was opened for the first time. */
  #isWaiting = true;
  #spooled = { records: 0, bytes: 0 };
  #failedRebuild: { readonly error: StoreError; readonly atMs: number } | undefined;
  #configured: readonly string[] | undefined;

  get #routers(): number {
    return this.#configured?.length ?? 1;
  }

  /**
   * Opens or creates the database; a damaged one is rebuilt. Throws {@link StoreError} `locked`, `broken` or, unless
   * `canWait` is set, with disposition `hold-back` when the disk cannot be written.
   */
  constructor(options: EmbeddedStoreOptions) {
    this.#options = options;
    this.#sinks = options.sinks;
    this.#path = join(options.path, STATE_FILE);
    const isEmpty = isEmptyFile(this.#path);
    try {
      this.#opened = this.#openOrRebuild();
      if (isEmpty) options.onEmpty?.(this.#path);
    } catch (cause) {
      const error = toStoreError(cause, this.#path);
      if (!options.canWait || error.disposition !== 'hold-back') throw error;
    }
  }

  /** True while the disk has prevented every attempt to open the database. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  #openOrRebuild(): Opened {
    try {
      return openCurrent(this.#path, () => this.#open(), this.#options.onOlder);
    } catch (cause) {
      if (!isDamage(cause)) throw cause;
      return this.#rebuild();
    }
  }

  #open(): Opened {
    // Only before the first opening: an unmounted disk must not be replaced by an empty folder.
    if (this.#isWaiting) makeFolder(this.#options.path);
    if (finishRebuild(this.#path)) this.#forgetAll();
    const { databaseBytesMax, recent } = this.#options;
    const file = openState(this.#path, databaseBytesMax);
    try {
      const opened = { file, spool: new SpoolTable(file), recent: recent && new RecentLines(file, recent) };
      const sinks = this.#sinks;
      if (sinks) {
        const gone = opened.spool.listGone(sinks);
        file.transact(() => opened.spool.setSinks(sinks))();
        for (const one of gone) this.#options.onSinkGone?.(one);
      }
      if (this.#configured) file.transact(() => opened.recent?.setRouters(this.#configured ?? []));
      this.#spooled = opened.spool.totals;
      this.#isWaiting = false;
      return opened;
    } catch (cause) {
      file.close();
      throw cause;
    }
  }

  #rebuild(): Opened {
    const { now } = this.#options;
    const failed = this.#failedRebuild;
    if (failed && Math.abs(now() - failed.atMs) < REBUILD_INTERVAL_MS) throw failed.error;
    try {
      this.#letGo();
      const rebuilt = rebuildDatabase(this.#path, openState, now());
      this.#forgetAll();
      const opened = this.#open();
      this.#options.onRebuilt?.(rebuilt);
      this.#failedRebuild = undefined;
      return opened;
    } catch (cause) {
      const error = toStoreError(cause, this.#path);
      this.#failedRebuild = { error, atMs: now() };
      throw error;
    }
  }

  /** All positions are lost. Before the first opening, none has been read. */
  #forgetAll(): void {
    if (!this.#isWaiting) this.#forgotten.addAll();
  }

  get spooled(): { readonly records: number; readonly bytes: number } {
    return this.#spooled;
  }

  /** Does nothing: the database needs no loading. */
  openRouter(_router: string): void {}

  /** Does nothing: no call outlives its return. */
  closeRouter(_router: string): void {}

  readPositions(router: string): Map<string, string> {
    return this.#attempt(({ file }) => {
      const rows = file.all('SELECT component, position FROM log WHERE router = ?', router);
      this.#forgotten.recordRead(router);
      return new Map(rows.map((row) => [String(row['component']), String(row['position'])]));
    });
  }

  forgetLogs(router: string, components: readonly string[]): void {
    this.#attempt(({ file }) => {
      file.transact(() => {
        for (const component of components) {
          file.run('DELETE FROM log WHERE router = ? AND component = ?', router, component);
        }
      });
    });
  }

  readFacts(router: string): string | undefined {
    return this.#attempt(({ file }) => {
      const row = file.get('SELECT text FROM fact WHERE router = ?', router);
      return row && String(row['text']);
    });
  }

  /**
   * Adds records to the spool, advances the positions of their logs and stores facts, all in one transaction. Throws {@link
   * StoreError}, with nothing changed: `full` when the spool or the disk is full, `share` when this router has used up its
   * share of the spool, `unwritable` when the disk fails, and `damaged` when stored records of one of these logs were lost
   * after its position was read.
   */
  commit(...commits: (LogCommit | FactsCommit)[]): void {
    const logs = commits.filter((commit) => 'position' in commit);
    const learnt = commits.filter((commit) => 'facts' in commit);
    const packed = packCommits(logs);
    const added = packed.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
    this.#attempt(({ file, spool, recent }) => {
      // A journal is written as a whole, from memory.
      const lost = logs.find((one) => one.component !== EVENTS_LOG && this.#forgotten.has(one.router, one.component));
      if (lost) throw toLostPosition(lost.component, lost.router);
      const outdated = learnt.find(({ router }) => this.#forgotten.hasAll(router));
      if (outdated) throw toLostPosition('all logs', outdated.router);
      const { bytes } = spool.totals;
      // An empty spool accepts a batch of any size: a batch larger than the limit would never leave the router otherwise.
      if (added > 0 && bytes > 0 && bytes + added > this.#options.spoolBytesMax)
        throw toSpoolFull(this.#options.spoolBytesMax);
      for (const router of new Set(packed.map((one) => one.router))) this.#checkShare(spool, router, packed, added);
      if (added > 0) this.#checkReserve();
      const excess = added > 0 ? bytes + spool.kept.bytes + added - this.#options.spoolBytesMax : 0;
      const committedMs = Math.floor(this.#options.now());
      const settles = transactRecent({ file, recent }, () => {
        for (const facts of learnt) writeFacts(file, facts);
        return [
          // Delivered records kept for replay are dropped first: they must not hold back new lines.
          ...(excess > 0 ? [spool.dropKept(excess)] : []),
          ...packed.map((one) => {
            const { router, component, position, lines, body } = one;
            writePosition(file, router, component, position);
            if (!body) return () => {};
            const settle = spool.append({ router, component, committedMs, records: lines.length }, body, lines.bytes);
            recent?.append(one, spool.newest);
            return settle;
          }),
        ];
      });
      for (const settle of settles) settle();
      compact(file);
    });
  }

  /**
   * Throws if the waiting records of a router would exceed the space left free. A router without waiting records may always
   * add some, so that its logs make progress while there is any room.
   */
  #checkShare(spool: SpoolTable, router: string, packed: readonly PackedCommit[], added: number): void {
    const own = packed.reduce((sum, one) => sum + (one.router === router ? (one.body?.length ?? 0) : 0), 0);
    const heldBytes = spool.bytesOf(router);
    if (own === 0 || heldBytes === 0 || this.#routers <= 1) return;
    if (heldBytes + own > this.#options.spoolBytesMax - spool.totals.bytes - added) throw toShareTaken(router);
  }

  /**
   * Returns true if a router that got `share` may add records again: its waiting records take less than half of the free
   * space, so that it does not alternate with every batch.
   */
  hasShare(router: string): boolean {
    const heldBytes = this.#opened?.spool.bytesOf(router) ?? 0;
    const freeBytes = this.#options.spoolBytesMax - this.#spooled.bytes;
    return this.#routers <= 1 || heldBytes * RESUME_FACTOR <= freeBytes;
  }

  /**
   * Sets the configured routers. State of others is kept for `graceMs` in case they come back, and then removed. Resolves
   * with the names of the removed routers.
   */
  async keepRouters(
    configured: readonly string[],
    nowMs: number,
    graceMs: number = ABSENCE_GRACE_MS,
  ): Promise<string[]> {
    this.#configured = configured;
    const transact: Transact = (work) => this.#attempt((opened) => transactRecent(opened, () => work(opened)));
    const forgotten = await keepRouters(transact, configured, nowMs, graceMs);
    transact(({ recent }) => recent?.setRouters(configured));
    return forgotten;
  }

  /** Adds to the last lines what another store, which has the positions and the spool, has committed. */
  addRecent(commits: readonly LogCommit[]): void {
    this.#attempt((opened) => {
      const { file, recent } = opened;
      if (!recent || commits.length === 0) return;
      transactRecent(opened, () => {
        for (const one of packCommits(commits)) recent.append(one);
      });
      compact(file);
    });
  }

  listRecent(place: RecentPlace, router?: string): readonly RecentBatch[] {
    return this.#attempt(({ recent }) => recent?.list(place, router) ?? []);
  }

  readRecent({ router, seq }: RecentBatch): Buffer | undefined {
    return this.#attempt(({ recent }) => recent?.read(router, seq));
  }

  readSlice(sink: string, bounds: SliceBounds): Slice<SpoolCursor> | undefined {
    return this.#attempt((opened) => {
      for (let damaged = 0; damaged < DAMAGED_BATCHES_MAX; damaged++) {
        const slice = opened.spool.readSlice(sink, bounds);
        if (!(slice instanceof DamagedBatch)) return slice;
        this.#isolate(opened, slice);
      }
      return {
        lines: new LineRanges(),
        next: opened.spool.cursorOf(sink),
        oldestMs: 0,
        isFull: true,
        skipped: 0,
        isRepeat: false,
      };
    });
  }

  /** Drops a damaged batch and the position of its log, because the router may still have the lines. A journal stays. */
  #isolate({ file, spool }: Opened, { entry }: DamagedBatch): void {
    const { router, component, records } = entry;
    const isLog = component !== EVENTS_LOG;
    const settle = file.transact(() => {
      if (isLog) file.run('DELETE FROM log WHERE router = ? AND component = ?', router, component);
      return spool.remove(entry);
    });
    settle();
    if (isLog) this.#forgotten.add(router, component);
    this.#options.onDamaged?.({ router, component, records });
  }

  /**
   * Changes the set of sinks. The cursor of a removed sink is dropped, together with records that only it needed. A new sink
   * gets everything still spooled, or only new records (`start`). Without any sink nothing is dropped: the records wait for
   * the next sink.
   */
  setSinks(sinks: readonly SinkStart[]): void {
    this.#attempt(({ file, spool }) => {
      const settle = file.transact(() => spool.setSinks(sinks));
      // Only after success: a store that is reopened after a failure must use the sinks it had.
      this.#sinks = sinks;
      settle();
      compact(file);
    });
  }

  readValue(router: string, key: string): string | undefined {
    return this.#attempt(({ file }) => readValue(file, router, key));
  }

  writeValue(router: string, key: string, text: string): void {
    if (text.length > VALUE_CHARS_MAX) throw toValueTooLong(text);
    this.#attempt(({ file }) => writeValue(file, router, key, text));
  }

  countWaiting(sink: string, isWanted: LogChoice = isAnyLog): number {
    return this.#attempt(({ spool }) => spool.countWaiting(sink, isWanted));
  }

  oldestWaitingMs(sink: string, isWanted: LogChoice = isAnyLog): number | undefined {
    return this.#attempt(({ spool }) => spool.oldestWaitingMs(sink, isWanted));
  }

  /** Moves the sink's cursor past the acknowledged records, never back, and drops what every sink has and none may replay. */
  acknowledge(sink: string, cursor: SpoolCursor): void {
    this.#attempt(({ file, spool }) => {
      file.transact(() => spool.acknowledge(sink, cursor, this.#options.now()))();
      compact(file);
    });
  }

  /**
   * Redelivers to a sink, ahead of new records, what it accepted in the `replayMs` before `endedMs` (default: before its last
   * acknowledgement). Redelivered records count as accepted now. The backlog does not change.
   */
  repeat(sink: string, endedMs?: number): void {
    this.#attempt(({ file, spool }) => file.transact(() => spool.repeat(sink, endedMs)));
  }

  bytesOf(router: string): number {
    return this.#attempt(({ spool }) => spool.bytesOf(router));
  }

  /** Does nothing: a full disk fails at the write. */
  checkRoom(_bytes: number): void {}

  listSinks(): readonly string[] {
    return this.#attempt(({ spool }) => spool.sinks);
  }

  beginSinks(names: readonly string[]): void {
    this.#attempt(({ file, spool }) => file.transact(() => spool.beginSinks(names)));
  }

  listRouters(): readonly string[] {
    return this.#attempt(({ file, spool }) => listRouters(file, spool.waitingFrom));
  }

  readState(router: string): RouterState {
    return this.#attempt(({ file }) => readState(file, router));
  }

  *readWaiting(): Generator<readonly StoredBatch[]> {
    for (let next = 0; ; ) {
      const from = next;
      const taken = this.#attempt(({ spool }) => spool.takeWaiting(from));
      const last = taken.at(-1);
      if (!last) return;
      next = last.seq + 1;
      yield taken;
    }
  }

  addTo(routers: readonly RouterAddition[]): void {
    this.#attempt(({ file, spool }) => {
      const settles = file.transact(() =>
        routers.flatMap(({ router, batches = [], positions = [], facts, values = [] }) => {
          for (const [component, position] of positions) writePosition(file, router, component, position);
          if (facts !== undefined) writeFacts(file, { router, facts });
          for (const [key, text] of values) writeValue(file, router, key, text);
          return batches.map(({ body, component, committedMs, records }) =>
            spool.append({ router, component, committedMs, records }, body),
          );
        }),
      );
      for (const settle of settles) settle();
    });
  }

  removeRouters(routers: readonly { readonly router: string }[]): void {
    this.#attempt(({ file, spool }) => {
      file.transact(() => removeRouters(file, routers, spool.waitingFrom));
    });
    this.#letGo();
  }

  /** Writes to the disk without changing data. Throws the disk errors of {@link commit}. */
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
      hint: 'Free some space on it; the agent then continues where it stopped',
    });
  }

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
      this.#opened ??= this.#openOrRebuild();
      return work(this.#opened);
    } catch (cause) {
      if (isDiskFault(cause)) this.#letGo();
      if (!isDamage(cause)) throw toStoreError(cause, this.#path);
      this.#opened = this.#rebuild();
      throw new StoreError('damaged', `The state in ${this.#path} was damaged and has been rebuilt`, {
        disposition: 'retry',
        hint: 'Check the disk. Lines are read again with the same uids; the damaged file is kept next to the new one',
        cause,
      });
    } finally {
      if (this.#opened) this.#spooled = this.#opened.spool.totals;
    }
  }
}

function transactRecent<T>({ file, recent }: Omit<Opened, 'spool'>, work: () => T): T {
  try {
    return file.transact(work);
  } catch (cause) {
    recent?.forgetHoldings();
    throw cause;
  }
}

function writePosition(file: SqliteFile, router: string, component: string, position: string): void {
  file.run(
    'INSERT INTO log (router, component, position) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position',
    router,
    component,
    position,
  );
}

function writeFacts(file: SqliteFile, { router, facts }: FactsCommit): void {
  file.run(
    'INSERT INTO fact (router, text) VALUES (?, ?) ON CONFLICT DO UPDATE SET text = excluded.text',
    router,
    facts,
  );
}

/**
 * Logs whose positions were removed while they may be being read. A read in progress has a position beyond the lost lines;
 * committing it would hide the loss.
 */
class ForgottenLogs {
  readonly #logs = new Map<string, Set<string>>();
  /** Routers whose positions were read since all positions were lost. */
  #readSince: Set<string> | undefined;

  add(router: string, component: string): void {
    const components = this.#logs.get(router) ?? new Set();
    this.#logs.set(router, components.add(component));
  }

  addAll(): void {
    this.#readSince = new Set();
  }

  /** Records that the positions of a router were read: from here on its reads start from the stored state. */
  recordRead(router: string): void {
    this.#logs.delete(router);
    this.#readSince?.add(router);
  }

  hasAll(router: string): boolean {
    return this.#readSince !== undefined && !this.#readSince.has(router);
  }

  has(router: string, component: string): boolean {
    return this.hasAll(router) || (this.#logs.get(router)?.has(component) ?? false);
  }
}

function toSpoolFull(spoolBytesMax: number): StoreError {
  return new StoreError('full', `The spool has reached its limit of ${spoolBytesMax} bytes`, {
    disposition: 'hold-back',
    hint: 'Check the sinks: records leave the spool once every sink has them. Or raise storage.spool_max',
  });
}

function toShareTaken(router: string): StoreError {
  return new StoreError('share', `The waiting records of ${router} take as much of the spool as is free`, {
    disposition: 'hold-back',
    hint: 'Look at the sinks, and at the lines that this router writes. Or raise storage.spool_max',
  });
}

function toLostPosition(logs: string, router: string): StoreError {
  return new StoreError('damaged', `Stored records of ${logs} of ${router} were lost, so it has to be read again`, {
    disposition: 'retry',
  });
}
