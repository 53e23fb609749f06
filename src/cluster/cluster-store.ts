import { randomBytes } from 'node:crypto';
import { openDeadline, untilAborted } from '../base/index.ts';
import {
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
} from '../model/index.ts';
import { ClusterDeadLetters, type ClusterDeadLettersOptions } from './cluster-dead-letters.ts';
import { CommitQueue } from './commit-queue.ts';
import { readCursors, readWaiting, renderPlace } from './cursors.ts';
import { Janitor } from './janitor.ts';
import { ClusterLink, type Engine, toEngine } from './link.ts';
import { listStoredRouters, OpenRouters } from './open-routers.ts';
import { type DamagedRecords, SinkReaders } from './sink-reader.ts';
import { StreamWatch } from './stream.ts';
import { Subjects } from './subjects.ts';

interface LastLines {
  addRecent(commits: readonly LogCommit[]): void;
  keepRouters(configured: readonly string[], nowMs: number): Promise<unknown>;
}

/** The cluster, this replica, and the ownership of routers and sinks. */
export interface ClusterStoreOptions extends Engine {
  readonly replica: string;
  /** The configured sinks, as for `setSinks`. */
  readonly sinks: readonly SinkStart[];
  /**
   * Returns true while the lease of this replica holds and it owns a router, a sink or the janitor's work. Checked before
   * each write.
   */
  readonly isOwner: (kind: 'router' | 'sink' | 'janitor', name: string) => boolean;
  /** Returns true while a sink of this replica is about to move to another one. Default: never. */
  readonly isLeaving?: ((sink: string) => boolean) | undefined;
  /** Returns a value that changes when another replica may have served a sink of this one. Default: never. */
  readonly termOf?: ((sink: string) => number) | undefined;
  /**
   * Returns true if a replica has a router configured, or if that is unknown. Stored data of other routers is removed after a
   * week. Default: nothing is removed.
   */
  readonly mayKnow?: ((router: string) => boolean) | undefined;
  /** Returns true if a replica serves a sink, whether or not this one has it configured. Default: none does. */
  readonly isServed?: ((sink: string) => boolean) | undefined;
  /** Keeps the last lines of the routers that run here, for the pages. Its failures never fail a commit. Default: none are kept. */
  readonly local?: LastLines | undefined;
  /** Called with the names of routers whose data was removed. */
  readonly onForgotten?: ((routers: readonly string[]) => void) | undefined;
  /** Called when there may be new records for a sink, to wake it. */
  readonly onRecords: (sink: string) => void;
  /** Called when this replica begins to serve a sink. */
  readonly onServing?: ((sink: string) => void) | undefined;
  /** Called when the records for a sink stop arriving; they are read again from there. */
  readonly onSilent?: ((sink: string, cause: unknown) => void) | undefined;
  /** Called when an unresponsive server of the engine is left for the next one. */
  readonly onLeft?: (() => void) | undefined;
  /** Called when unreadable records in the stream are skipped. */
  readonly onDamaged?: ((damaged: DamagedRecords) => void) | undefined;
  /** Limits of the dead letters, and the callback for dropped ones. */
  readonly deadLetters?: Pick<ClusterDeadLettersOptions, 'bytesMax' | 'keepMs' | 'onDropped'> | undefined;
  /** Called when the stream lacks a required setting. Default: only reported by `checkWritable`. */
  readonly onFault?: ((fault: StoreError) => void) | undefined;
}

/** Longest wait for the engine when the store closes. Milliseconds. */
const CLOSE_MS_MAX = 300;
/**
 * Positions, facts, values and the record queue of all replicas of a cluster, in one stream of NATS JetStream. A step is one
 * atomic batch: its records, then the position, which is rejected unless it replaces the position that was read here.
 *
 * The state of a router is loaded by {@link openRouter} and kept, so that reads do not wait. See decision 0028.
 */
export class ClusterStore implements Store, MovableStore {
  readonly #options: ClusterStoreOptions;
  readonly #link: ClusterLink;
  readonly #subjects: Subjects;
  readonly #queue: CommitQueue;
  readonly #janitor: Janitor;
  readonly #watch: StreamWatch;
  readonly #routers: OpenRouters;
  readonly #readers: SinkReaders;
  readonly #closing = new AbortController();
  #sinks: readonly SinkStart[];
  readonly deadLetters: ClusterDeadLetters;

