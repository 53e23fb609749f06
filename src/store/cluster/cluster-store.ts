import { randomBytes } from 'node:crypto';
import { openDeadline, untilAborted } from '../../base/index.ts';
import type { Slice, SliceBounds } from '../../model/index.ts';
import type { FactsCommit, LogChoice, LogCommit, SinkStart, SpoolCursor, Store } from '../contracts.ts';
import type { StoreError } from '../errors.ts';
import { Absence } from './absence.ts';
import { ClusterLetters, type ClusterLettersOptions } from './cluster-letters.ts';
import { CommitQueue } from './commit-queue.ts';
import { Janitor } from './janitor.ts';
import { ClusterLink, type Engine, toEngine } from './link.ts';
import { OpenRouters } from './open-routers.ts';
import type { DamagedRecords } from './sink-reader.ts';
import { SinkReaders } from './sink-readers.ts';
import { StreamWatch } from './stream-watch.ts';
import { Subjects } from './subjects.ts';

/** The cluster, this replica, and who owns what. */
export interface ClusterStoreOptions extends Engine {
  /** Name of this replica. */
  readonly replica: string;
  /** The configured sinks, as for `setSinks`. */
  readonly sinks: readonly SinkStart[];
  /** True while the lease of this replica holds and a router, a sink or the janitor's work is its own. Asked before each write. */
  readonly isOwner: (kind: 'router' | 'sink' | 'janitor', name: string) => boolean;
  /** True while a sink of this replica is about to go to another one. Default: they never do. */
  readonly isLeaving?: ((sink: string) => boolean) | undefined;
  /** Another value than before whenever others may have served a sink of this replica since. Default: they never do. */
  readonly termOf?: ((sink: string) => number) | undefined;
  /**
   * True if a replica has a router configured, or if it cannot be told. What the stream holds of others is removed after a week.
   * Default: nothing is removed.
   */
  readonly mayKnow?: ((router: string) => boolean) | undefined;
  /** True if some replica serves a sink, whether or not this one knows it. Default: none does. */
  readonly isServed?: ((sink: string) => boolean) | undefined;
  /** Called with the names of routers of which everything was removed. */
  readonly onForgotten?: ((routers: readonly string[]) => void) | undefined;
  /** Called when there may be more for a sink than at its last reading, so that it is woken. */
  readonly onRecords: (sink: string) => void;
  /** Called when this replica begins to serve a sink. */
  readonly onServing?: ((sink: string) => void) | undefined;
  /** Called when the records for a sink do not arrive any more, and are read anew from where they stopped. */
  readonly onSilent?: ((sink: string, cause: unknown) => void) | undefined;
  /** Called when a server of the engine that does not answer is left for the next one. */
  readonly onLeft?: (() => void) | undefined;
  /** Called when records in the stream cannot be read, and are passed over. */
  readonly onDamaged?: ((damaged: DamagedRecords) => void) | undefined;
  /** Limits of the dead letters, and who is told of those that were dropped. */
  readonly letters?: Pick<ClusterLettersOptions, 'bytesMax' | 'keepMs' | 'onDropped'> | undefined;
  /** Called when the stream is not as it must be. Default: only told by `checkWritable`. */
  readonly onFault?: ((fault: StoreError) => void) | undefined;
}

/** Longest wait for the engine when the store closes. Milliseconds. */
const CLOSE_MS_MAX = 300;
/**
 * Positions, facts, values and the queue of records of all replicas of a cluster, in one stream of NATS JetStream. A step is one
 * atomic batch: its records, then the position, which is refused unless it replaces the position that was read here.
 *
 * What a router has is loaded by {@link openRouter} and kept, so that reads do not wait. See decision 0028.
 */
