import { randomBytes } from 'node:crypto';
import { openDeadline, packLines, type Timer, untilAborted } from '../../base/index.ts';
import type { Slice, SliceBounds } from '../../model/index.ts';
import type { NatsServers } from '../../net/index.ts';
import type { FactsCommit, LogChoice, LogCommit, SinkStart, SpoolCursor, Store } from '../contracts.ts';
import { StoreError } from '../errors.ts';
import { checkValue } from '../router-tables.ts';
import { Absence } from './absence.ts';
import { CommitQueue, type FencedWrite, type Owned, toFenced } from './commit-queue.ts';
import { Janitor } from './janitor.ts';
import { ClusterLink, type Message, toAway } from './link.ts';
import { readPayloadMax, toRecordMessages } from './record-messages.ts';
import { readRouterState } from './router-state.ts';
import type { DamagedRecords } from './sink-reader.ts';
import { SinkReaders } from './sink-readers.ts';
import { type ClusterStreamState, checkClusterStream, checkRoom, readStreamState, reserveOf } from './stream.ts';
import { Subjects } from './subjects.ts';

/** The cluster, this replica, and who owns what. */
export interface ClusterStoreOptions {
  /** Servers of the engine, with account and clock. */
  readonly servers: Omit<NatsServers, 'who' | 'peer'>;
  /** Name of the cluster. */
  readonly cluster: string;
  /** Name of this replica. */
  readonly replica: string;
  /** The configured sinks, as for `setSinks`. */
  readonly sinks: readonly SinkStart[];
  /** True while the lease of this replica holds and a router, a sink or the janitor's work is its own. Asked before each write. */
  readonly isOwner: (kind: 'router' | 'sink' | 'janitor', name: string) => boolean;
  /**
   * True if a replica has a router configured, or if it cannot be told. What the stream holds of others is removed after a week.
   * Default: nothing is removed.
   */
  readonly mayKnow?: ((router: string) => boolean) | undefined;
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
  /** Called when the stream is not as it must be. Default: only told by `checkWritable`. */
  readonly onFault?: ((fault: StoreError) => void) | undefined;
}

/** What is known of a router that is open here. */
interface OpenRouter {
  readonly positions: Map<string, string>;
  readonly values: Map<string, string>;
  facts: string | undefined;
  /** Subjects that can be written to. */
  readonly subjects: Set<string>;
  /** True when it has to be read again before it is used. */
  isStale: boolean;
}

/** Records that every sink has are given up when this many times the reserve is free. */
const TIGHT_FACTOR = 2;
/** Interval at which the size of the stream is asked. Milliseconds. */
const SIZE_MS = 2000;
/** How long the end of the store waits for the engine. Milliseconds. */
const CLOSE_MS_MAX = 300;
/**
 * Positions, facts, values and the queue of records of all replicas of a cluster, in one stream of NATS JetStream. A step is one
 * atomic batch: its records, then the position, which is refused unless it replaces the position that was read here.
 *
 * What a router has is loaded by {@link openRouter} and kept, so that reads do not wait. See decision 0028.
 */
export class ClusterStore implements Store {
  readonly #options: ClusterStoreOptions;
  readonly #subjects: Subjects;
  readonly #link: ClusterLink;
  readonly #queue: CommitQueue;
  readonly #janitor: Janitor;
  readonly #routers = new Map<string, OpenRouter>();
  readonly #readers: SinkReaders;
  readonly #closing = new AbortController();
  #sinks: readonly SinkStart[];
  #state: ClusterStreamState | undefined;
  #fault: StoreError | undefined;
  #checking: Promise<void> | undefined;
  #timer: Timer | undefined;

