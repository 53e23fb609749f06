import type { Completion, Soon, Store } from './contracts.ts';
import type { DeadLetters } from './dead-letters.ts';

/** State of a router apart from its records. */
export interface RouterState {
  readonly positions: ReadonlyMap<string, string>;
  readonly values: ReadonlyMap<string, string>;
  readonly facts: string | undefined;
}

/** Stored records of one step of one log. */
export interface StoredBatch {
  /** Batch number in its store. */
  readonly seq: number;
  readonly router: string;
  readonly component: string;
  /** Wall time in milliseconds since the Unix epoch. */
  readonly committedMs: number;
  readonly records: number;
  /** Packed records; empty if they cannot be read. */
  readonly body: Uint8Array;
}

/** Records and state to add to a router; state replaces what exists under the same names. */
export interface RouterAddition extends Partial<RouterState> {
  readonly router: string;
  readonly batches?: readonly Omit<StoredBatch, 'seq' | 'router'>[];
}

/** A store from or to which router state is moved. Routers must be open, as for `Store`. */
export interface MovableStore extends Pick<Store, 'openRouter'> {
  /** Names of the sinks that have a cursor. */
  listSinks(): Soon<readonly string[]>;
  /** Creates a cursor after the newest record for sinks that have none: their configuration may start there. */
  beginSinks(names: readonly string[]): Completion;
  listRouters(): Soon<readonly string[]>;
  /** Returns the state as of opening plus what was added here since. */
  readState(router: string): RouterState;
  /** Yields batches that at least one sink has yet to get, in order; at most a few megabytes at a time. */
  readWaiting(): Iterable<readonly StoredBatch[]> | AsyncIterable<readonly StoredBatch[]>;
  /** Throws `full` if so many bytes do not fit on top of the reserve. */
  checkRoom(bytes: number): Completion;
  /** Adds to each of these routers all or nothing. `fenced` if one has changed elsewhere since it was opened. */
  addTo(routers: readonly RouterAddition[]): Completion;
  /** Removes the state of routers, and their records up to `lastSeq`. `fenced` as for {@link addTo}. */
  removeRouters(routers: readonly { readonly router: string; readonly lastSeq: number }[]): Completion;
}

/** Source or target of moved state: a folder or a cluster. */
export interface StatePlace {
  /** Creates an empty folder for temporary copies. Default: in the system's folder for temporary files. */
  readonly createWorkFolder?: (() => string) | undefined;
  /** Rejects if one of these routers is running or about to run elsewhere. Called before anything is stored or removed. */
  readonly checkFree: (routers: readonly string[]) => Promise<void>;
  readonly use: <T>(work: (state: OpenState) => Promise<T>) => Promise<T>;
}

/** A store with its dead letters. */
export interface OpenState {
  readonly store: MovableStore;
  readonly deadLetters: DeadLetters;
}
