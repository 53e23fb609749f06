import type { Completion, FactsCommit, LogCommit, Slice, SliceBounds } from '../model/index.ts';
import type { Soon } from './letters.ts';
import type { Rebuilt } from './rebuild.ts';

export type { FactsCommit, LogCommit } from '../model/index.ts';

/**
 * Share of the space for records that must be free before logs are read again after a pause, so that a single record does not
 * start and stop a fleet.
 */
export const RESUME_SHARE = 0.1;

/** Folder, sinks and limits of the store. */
export interface EmbeddedStoreOptions {
  /** Folder of the database; created if missing. */
  readonly path: string;
  /** The configured sinks, as for `EmbeddedStore.setSinks`. Default: those that the database has. */
  readonly sinks?: readonly SinkStart[] | undefined;
  /** Maximum compressed size in bytes of the spooled records: those waiting for sinks plus those kept for replay. */
  readonly spoolBytesMax: number;
  /** The last lines of each router, kept for the pages. Default: none are kept. */
  readonly recent?: RecentLinesSettings | undefined;
  /** Maximum size of the database file in bytes. Default: the size of the disk. */
  readonly databaseBytesMax?: number | undefined;
  /**
   * Free disk space in bytes below which no records are accepted, so that acknowledgements can still be stored. Default
   * 16 MiB, and never more than an eighth of the disk.
   */
  readonly diskReserveBytes?: number | undefined;
  /** Returns the wall time in milliseconds since the Unix epoch. */
  readonly now: () => number;
  /**
   * True: a disk that cannot be written when the store is created is no error; every call tries again to open the
   * database, and throws until it can. Default false.
   */
  readonly canWait?: boolean | undefined;
  /** Called after a damaged database has been rebuilt from what could be read. Default: not reported. */
  readonly onRebuilt?: ((rebuilt: Rebuilt) => void) | undefined;
  /** Called when a database of an older format was put aside, so that everything starts anew. Default: it is refused. */
  readonly onOlder?: ((older: OlderState) => void) | undefined;
  /** Called when the database file existed and was empty, so that everything starts anew. Default: not reported. */
  readonly onEmpty?: ((file: string) => void) | undefined;
  /**
   * Called when a damaged batch of the spool has been dropped. The position of its log is removed, so that its lines
   * are read again; a batch without a router, whose log is not known any more, is lost. Default: not reported.
   */
  readonly onDamaged?:
    | ((damaged: { readonly router: string; readonly component: string; readonly records: number }) => void)
    | undefined;
}

/** A database of an older format that was put aside. */
export interface OlderState {
  readonly format: number;
  /** Undelivered records, or dead letters, that it holds; `undefined` if it cannot be read. */
  readonly records: number | undefined;
  /** New name of its file. */
  readonly file: string;
}

/** Bounds of the last lines kept for the pages, and the function that finds their times. */
export interface RecentLinesSettings {
  /** Size of the kept lines of all routers, compressed; each may use the same share. 0: none are kept. Bytes. */
  readonly bytesMax: number;
  /** Returns the earliest and the latest time of records that are separated by line feeds. */
  readonly spanOf: (bytes: Uint8Array) => TimeSpan;
}

/** The earliest and the latest of some times. Wall time in milliseconds since the Unix epoch. */
export interface TimeSpan {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** The records of one commit of a log among the last lines of its router. */
export interface RecentBatch extends TimeSpan {
  readonly router: string;
  /** Number among the commits of its router, in their order. */
  readonly seq: number;
  readonly component: string;
}

/** A place among all last lines, in the order of the latest records of the commits. */
export type RecentPlace = Pick<RecentBatch, 'router' | 'seq' | 'lastMs'>;

/** A configured sink, and where it starts if it is new: at the oldest spooled record, or after the newest. */
export interface SinkStart {
  readonly name: string;
  readonly start: 'oldest' | 'newest';
  /** Period whose records may be redelivered, because the sink may lose what it took. Milliseconds; default 0: none. */
  readonly replayMs?: number | undefined;
}

/** Returns true if a sink wants a log. Batches whose log is not known any more, as after damage, are always wanted. */
export type LogChoice = (router: string, component: string) => boolean;

/** A position in the spool: everything before `index` of batch `batch` has been passed. */
export interface SpoolCursor {
  readonly batch: number;
  readonly index: number;
}

/**
 * Positions, facts, values and the queue of records of the routers that run in this process: on its disk (`EmbeddedStore`), or
 * shared by the replicas of a cluster (`ClusterStore`). What an embedded store throws, one in an engine may reject with; all of
 * it is `StoreError`. Reads never wait: they are of what {@link openRouter} has loaded and of what was written since.
 */
export interface Store {
  /** True while the store could not be opened since the start. */
  readonly isWaiting: boolean;
  /** Records that at least one sink has yet to get, and their bytes as stored. */
  readonly spooled: { readonly records: number; readonly bytes: number };

