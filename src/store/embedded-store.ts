import { join } from 'node:path';
import { LineRanges } from '../base/index.ts';
import type { Slice, SliceBounds } from '../model/index.ts';
import type {
  EmbeddedStoreOptions,
  FactsCommit,
  LogChoice,
  LogCommit,
  MovableStore,
  RecentBatch,
  RecentPlace,
  RouterAddition,
  RouterState,
  SinkStart,
  SpoolCursor,
  Store,
  StoredBatch,
} from './contracts.ts';
import {
  isDamage,
  isDiskFault,
  StoreError,
  toLostPosition,
  toShareTaken,
  toSpoolFull,
  toStoreError,
} from './errors.ts';
import { finishRebuild, rebuildDatabase } from './rebuild.ts';
import { type PackedCommit, packCommits, RecentLines } from './recent-lines.ts';
import { keepRouters, type Transact } from './router-absences.ts';
import { checkValue, listRouters, readState, readValue, removeRouters, writeValue } from './router-tables.ts';
import { openCurrent, openState, STATE_FILE, touch } from './schema.ts';
import { DamagedBatch, SpoolTable } from './spool-table.ts';
import { compact, DISK_RESERVE_BYTES, hasReserve, isEmptyFile, makeFolder, type SqliteFile } from './sqlite-file.ts';

/** Time for which the positions of a router are kept after it was removed from the configuration. */
const ABSENCE_GRACE_MS = 7 * 86_400_000;
/** Limit of the damaged batches dropped in one call; each is a transaction. */
const DAMAGED_BATCHES_MAX = 100;
/** Copying what can be read of a large database takes long: not every call tries that again where it failed. */
const REBUILD_INTERVAL_MS = 5000;

/** A router that has used its share goes on when this many times its waiting records are free. */
const RESUME_FACTOR = 2;

const isAnyLog: LogChoice = () => true;

interface Opened {
  readonly file: SqliteFile;
  readonly spool: SpoolTable;
  readonly recent: RecentLines | undefined;
}

/**
 * Positions and undelivered records in one SQLite database, so that both are committed in one transaction; and values of routers.
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
 *          (found while opening: the call goes on)
 * ```
 */
export class EmbeddedStore implements Store, MovableStore, Disposable {
  readonly #options: EmbeddedStoreOptions;
  readonly #path: string;
  readonly #forgotten = new ForgottenLogs();
  #sinks: readonly SinkStart[] | undefined;
  #opened: Opened | undefined;
  #isClosed = false;
  /** True until the database was open for the first time. */
  #isWaiting = true;
  #spooled = { records: 0, bytes: 0 };
  /** Why the last rebuild failed, and when. */
  #failedRebuild: { readonly error: StoreError; readonly atMs: number } | undefined;
  /** The configured routers; `undefined` until they are set. */
  #configured: readonly string[] | undefined;