  constructor(options: ClusterStoreOptions) {
    const { cluster, replica, mayKnow = () => true, isServed = () => false } = options;
    this.#options = options;
    this.#sinks = options.sinks;
    const subjects = new Subjects(cluster);
    this.#subjects = subjects;
    const link = new ClusterLink(toEngine(options), () => this.#watch.onConnected(), options.onLeft);
    this.#link = link;
    this.#watch = new StreamWatch({
      link,
      subjects,
      onReady: (deadLettersState) => {
        this.deadLetters.setRoom(deadLettersState);
        for (const { name } of this.#sinks) options.onRecords(name);
      },
      onFault: (fault) => options.onFault?.(fault),
      onState: ({ lastSeq }) => {
        // The stream was recreated: new messages have numbers that were read already.
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
      onStale: ({ kind, name }) => (kind === 'router' ? this.#routers.markStale(name) : void this.#readers.close(name)),
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
    this.deadLetters = new ClusterDeadLetters({
      link,
      subjects,
      ...options.deadLetters,
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
      mayKnow,
      onForgotten: options.onForgotten,
    });
  }

  /** Connects. Rejects if a stream is missing or lacks a required setting, and with `unwritable` while no server answers. */
  async open(): Promise<void> {
    void this.#janitor.run();
    this.#watch.begin();
    this.deadLetters.follow();
    await this.#link.ready();
    await this.#watch.whenChecked();
  }

  get isWaiting(): boolean {
    return this.#watch.state === undefined;
  }

  get spooled(): { readonly records: number; readonly bytes: number } {
    return { records: this.#readers.waiting, bytes: this.#watch.state?.bytes ?? 0 };
  }

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
    await this.#keepLocally((local) => local.addRecent(commits.filter((commit) => 'position' in commit)));
  }

  /** Always true: the stream has no shares; when it is full, all routers wait. */
  hasShare(_router: string): boolean {
    return true;
  }

  /** Removes last lines only: another replica may still have a router. The janitor removes data of routers that no replica has. */
  async keepRouters(configured: readonly string[], nowMs: number): Promise<string[]> {
    await this.#keepLocally((local) => local.keepRouters(configured, nowMs));
    return [];
  }

  async #keepLocally(work: (local: LastLines) => unknown): Promise<void> {
    try {
      if (this.#options.local) await work(this.#options.local);
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
    }
  }

  async setSinks(sinks: readonly SinkStart[]): Promise<void> {
    const same = (one: SinkStart) =>
      sinks.some(({ name, replayMs = 0 }) => name === one.name && replayMs === (one.replayMs ?? 0));
    const changed = this.#sinks.filter((one) => !same(one));
    this.#sinks = sinks;
    await Promise.all(
      changed.map(async ({ name }) => {
        // A reader opened meanwhile would begin at the old cursor.
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

  /** False until the streams are checked: a stream of another format is left unchanged. */
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

  /** Purges what no sink needs any more, if this replica is the janitor. Also runs periodically. */
  async purge(): Promise<void> {
    await this.#janitor.purge();
    await this.#watch.look();
  }

  async listSinks(): Promise<readonly string[]> {
    return (await readCursors(this.#link, this.#subjects)).map(({ sink }) => sink);
  }

  async beginSinks(names: readonly string[]): Promise<void> {
    const known = new Set(await this.listSinks());
    await this.#watch.look();
    const place = renderPlace({ cursor: { batch: (this.#watch.state?.lastSeq ?? 0) + 1, index: 0 }, taken: [] });
    for (const name of names.filter((sink) => !known.has(sink))) {
      const subject = this.#subjects.of({ kind: 'cur', sink: name });
      this.#queue.recordSequence(subject, 0);
      await this.#queue
        .commit({ owned: { kind: 'sink', name }, added: [], fenced: [{ subject, payload: Buffer.from(place) }] })
        .catch((cause: unknown) => {
          // A replica has begun to serve it, before these records.
          if (!(cause instanceof StoreError && cause.code === 'fenced')) throw cause;
        });
    }
  }

  async listRouters(): Promise<readonly string[]> {
    const subjects = this.#subjects;
    return [...(await listStoredRouters(this.#link, subjects, [...subjects.states, subjects.records]))];
  }

  readState(router: string): RouterState {
    return this.#routers.readState(router);
  }

  readWaiting(): AsyncGenerator<readonly StoredBatch[]> {
    const sinks = this.#sinks.map(({ name }) => name);
    return readWaiting(this.#link, this.#subjects, sinks);
  }

  async checkRoom(bytes: number): Promise<void> {
    await this.#watch.look();
    this.#watch.checkRoom(bytes);
  }

  async addTo(routers: readonly RouterAddition[]): Promise<void> {
    await Promise.all(routers.map((router) => this.#routers.add(router)));
  }

  async removeRouters(routers: readonly { readonly router: string; readonly lastSeq: number }[]): Promise<void> {
    await Promise.all(routers.map(({ router, lastSeq }) => this.#routers.remove(router, lastSeq)));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#watch.close();
    this.deadLetters.close();
    this.#janitor.close();
    using deadline = openDeadline(this.#link.clock, CLOSE_MS_MAX);
    // Among others, cursors of accepted records. Retries while no server answers end with the deadline.
    await untilAborted(this.#queue.settle(), deadline.signal).catch(() => {});
    this.#queue.close();
    const ended = Promise.all([this.#queue.settle(), this.#readers.end()]);
    await untilAborted(ended, deadline.signal).catch(() => {});
    // Requests that an unresponsive engine has not answered end with the connection.
    await this.#link.close();
    await ended;
  }
}