export class ClusterStore implements Store {
  readonly #options: ClusterStoreOptions;
  readonly #link: ClusterLink;
  readonly #queue: CommitQueue;
  readonly #janitor: Janitor;
  readonly #watch: StreamWatch;
  readonly #routers: OpenRouters;
  readonly #readers: SinkReaders;
  readonly #closing = new AbortController();
  #sinks: readonly SinkStart[];
  /** The dead letters of the cluster. */
  readonly letters: ClusterLetters;

  constructor(options: ClusterStoreOptions) {
    const { cluster, replica, mayKnow = () => true, isServed = () => false } = options;
    this.#options = options;
    this.#sinks = options.sinks;
    const subjects = new Subjects(cluster);
    const link = new ClusterLink(toEngine(options), () => this.#watch.noteConnected(), options.onLeft);
    this.#link = link;
    this.#watch = new StreamWatch({
      link,
      subjects,
      onReady: (lettersState) => {
        this.letters.noteRoom(lettersState);
        for (const { name } of this.#sinks) options.onRecords(name);
      },
      onFault: (fault) => options.onFault?.(fault),
      onState: ({ lastSeq }) => {
        // The stream was made anew, and what comes now has numbers that were read already.
        if (lastSeq < this.#readers.seenSeq) void this.#readers.closeAll();
      },
    });
    const isOwner = (kind: 'router' | 'sink' | 'janitor', name: string) => this.#isOwner(kind, name);
    const queue = new CommitQueue({
      link,
      stream: subjects.stream,
      replica,
      prefix: randomBytes(9).toString('base64url'),
      isOwner: ({ kind, name }) => isOwner(kind, name),
      onStale: ({ kind, name }) => (kind === 'router' ? this.#routers.noteStale(name) : void this.#readers.close(name)),
      onStored: (bytes) => this.#watch.addBytes(bytes),
    });
    this.#queue = queue;
    this.#routers = new OpenRouters({ link, subjects, queue, checkRoom: (bytes) => this.#watch.checkRoom(bytes) });
    this.#readers = new SinkReaders({
      link,
      subjects,
      queue,
      now: () => link.clock.now(),
      sinks: () => this.#sinks,
      serves: (sink) => this.serves(sink),
      termOf: (sink) => this.termOf(sink),
      isReady: () => !this.isWaiting,
      onRecords: options.onRecords,
      onServing: options.onServing,
      onSilent: (sink, cause) => {
        options.onSilent?.(sink, cause);
        void this.#watch.look();
      },
      onDamaged: options.onDamaged,
    });
    this.letters = new ClusterLetters({
      link,
      subjects,
      ...options.letters,
      isOwner: (sink) => this.serves(sink),
      ownsOrphans: (sink) => isOwner('janitor', 'janitor') && !isServed(sink),
    });
    this.#janitor = new Janitor({
      link,
      subjects,
      isOwner: () => isOwner('janitor', 'janitor'),
      isTight: () => this.#watch.isTight,
      sinks: () => this.#sinks.map(({ name }) => name),
      isServed,
      removeAbsent: async () => {
        const absence = new Absence({ link, subjects, mayKnow });
        const removed = await absence.look();
        if (removed.length > 0) options.onForgotten?.(removed);
      },
    });
  }

  /** Connects. Rejects if a stream is missing or not as it must be, and with `unwritable` while no server answers. */
  async open(): Promise<void> {
    void this.#janitor.run();
    this.#watch.begin();
    this.letters.follow();
    await this.#link.ready();
    await this.#watch.whenChecked();
  }

  get isWaiting(): boolean {
    return this.#watch.state === undefined;
  }

  get spooled(): { readonly records: number; readonly bytes: number } {
    return { records: this.#readers.waiting, bytes: this.#watch.state?.bytes ?? 0 };
  }

  /** Maximum size of the stream; infinite while it is not known. Bytes. */
  get bytesMax(): number {
    return this.#watch.bytesMax;
  }

  openRouter(router: string): Promise<void> {
    return this.#routers.open(router);
  }

  closeRouter(router: string): Promise<void> {
    return this.#routers.close(router);
  }

  readPositions(router: string): Map<string, string> {
    return this.#routers.readPositions(router);
  }

  readFacts(router: string): string | undefined {
    return this.#routers.readFacts(router);
  }

  readValue(router: string, key: string): string | undefined {
    return this.#routers.readValue(router, key);
  }

  writeValue(router: string, key: string, text: string): Promise<void> {
    return this.#routers.writeValue(router, key, text);
  }

  forgetLogs(router: string, components: readonly string[]): Promise<void> {
    return this.#routers.forgetLogs(router, components);
  }

  async commit(...commits: (LogCommit | FactsCommit)[]): Promise<void> {
    await this.#routers.commit(...commits);
  }

  /** The stream is shared as it comes: a router is held back with all others, when it is full. */
  hasShare(_router: string): boolean {
    return true;
  }

  /** Removes nothing: another replica may still have a router. The janitor removes what nobody knows. */
  keepRouters(_configured: readonly string[], _nowMs: number): Promise<string[]> {
    return Promise.resolve([]);
  }

  async setSinks(sinks: readonly SinkStart[]): Promise<void> {
    const same = (one: SinkStart) =>
      sinks.some(({ name, replayMs = 0 }) => name === one.name && replayMs === (one.replayMs ?? 0));
    const changed = this.#sinks.filter((one) => !same(one));
    this.#sinks = sinks;
    await Promise.all(
      changed.map(async ({ name }) => {
        // A reader that is opened meanwhile would begin where the sink was before.
        await this.#queue.settle({ kind: 'sink', name });
        await this.#readers.close(name);
      }),
    );
  }

  isLeaving(sink: string): boolean {
    return this.#options.isLeaving?.(sink) ?? false;
  }

  termOf(sink: string): number {
    return this.#options.termOf?.(sink) ?? 0;
  }

  serves(sink: string): boolean {
    return !this.#closing.signal.aborted && this.#isOwner('sink', sink);
  }

  /** Nothing is this replica's before the streams are known to be as they must be: another format is left as it is. */
  #isOwner(kind: 'router' | 'sink' | 'janitor', name: string): boolean {
    return !this.isWaiting && this.#options.isOwner(kind, name);
  }

  readSlice(sink: string, bounds: SliceBounds): Slice<SpoolCursor> | undefined {
    return this.#readers.find(sink)?.readSlice(bounds);
  }

  async acknowledge(sink: string, cursor: SpoolCursor): Promise<void> {
    const reader = await this.#readers.whenOpen(sink);
    await reader.acknowledge(cursor);
  }

  async repeat(sink: string, endedMs?: number): Promise<void> {
    const reader = await this.#readers.whenOpen(sink);
    await reader.repeat(endedMs);
  }

  countWaiting(sink: string, isWanted: LogChoice = () => true): number {
    return this.#readers.find(sink)?.countWaiting(isWanted) ?? 0;
  }

  oldestWaitingMs(sink: string, isWanted: LogChoice = () => true): number | undefined {
    return this.#readers.find(sink)?.oldestWaitingMs(isWanted);
  }

  checkWritable(): void {
    this.#watch.checkWritable();
  }

  /** Purges what no sink needs any more, if this replica is the janitor. Also done now and then. */
  async purge(): Promise<void> {
    await this.#janitor.purge();
    await this.#watch.look();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#watch.close();
    this.letters.close();
    this.#janitor.close();
    using deadline = openDeadline(this.#link.clock, CLOSE_MS_MAX);
    // Cursors of what sinks have taken, among others. What is sent again while no server answers ends with the time.
    await untilAborted(this.#queue.settle(), deadline.signal).catch(() => {});
    this.#queue.close();
    const ended = Promise.all([this.#queue.settle(), this.#readers.end()]);
    await untilAborted(ended, deadline.signal).catch(() => {});
    // What an engine that hangs has not answered ends with the connection.
    await this.#link.close();
    await ended;
  }
}