  /**
   * Loads what is known of a router, before its first run here. Again after a commit was `fenced`: another replica has moved
   * its logs. Does nothing for a router that is open, unless that happened.
   */
  openRouter(router: string): Completion;
  /** Resolves when nothing of the router is under way, and forgets what was loaded of it: another replica may run it. */
  closeRouter(router: string): Completion;
  /** Returns the positions of all logs of a router, by component. */
  readPositions(router: string): Map<string, string>;
  /** Returns the facts learnt about a router as a whole; `undefined` when nothing is stored. */
  readFacts(router: string): string | undefined;
  /** Forgets the positions of logs. Records that wait for sinks stay. */
  forgetLogs(router: string, components: readonly string[]): Completion;
  /**
   * Adds records to the queue, advances the positions of their logs and stores facts: all of `commits`, which are of one
   * router, or nothing. The records are taken over within the call. With code `full`, `share`, `unwritable` or `fenced` nothing
   * is changed; with `damaged`, the position was lost since it was read.
   */
  commit(...commits: (LogCommit | FactsCommit)[]): Completion;
  /** True if a router that was refused with `share` may add records again. */
  hasShare(router: string): boolean;
  /**
   * Sets the configured routers; resolves with the names of those whose state is removed, because they were not configured for a
   * week. One call at a time.
   */
  keepRouters(configured: readonly string[], nowMs: number): Promise<string[]>;
  /** Returns the value of a router stored under `key`, if there is one. */
  readValue(router: string, key: string): string | undefined;
  /** Stores a value of a router under `key`, replacing the previous one; `too-long` above 16 Ki characters. */
  writeValue(router: string, key: string, text: string): Completion;

  /**
   * Changes the set of sinks. The cursor of a removed sink is dropped, with the records that only it was waiting for. A new
   * sink gets everything still spooled, or only what comes from now on.
   */
  setSinks(sinks: readonly SinkStart[]): Completion;
  /** False while another replica serves the sink, or may. Absent: there is no other. */
  serves?(sink: string): boolean;
  /** True while the sink is about to go to another replica: what was begun ends, and nothing new begins. */
  isLeaving?(sink: string): boolean;
  /** Another value than before when another replica may have served the sink since. Absent: there is no other. */
  termOf?(sink: string): number;
  /** Returns the next records for `sink`, in commit order; `undefined` if none are here. */
  readSlice(sink: string, bounds: SliceBounds): Slice<SpoolCursor> | undefined;
  /** Moves the cursor of a sink past settled records, never back. */
  acknowledge(sink: string, cursor: SpoolCursor): Completion;
  /**
   * Redelivers to a sink, ahead of new records, what it took in its `replayMs` before `endedMs` or, without that, before it took
   * its last records.
   */
  repeat(sink: string, endedMs?: number): Completion;
  /** Number of records that a sink has yet to acknowledge, of the logs it wants. */
  countWaiting(sink: string, isWanted?: LogChoice): number;
  /** Commit time of the oldest record that a sink has yet to acknowledge; `undefined` if there is none. Wall time in ms. */
  oldestWaitingMs(sink: string, isWanted?: LogChoice): number | undefined;

  /**
   * Throws what {@link commit} would reject with because of the disk or the engine, as far as that is known. Says nothing of the room
   * that records have among each other.
   */
  checkWritable(): void;
  /** Ends the use of the store. */
  close(): Completion;
}

/** State of a router besides its records. */
export interface RouterState {
  /** Positions by component. */
  readonly positions: ReadonlyMap<string, string>;
  /** Values by key. */
  readonly values: ReadonlyMap<string, string>;
  readonly facts: string | undefined;
}

/** Records of one step of one log, as they are stored. */
export interface StoredBatch {
  /** Number among the batches of its store. */
  readonly seq: number;
  readonly router: string;
  readonly component: string;
  /** Wall time in milliseconds since the Unix epoch. */
  readonly committedMs: number;
  /** Number of the records. */
  readonly records: number;
  /** The records, packed; empty if they cannot be read. */
  readonly body: Uint8Array;
}

/** What is added to a router: records, and state that replaces what there is under the same names. */
export interface RouterAddition extends Partial<RouterState> {
  readonly router: string;
  readonly batches?: readonly Omit<StoredBatch, 'seq' | 'router'>[];
}

/** A store from which, or to which, the state of routers is moved. A router has to be open, as for `Store`. */
export interface MovableStore extends Pick<Store, 'openRouter'> {
  /** Names of the sinks that have a cursor. */
  listSinks(): Soon<readonly string[]>;
  /** Gives a cursor to sinks that have none, behind the newest record: they may be ones that start there. */
  beginSinks(names: readonly string[]): Completion;
  /** Names of the routers of which something is stored. */
  listRouters(): Soon<readonly string[]>;
  /** Returns what was stored of a router when it was opened, and what was added here since. */
  readState(router: string): RouterState;
  /** Yields the batches that not every sink has, or that one gets again, in their order; at most a few megabytes at a time. */
  readWaiting(): Iterable<readonly StoredBatch[]> | AsyncIterable<readonly StoredBatch[]>;
  /** Throws `full` if records of so many bytes would take what has to stay free. */
  checkRoom(bytes: number): Completion;
  /** Adds to each of these routers all or nothing. `fenced` if one has changed elsewhere since it was opened. */
  addTo(routers: readonly RouterAddition[]): Completion;
  /** Removes what is stored of routers, and their records up to a batch. `fenced` as for {@link addTo}. */
  removeRouters(routers: readonly { readonly router: string; readonly lastSeq: number }[]): Completion;
}