  /** Number of configured routers: the only one may use the whole spool. */
  get #routers(): number {
    return this.#configured?.length ?? 1;
  }

  /**
   * Opens or creates the database; a damaged one is rebuilt. Throws {@link StoreError} `locked`, `broken`, or, unless
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

  /** True while the disk has not let the database be opened since the start. */
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
    // Not later: a disk that is not mounted any more must not be replaced by an empty folder.
    if (this.#isWaiting) makeFolder(this.#options.path);
    if (finishRebuild(this.#path)) this.#forgetAll();
    const { databaseBytesMax, recent } = this.#options;
    const file = openState(this.#path, databaseBytesMax);
    try {
      const opened = { file, spool: new SpoolTable(file), recent: recent && new RecentLines(file, recent) };
      const sinks = this.#sinks;
      if (sinks) file.transact(() => opened.spool.setSinks(sinks))();
      if (this.#configured) file.transact(() => opened.recent?.setRouters(this.#configured ?? []));
      this.#spooled = opened.spool.totals;
      this.#isWaiting = false;
      return opened;
    } catch (cause) {
      file.close();
      throw cause;
    }
  }

  /** Moves the damaged database aside and continues with a new one that contains what could be saved. */
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

  /** All positions are lost. Before the first opening nobody has read one. */
  #forgetAll(): void {
    if (!this.#isWaiting) this.#forgotten.addAll();
  }

  /** Records that at least one sink has yet to get, and their bytes as stored. */
  get spooled(): { readonly records: number; readonly bytes: number } {
    return this.#spooled;
  }

  /** Nothing to load: everything is in the database. */
  openRouter(_router: string): void {}

  /** Nothing is under way: every call is over when it returns. */
  closeRouter(_router: string): void {}

  /** Returns the positions of all logs of a router, by component. */
  readPositions(router: string): Map<string, string> {
    return this.#attempt(({ file }) => {
      const rows = file.all('SELECT component, position FROM log WHERE router = ?', router);
      this.#forgotten.recordRead(router);
      return new Map(rows.map((row) => [String(row['component']), String(row['position'])]));
    });
  }

  /** Forgets the positions of logs. Records that wait for sinks stay. */
  forgetLogs(router: string, components: readonly string[]): void {
    this.#attempt(({ file }) => {
      file.transact(() => {
        for (const component of components) {
          file.run('DELETE FROM log WHERE router = ? AND component = ?', router, component);
        }
      });
    });
  }

  /** Returns the facts learnt about a router as a whole; `undefined` when nothing is stored. */
  readFacts(router: string): string | undefined {
    return this.#attempt(({ file }) => {
      const row = file.get('SELECT text FROM fact WHERE router = ?', router);
      return row && String(row['text']);
    });
  }

  /**
   * Adds records to the spool, advances the positions of their logs and stores facts: all of `commits` in one
   * transaction, or nothing. Throws {@link StoreError}, with nothing changed: `full` when the spool or the disk is full, `share`
   * when the records of this router take as much of the spool as it may use, `unwritable` when the disk fails, and `damaged` when stored records of one of these logs were lost after its position was read.
   */
  commit(...commits: (LogCommit | FactsCommit)[]): void {
    const logs = commits.filter((commit) => 'position' in commit);
    const learnt = commits.filter((commit) => 'facts' in commit);
    const packed = packCommits(logs);
    const added = packed.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
    this.#attempt(({ file, spool, recent }) => {
      const lost = logs.find(({ router, component }) => this.#forgotten.has(router, component));
      if (lost) throw toLostPosition(lost.component, lost.router);
      const outdated = learnt.find(({ router }) => this.#forgotten.hasAll(router));
      if (outdated) throw toLostPosition('all logs', outdated.router);
      const { bytes } = spool.totals;
      // An empty spool accepts a batch of any size: otherwise a batch larger than the limit would never leave the
      // router.
      if (added > 0 && bytes > 0 && bytes + added > this.#options.spoolBytesMax)
        throw toSpoolFull(this.#options.spoolBytesMax);
      for (const router of new Set(packed.map((one) => one.router))) this.#checkShare(spool, router, packed, added);
      if (added > 0) this.#checkReserve();
      const excess = added > 0 ? bytes + spool.kept.bytes + added - this.#options.spoolBytesMax : 0;
      const committedMs = Math.floor(this.#options.now());
      const settles = transactRecent({ file, recent }, () => {
        for (const facts of learnt) writeFacts(file, facts);
        return [
          // Records that every sink has are dropped first: they must not hold back new lines.
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
   * Throws if the records of a router, with those of a commit, would take more than what is free afterwards. A router
   * without waiting records may always add some, so that its logs go on as long as there is room at all.
   */
  #checkShare(spool: SpoolTable, router: string, packed: readonly PackedCommit[], added: number): void {
    const own = packed.reduce((sum, one) => sum + (one.router === router ? (one.body?.length ?? 0) : 0), 0);
    const heldBytes = spool.bytesOf(router);
    if (own === 0 || heldBytes === 0 || this.#routers <= 1) return;
    if (heldBytes + own > this.#options.spoolBytesMax - spool.totals.bytes - added) throw toShareTaken(router);
  }

  /**
   * True if a router that was refused with `share` may add records again: its waiting records take less than half of what
   * is free, so that it does not start and stop with every batch.
   */
  hasShare(router: string): boolean {
    const heldBytes = this.#opened?.spool.bytesOf(router) ?? 0;
    const freeBytes = this.#options.spoolBytesMax - this.#spooled.bytes;
    return this.#routers <= 1 || heldBytes * RESUME_FACTOR <= freeBytes;
  }

  /**
   * Sets the currently configured routers. The positions of all others are kept for `graceMs`, in case they come back,
   * and then removed; resolves with the names of the removed routers.
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

  /** Adds to the last lines what another store has committed: positions and records that wait for sinks are there. */
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

  /**
   * Returns some of the last lines of a router, or of all routers: the next commits behind `place`, those with the latest
   * records first. Empty at the end.
   */
  listRecent(place: RecentPlace, router?: string): readonly RecentBatch[] {
    return this.#attempt(({ recent }) => recent?.list(place, router) ?? []);
  }

  /**
   * Returns the records of a commit among the last lines, separated by line feeds; `undefined` if it was dropped meanwhile or is
   * damaged.
   */
  readRecent({ router, seq }: RecentBatch): Buffer | undefined {
    return this.#attempt(({ recent }) => recent?.read(router, seq));
  }

  /**
   * Returns the next records for `sink`, in commit order; `undefined` if it has them all. A damaged batch is dropped
   * and reported, and the next one is read.
   */
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

  /** Drops a damaged batch and the position of its log, because the router may still have the lines. */
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
   * Changes the set of sinks, as opening with other `sinks` does. The cursor of a removed sink is dropped, together
   * with records that only it was waiting for. A new sink gets everything still spooled, or only what comes from now
   * on. Without any sink nothing is dropped: the spooled records wait for the next sink.
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

  /** Returns the value of a router stored under `key`, if there is one. */
  readValue(router: string, key: string): string | undefined {
    return this.#attempt(({ file }) => readValue(file, router, key));
  }

  /**
   * Stores a value of a router under `key`, replacing the previous one. Throws {@link StoreError} `too-long` above 16
   * Ki characters.
   */
  writeValue(router: string, key: string, text: string): void {
    checkValue(text);
    this.#attempt(({ file }) => writeValue(file, router, key, text));
  }

  /**
   * Number of records that a sink has yet to acknowledge, of the logs it wants. Cost does not depend on the backlog.
   */
  countWaiting(sink: string, isWanted: LogChoice = isAnyLog): number {
    return this.#attempt(({ spool }) => spool.countWaiting(sink, isWanted));
  }

  /**
   * Commit time of the oldest record that a sink has yet to acknowledge; `undefined` if there is none. Wall time in ms.
   */
  oldestWaitingMs(sink: string, isWanted: LogChoice = isAnyLog): number | undefined {
    return this.#attempt(({ spool }) => spool.oldestWaitingMs(sink, isWanted));
  }

  /**
   * Moves the sink's cursor past the acknowledged records, never back, and drops what every sink has and none may
   * replay.
   */
  acknowledge(sink: string, cursor: SpoolCursor): void {
    this.#attempt(({ file, spool }) => {
      file.transact(() => spool.acknowledge(sink, cursor, this.#options.now()))();
      compact(file);
    });
  }

  /**
   * Redelivers to a sink, ahead of new records, what it took in the `replayMs` before `endedMs` or, if that is not
   * given, before it took its last records. What it takes again counts as taken now. Its backlog does not change.
   */
  repeat(sink: string, endedMs?: number): void {
    this.#attempt(({ file, spool }) => file.transact(() => spool.repeat(sink, endedMs)));
  }

  /** Bytes of the records of a router that at least one sink has yet to get, as stored. */
  bytesOf(router: string): number {
    return this.#attempt(({ spool }) => spool.bytesOf(router));
  }

  /** A disk that has no room says so when it is written to. */
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
    // The next call counts anew what waits.
    this.#letGo();
  }

  /** Writes to the disk without changing data: throws what {@link commit} would throw because of the disk. */
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

  /** Closes the database; the write-ahead log is checkpointed. */
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

/** Runs a transaction that may change the last lines. */
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
 * Logs whose positions were removed while they may be being read. A read in progress has a position beyond the lost
 * lines; committing it would hide the loss.
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

  /** Returns true if all positions were lost since those of the router were read. */
  hasAll(router: string): boolean {
    return this.#readSince !== undefined && !this.#readSince.has(router);
  }

  has(router: string, component: string): boolean {
    return this.hasAll(router) || (this.#logs.get(router)?.has(component) ?? false);
  }
}