  constructor(options: ClusterStoreOptions) {
    const { servers, cluster, replica, isOwner, mayKnow = () => true } = options;
    this.#options = options;
    this.#sinks = options.sinks;
    this.#subjects = new Subjects(cluster);
    const onConnected = () => {
      this.#checking = this.#check();
    };
    this.#link = new ClusterLink(
      { ...servers, who: `Cluster ${cluster}`, peer: 'cluster' },
      onConnected,
      options.onLeft,
    );
    this.#queue = new CommitQueue({
      link: this.#link,
      stream: this.#subjects.stream,
      replica,
      prefix: randomBytes(9).toString('base64url'),
      isOwner: ({ kind, name }) => isOwner(kind, name),
      onStale: (owned) => this.#noteStale(owned),
      onStored: (bytes) => this.#addBytes(bytes),
    });
    this.#readers = new SinkReaders({
      link: this.#link,
      subjects: this.#subjects,
      queue: this.#queue,
      now: () => this.#link.clock.now(),
      sinks: () => this.#sinks,
      serves: (sink) => this.serves(sink),
      isReady: () => !this.isWaiting,
      onRecords: options.onRecords,
      onServing: options.onServing,
      onSilent: (sink, cause) => {
        options.onSilent?.(sink, cause);
        void this.#askSize();
      },
      onDamaged: options.onDamaged,
    });
    this.#janitor = new Janitor({
      link: this.#link,
      subjects: this.#subjects,
      isOwner: () => isOwner('janitor', 'janitor'),
      isTight: () => this.#freeBytes < TIGHT_FACTOR * reserveOf(this),
      sinks: () => this.#sinks.map(({ name }) => name),
      removeAbsent: async () => {
        const absence = new Absence({ link: this.#link, subjects: this.#subjects, mayKnow });
        const removed = await absence.look();
        if (removed.length > 0) options.onForgotten?.(removed);
      },
    });
  }

  /** Connects. Rejects if the stream is missing or not as it must be, and with `unwritable` while no server answers. */
  async open(): Promise<void> {
    void this.#janitor.run();
    this.#askSizeAgain();
    await this.#link.ready();
    await this.#checking;
    if (this.#fault) throw this.#fault;
  }

  get isWaiting(): boolean {
    return this.#state === undefined;
  }

  get spooled(): { readonly records: number; readonly bytes: number } {
    return { records: this.#readers.waiting, bytes: this.#state?.bytes ?? 0 };
  }

  /** Maximum size of the stream; infinite while it is not known. Bytes. */
  get bytesMax(): number {
    return this.#state?.bytesMax ?? Number.POSITIVE_INFINITY;
  }

  async openRouter(router: string): Promise<void> {
    const known = this.#routers.get(router);
    if (known && !known.isStale) return;
    if (known) {
      // What is still under way of another log would be stored behind the positions that are read here.
      await this.#queue.settle({ kind: 'router', name: router });
      this.#forgetRouter(router, known);
    }
    const { positions, values, facts, messages } = await readRouterState(this.#link, this.#subjects, router);
    const opened: OpenRouter = { positions, values, facts, subjects: new Set(), isStale: false };
    for (const { subject, seq } of messages) this.#note(opened, subject, seq);
    this.#routers.set(router, opened);
  }

  async closeRouter(router: string): Promise<void> {
    await this.#queue.settle({ kind: 'router', name: router });
    const known = this.#routers.get(router);
    if (known) this.#forgetRouter(router, known);
  }

  #forgetRouter(router: string, { subjects }: OpenRouter): void {
    for (const subject of subjects) this.#queue.forget(subject);
    this.#routers.delete(router);
  }

  #note(router: OpenRouter, subject: string, seq: number): void {
    router.subjects.add(subject);
    this.#queue.note(subject, seq);
  }

  #noteStale({ kind, name }: Owned): void {
    if (kind === 'router') {
      const router = this.#routers.get(name);
      if (!router) return;
      router.isStale = true;
      for (const subject of router.subjects) this.#queue.forget(subject);
    } else void this.#readers.close(name);
  }

  #routerOf(router: string): OpenRouter {
    const known = this.#routers.get(router);
    if (!known || known.isStale) throw toFenced({ kind: 'router', name: router });
    return known;
  }

  readPositions(router: string): Map<string, string> {
    return new Map(this.#routerOf(router).positions);
  }

  readFacts(router: string): string | undefined {
    return this.#routerOf(router).facts;
  }

  readValue(router: string, key: string): string | undefined {
    return this.#routerOf(router).values.get(key);
  }

  async writeValue(router: string, key: string, text: string): Promise<void> {
    checkValue(text);
    const subject = this.#subjects.of({ kind: 'val', router, key });
    const known = this.#routers.get(router);
    if (!known) throw toFenced({ kind: 'router', name: router });
    if (known.isStale) {
      // Nobody may read its logs, so that nobody opens it again. Its positions stay forgotten: they are for a run that reads them.
      const stored = await this.#link.readLast(this.#subjects.stream, subject);
      this.#note(known, subject, stored?.seq ?? 0);
    }
    const write = this.#fence(known, subject, text);
    await this.#queue.commit({ owned: { kind: 'router', name: router }, added: [], fenced: [write] });
    known.values.set(key, text);
  }

  async forgetLogs(router: string, components: readonly string[]): Promise<void> {
    const known = this.#routerOf(router);
    const gone = components.filter((component) => known.positions.has(component));
    if (gone.length === 0) return;
    const fenced = gone.map((component) =>
      this.#fence(known, this.#subjects.of({ kind: 'pos', router, component }), ''),
    );
    await this.#queue.commit({ owned: { kind: 'router', name: router }, added: [], fenced });
    for (const component of gone) known.positions.delete(component);
  }

  async commit(...commits: (LogCommit | FactsCommit)[]): Promise<void> {
    const [first] = commits;
    if (!first) return;
    const { router } = first;
    const known = this.#routerOf(router);
    const added: Message[] = [];
    const fenced: FencedWrite[] = [];
    for (const commit of commits) {
      if ('facts' in commit) fenced.push(this.#fence(known, this.#subjects.of({ kind: 'fact', router }), commit.facts));
      else {
        const { component, lines, position } = commit;
        const subject = this.#subjects.of({ kind: 'rec', router, component });
        const packed = { records: lines.length, committedMs: this.#link.clock.now() };
        if (lines.length > 0) {
          added.push(...toRecordMessages(subject, { ...packed, body: packLines(lines) }, readPayloadMax(this.#link)));
        }
        fenced.push(this.#fence(known, this.#subjects.of({ kind: 'pos', router, component }), position));
      }
    }
    if (added.length > 0) this.#checkRoom(added.reduce((sum, { payload }) => sum + payload.length, 0));
    await this.#queue.commit({ owned: { kind: 'router', name: router }, added, fenced });
    for (const commit of commits) {
      if ('facts' in commit) known.facts = commit.facts;
      else known.positions.set(commit.component, commit.position);
    }
  }

  /** Returns a write to a subject, which is empty if it was not met when the router was opened. */
  #fence(router: OpenRouter, subject: string, text: string): FencedWrite {
    if (!router.subjects.has(subject)) this.#note(router, subject, 0);
    return { subject, payload: Buffer.from(text) };
  }

  get #freeBytes(): number {
    return this.bytesMax - (this.#state?.bytes ?? 0);
  }

  #checkRoom(bytes: number): void {
    if (this.#state) checkRoom(this.#state, bytes);
  }

  /** The stream is shared as it comes: a router is held back with all others, when it is full. */
  hasShare(_router: string): boolean {
    return true;
  }

  /** Removes nothing: another replica may still have a router. The janitor removes what nobody knows. */
  keepRouters(_configured: readonly string[], _nowMs: number, _graceMs?: number): Promise<string[]> {
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

  serves(sink: string): boolean {
    return !this.#closing.signal.aborted && this.#options.isOwner('sink', sink);
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
    if (this.#fault) throw this.#fault;
    if (!this.#link.connection) throw toAway(this.#link.fault);
    this.#checkRoom(0);
  }

  /** Purges what no sink needs any more, if this replica is the janitor. Also done now and then. */
  async purge(): Promise<void> {
    await this.#janitor.purge();
    await this.#askSize();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#timer?.cancel();
    this.#janitor.close();
    this.#queue.close();
    const ended = Promise.all([this.#queue.settle(), this.#readers.end()]);
    using deadline = openDeadline(this.#link.clock, CLOSE_MS_MAX);
    await untilAborted(ended, deadline.signal).catch(() => {});
    // What an engine that hangs has not answered ends with the connection.
    await this.#link.close();
    await ended;
  }

  async #check(): Promise<void> {
    try {
      this.#state = await checkClusterStream(this.#link, this.#subjects);
      this.#fault = undefined;
      for (const { name } of this.#sinks) this.#options.onRecords(name);
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      if (this.#closing.signal.aborted) return;
      const isNew = this.#fault?.message !== cause.message;
      this.#fault = cause;
      if (isNew) this.#options.onFault?.(cause);
    }
  }

  #addBytes(bytes: number): void {
    if (this.#state) this.#state = { ...this.#state, bytes: this.#state.bytes + bytes };
  }

  #askSizeAgain(): void {
    if (this.#closing.signal.aborted) return;
    this.#timer = this.#link.clock.setTimer(SIZE_MS, () => {
      void this.#askSize().finally(() => this.#askSizeAgain());
    });
  }

  /** Asks for the size of the stream; one that could not be checked is checked again. */
  async #askSize(): Promise<void> {
    if (!this.#link.connection) return;
    if (!this.#state || this.#fault) {
      await this.#check();
      return;
    }
    try {
      const { seenSeq } = this.#readers;
      this.#state = readStreamState(await this.#link.ask(`STREAM.INFO.${this.#subjects.stream}`));
      // The stream was made anew, and what comes now has numbers that were read already.
      if (this.#state.lastSeq < seenSeq) void this.#readers.closeAll();
    } catch {
      // The engine is away; the link says so.
    }
  }
}
