import type { Clock } from '../base/index.ts';
import type { RecordFlag, RouterIdentity } from '../model/index.ts';
import { ArchiveError, type ArchiveItem, type ArchivePool } from './archive/index.ts';
import type { LogEvent, LogSource, RecordLog } from './contracts.ts';
import { LogError } from './errors.ts';
import { FileScan, type ScanBatch, type ScanResult } from './file-scan.ts';
import { type ListedLog, parseStampUtcMs, type RotatedFile } from './names.ts';
import { createPosition, type Instance, type LogPosition, parsePosition, renderPosition } from './position.ts';
import { type Gap, type RecordContext, renderGap } from './record-builder.ts';
import type { Zone } from './zone.ts';

export interface TailOptions {
  readonly router: RouterIdentity;
  readonly source: LogSource;
  readonly records: RecordLog;
  readonly archives: ArchivePool;
  readonly clock: Clock;
  readonly zone: Zone;
  readonly report: (event: LogEvent) => void;
}

/** Lines are made durable in pieces of about this size. Bytes of log text. */
const BATCH_BYTES = 512 * 1024;
/** A new `current` is held back in memory up to this size until a second listing has shown that nothing rotated meanwhile. */
const UNCONFIRMED_BYTES_MAX = 2 * 1024 * 1024;
/** Listings in one turn; a log that rotates faster than that is caught at the next turn. */
const PASSES_MAX = 3;
/** Newer lines wait this long for the rest of an older file, for the sake of order. */
const HOLD_MS = 60_000;
/** After this the rest of a file counts as lost. Covers the slowest compression that a router can need. */
const GRACE_MS = 15 * 60_000;
/** A file begins in the second in which the one before it was rotated; this much more covers two clocks read in turn. */
const LINK_MS_MAX = 2000;
/** Files that were given up and are remembered. */
const LOST_MAX = 8;
/** Bound of one decompressed file; routers rotate at about one MiB. */
const ARCHIVE_BYTES_MAX = 512 * 1024 * 1024;

/** The reading of one log (one component of one router) in one turn. */
export class ComponentTail {
  readonly #options: TailOptions;
  readonly #component: string;
  readonly #relist: () => Promise<ListedLog>;
  #position: LogPosition;

  constructor(options: TailOptions, component: string, position: string | undefined, relist: () => Promise<ListedLog>) {
    this.#options = options;
    this.#component = component;
    this.#relist = relist;
    this.#position = (position === undefined ? undefined : parsePosition(position)) ?? createPosition();
  }

  /** Reads everything that is new. Throws what ends the whole turn: the router is gone, or the store takes no more. */
  async run(listed: ListedLog, signal: AbortSignal): Promise<void> {
    let now = listed;
    for (let pass = 1; pass <= PASSES_MAX; pass++) {
      const outcome = await this.#pass(now, pass === PASSES_MAX, signal);
      if (outcome === 'settled') return;
      now = outcome;
    }
  }

  /** One walk over what is listed; resolves with a newer listing when that has to be walked first. */
  async #pass(listed: ListedLog, isLast: boolean, signal: AbortSignal): Promise<'settled' | ListedLog> {
    this.#forgetUnlisted(listed);
    await this.#resumeRotated(listed, signal);
    if (this.#position.open && listed.current !== undefined) {
      const isStill = await this.#resumeCurrent(listed.current, signal);
      if (!isStill && !isLast) {
        // The listing may be older than the rotation that has just shown itself.
        const newer = await this.#relist();
        if (newer.rotated.some(({ stamp }) => !this.#isKnown(stamp))) return newer;
      }
      if (!isStill) this.#shelveOpen();
    }
    if (this.#isHolding()) return 'settled';
    this.#giveUpOverdue(listed);
    const isBlocked = await this.#readFresh(listed, signal);
    if (isBlocked) return 'settled';
    if (!this.#position.open && listed.current !== undefined) {
      const newer = await this.#beginCurrent(listed.current, isLast, signal);
      if (newer) return newer;
    }
    if (this.#position.pending.length === 0 && this.#freshOf(listed).length === 0) {
      this.#options.report({ type: 'log-caught-up', component: this.#component });
    }
    return 'settled';
  }

  /** Looks among the new rotated files for the rest of those that were begun. */
  async #resumeRotated(listed: ListedLog, signal: AbortSignal): Promise<void> {
    for (const file of this.#freshOf(listed)) {
      const begun = this.#begun();
      if (begun.length === 0) return;
      // While a file is not whole, it may be the one: what comes after it waits.
      if ((await this.#readRotated(file, begun, false, signal)) === 'unfinished') return;
    }
  }

  /** Goes on in the file that was open; false when `current` has become another file. */
  async #resumeCurrent(name: string, signal: AbortSignal): Promise<boolean> {
    const { open } = this.#position;
    if (!open) return false;
    const { scan, result } = await this.#scanCurrent(name, [open], false, BATCH_BYTES, signal);
    if (!result) return true;
    if (result.kind !== 'taken') return false;
    const batch = scan.takeBatch();
    // Most readings find nothing new, and those cost no write.
    if (batch.records.length > 0) this.#commit(batch, open);
    return true;
  }

  /** Reads the rotated files that continue nothing, oldest first; true when newer ones have to wait. */
  async #readFresh(listed: ListedLog, signal: AbortSignal): Promise<boolean> {
    for (const file of this.#freshOf(listed)) {
      const outcome = await this.#readRotated(file, this.#finished(), true, signal);
      if (outcome === 'withheld' || (outcome === 'unfinished' && this.#isHolding())) return true;
    }
    return false;
  }

  /** Takes up a new `current`; resolves with a newer listing when a rotation came between, and nothing was taken up. */
  async #beginCurrent(name: string, isLast: boolean, signal: AbortSignal): Promise<ListedLog | undefined> {
    const { scan, result } = await this.#scanCurrent(name, this.#begun(), true, UNCONFIRMED_BYTES_MAX, signal);
    if (result?.kind !== 'taken') return undefined;
    const { instance } = result;
    if (!isLast && !this.#owns(instance)) {
      const newer = await this.#relist();
      if (newer.rotated.some(({ stamp }) => !this.#isKnown(stamp))) return newer;
    }
    this.#open(instance);
    this.#commit(scan.takeBatch(), instance);
    return undefined;
  }

  /** Reads one rotated file to its end, or finds out why that is not possible now. */
  async #readRotated(
    file: RotatedFile,
    candidates: readonly Instance[],
    acceptsNew: boolean,
    signal: AbortSignal,
  ): Promise<'completed' | 'stranger' | 'withheld' | 'unfinished'> {
    const { source, archives } = this.#options;
    const scan = this.#createScan(file.name, candidates, acceptsNew, true, BATCH_BYTES);
    let result: ScanResult;
    try {
      result = await source.readLog(file.name, signal, (body) =>
        scan.read(bytesOf(archives.decode(body, { outputBytesMax: ARCHIVE_BYTES_MAX, signal }))),
      );
    } catch (cause) {
      if (signal.aborted || dispositionOf(cause) === 'hold-back') throw cause;
      this.#keepRead(scan, true);
      this.#noteAttempt(file, cause);
      if (!isOwnFault(cause)) throw cause;
      return 'unfinished';
    }
    if (result.kind === 'withheld') return 'withheld';
    if (result.kind === 'stranger') {
      if (!acceptsNew || !result.suspect) return 'stranger';
      // Another file that begins alike: the proof failed, so the next reading does not consider it.
      const others = candidates.filter((candidate) => candidate !== result.suspect);
      return this.#readRotated(file, others, acceptsNew, signal);
    }
    this.#complete(file, result, scan);
    return 'completed';
  }

  async #scanCurrent(
    name: string,
    candidates: readonly Instance[],
    acceptsNew: boolean,
    batchBytes: number,
    signal: AbortSignal,
  ): Promise<{ scan: FileScan; result: ScanResult | undefined }> {
    const scan = this.#createScan(name, candidates, acceptsNew, false, batchBytes);
    try {
      const result = await this.#options.source.readLog(name, signal, (body) => scan.read(body));
      if (acceptsNew && result.kind === 'stranger' && result.suspect) {
        const others = candidates.filter((candidate) => candidate !== result.suspect);
        return await this.#scanCurrent(name, others, acceptsNew, batchBytes, signal);
      }
      return { scan, result };
    } catch (cause) {
      if (signal.aborted || dispositionOf(cause) === 'hold-back') throw cause;
      this.#keepRead(scan, false);
      this.#options.report({ type: 'log-failed', component: this.#component, file: name, cause });
      if (!isOwnFault(cause)) throw cause;
      return { scan, result: undefined };
    }
  }

  #createScan(
    name: string,
    candidates: readonly Instance[],
    acceptsNew: boolean,
    isClosed: boolean,
    batchBytes: number,
  ): FileScan {
    return new FileScan({
      file: name,
      createContext: (instance) => this.#createContext(name, this.#flagsFor(instance, isClosed)),
      candidates,
      acceptsNew,
      isClosed,
      isStampExpected: this.#position.hasHistory,
      admits: (firstWallAsUtcMs) => this.#admits(firstWallAsUtcMs, name),
      nextGen: (key) => this.#nextGen(key),
      batchBytes,
      onBatch: (instance, batch) => {
        this.#adopt(instance, isClosed);
        this.#commit(batch, instance);
      },
    });
  }

  #createContext(file: string, flags: readonly RecordFlag[]): RecordContext {
    const { router, zone, clock } = this.#options;
    return { router, component: this.#component, zone, observedMs: clock.now(), file, flags };
  }

  /** Lines that cannot be handed out in the order in which the router wrote them say so. */
  #flagsFor(instance: Instance, isClosed: boolean): readonly RecordFlag[] {
    const { open, pending } = this.#position;
    const own = pending.find((entry) => entry.instance === instance);
    if (own) return own.isOvertaken ? ['late'] : [];
    if (isClosed && open && open !== instance) return ['late'];
    return this.#isOutstanding((sinceMs) => this.#ageMs(sinceMs) >= HOLD_MS) ? ['out_of_order'] : [];
  }

  // --- the position ---

  /** Files that were read in part. */
  #begun(): Instance[] {
    const { open, pending } = this.#position;
    const waiting = pending.map(({ instance }) => instance);
    return open ? [...waiting, open] : waiting;
  }

  /** All files that are remembered: a rotated file may also be one that was completed under another name. */
  #finished(): Instance[] {
    const { lost, completed } = this.#position;
    return [...this.#begun(), ...lost, ...Object.values(completed)];
  }

  #owns(instance: Instance): boolean {
    return this.#begun().includes(instance);
  }

  #isKnown(stamp: string): boolean {
    return stamp in this.#position.completed || stamp in this.#position.waiting;
  }

  #nextGen(key: string): number {
    const gens = this.#finished().flatMap((instance) => (instance.key === key ? [instance.gen + 1] : []));
    return Math.max(0, ...gens);
  }

  #ageMs(sinceMs: number): number {
    return this.#options.clock.now() - sinceMs;
  }

  /** Whether something older is outstanding that newer lines should wait for. */
  #isHolding(): boolean {
    const { pending, waiting } = this.#position;
    const isRecent = (sinceMs: number) => this.#ageMs(sinceMs) < HOLD_MS;
    return (
      pending.some(({ sinceMs }) => isRecent(sinceMs)) ||
      Object.values(waiting).some(({ sinceMs, attempts }) => attempts > 0 && isRecent(sinceMs))
    );
  }

  /**
   * Whether a new file may be read now: not while one is likely to be missing before it. The first line of a file and the
   * name of the one before it say so, once the zone is known.
   */
  #admits(firstWallAsUtcMs: number, name: string): boolean {
    const { lastStamp, brokenLinks } = this.#position;
    const { zone, clock } = this.#options;
    // Before the end of the chain there is nothing to wait for, and while a rest is missing, that is waited for.
    const isAtEnd =
      lastStamp !== undefined && !(name < `${this.#component}/log-${lastStamp}` && name.includes('/log-'));
    if (!isAtEnd || zone.isAssumed || this.#begun().length > 0) return true;
    const firstUtcMs = zone.place(firstWallAsUtcMs, parseStampUtcMs(lastStamp)).utcMs;
    if (isLinked(firstUtcMs, lastStamp)) return true;
    const known = brokenLinks.find(({ after }) => after === lastStamp);
    if (known) return this.#ageMs(known.sinceMs) >= HOLD_MS;
    brokenLinks.push({ after: lastStamp, sinceMs: clock.now() });
    this.#commit(undefined, undefined);
    return false;
  }

  /** Whether there is a file that is missing, whose rest is missing, or that could not be read, since a time that `isMatch`. */
  #isOutstanding(isMatch: (sinceMs: number) => boolean): boolean {
    const { pending, waiting, brokenLinks } = this.#position;
    return (
      pending.some(({ sinceMs }) => isMatch(sinceMs)) ||
      brokenLinks.some(({ sinceMs }) => isMatch(sinceMs)) ||
      Object.values(waiting).some(({ sinceMs, attempts }) => attempts > 0 && isMatch(sinceMs))
    );
  }

  /** Rotated files that have not been read to their end, oldest first; new ones are noted. */
  #freshOf(listed: ListedLog): RotatedFile[] {
    const { completed, waiting } = this.#position;
    const fresh = listed.rotated.filter(({ stamp }) => !(stamp in completed));
    for (const { stamp } of fresh) waiting[stamp] ??= { sinceMs: this.#options.clock.now(), attempts: 0 };
    return fresh;
  }

  #open(instance: Instance): void {
    this.#position.pending = this.#position.pending.filter((pending) => pending.instance !== instance);
    for (const pending of this.#position.pending) pending.isOvertaken = true;
    this.#position.open = instance;
  }

  /** `current` is another file now: the rest of this one has to turn up among the rotated ones. */
  #shelveOpen(): void {
    const { open } = this.#position;
    if (!open) return;
    this.#position.open = undefined;
    this.#position.pending.push({ instance: open, sinceMs: this.#options.clock.now(), isOvertaken: false });
    this.#commit(undefined, undefined);
  }

  /** A new file becomes part of the position with its first lines, so that a crash finds it again. */
  #adopt(instance: Instance, isClosed: boolean): void {
    if (this.#owns(instance)) return;
    if (isClosed) {
      this.#position.pending.push({ instance, sinceMs: this.#options.clock.now(), isOvertaken: false });
    } else {
      this.#open(instance);
    }
  }

  /** After a fault: the lines that came before it are whole and verified, so they stay. */
  #keepRead(scan: FileScan, isClosed: boolean): void {
    const { instance } = scan;
    const batch = scan.takeBatch();
    if (!instance || batch.records.length === 0) return;
    this.#adopt(instance, isClosed);
    this.#commit(batch, instance);
  }

  #complete(file: RotatedFile, result: ScanResult, scan: FileScan): void {
    const batch = scan.takeBatch();
    const instance = result.kind === 'taken' ? result.instance : createEmptyInstance();
    this.#position.completed[file.stamp] = instance;
    delete this.#position.waiting[file.stamp];
    if (file.stamp > (this.#position.lastStamp ?? '')) this.#position.lastStamp = file.stamp;
    const { firstUtcMs } = instance;
    this.#position.brokenLinks = this.#position.brokenLinks.filter(
      ({ after }) => firstUtcMs === undefined || !isLinked(firstUtcMs, after),
    );
    this.#position.pending = this.#position.pending.filter((pending) => pending.instance !== instance);
    this.#position.lost = this.#position.lost.filter((lost) => lost !== instance);
    if (this.#position.open === instance) this.#position.open = undefined;
    this.#commit(batch, instance);
  }

  #noteAttempt(file: RotatedFile, cause: unknown): void {
    const waiting = this.#position.waiting[file.stamp];
    if (waiting) waiting.attempts++;
    const isUnfinished = cause instanceof ArchiveError && cause.code === 'truncated';
    const type = isUnfinished ? 'archive-unfinished' : 'log-failed';
    this.#options.report({ type, component: this.#component, file: file.name, cause });
    this.#commit(undefined, undefined);
  }

  /** What the router no longer lists is either done with or lost. */
  #forgetUnlisted(listed: ListedLog): void {
    const stamps = new Set(listed.rotated.map(({ stamp }) => stamp));
    for (const stamp of Object.keys(this.#position.completed)) {
      if (!stamps.has(stamp)) delete this.#position.completed[stamp];
    }
    for (const stamp of Object.keys(this.#position.waiting)) {
      if (stamps.has(stamp)) continue;
      delete this.#position.waiting[stamp];
      const lost = this.#position.pending.shift();
      this.#commitGap({ certainty: 'certain', reason: 'expired' }, lost?.instance, `${this.#component}/log-${stamp}`);
    }
  }

  /** What has been looked for long enough counts as lost. */
  #giveUpOverdue(listed: ListedLog): void {
    for (const { stamp, name } of listed.rotated) {
      const waiting = this.#position.waiting[stamp];
      if (!waiting || waiting.attempts === 0 || this.#ageMs(waiting.sinceMs) < GRACE_MS) continue;
      delete this.#position.waiting[stamp];
      const lost = this.#position.pending.shift();
      this.#position.completed[stamp] = lost?.instance ?? createEmptyInstance();
      this.#commitGap({ certainty: 'certain', reason: 'damaged' }, lost?.instance, name);
    }
    const overdue = this.#position.pending.filter(({ sinceMs }) => this.#ageMs(sinceMs) >= GRACE_MS);
    for (const pending of overdue) {
      this.#position.pending = this.#position.pending.filter((other) => other !== pending);
      const file = `${this.#component}/current`;
      this.#commitGap({ certainty: 'possible', reason: 'not-found' }, pending.instance, file);
    }
    for (const link of this.#position.brokenLinks.filter(({ sinceMs }) => this.#ageMs(sinceMs) >= GRACE_MS)) {
      this.#position.brokenLinks = this.#position.brokenLinks.filter((other) => other !== link);
      const file = `${this.#component}/log-${link.after}`;
      const before = this.#position.completed[link.after];
      this.#commitGap({ certainty: 'likely', reason: 'broken-link' }, before, file);
    }
  }

  // --- making it durable ---

  #commitGap(gap: Gap, instance: Instance | undefined, file: string): void {
    if (instance && !Object.values(this.#position.completed).includes(instance)) {
      this.#position.lost = [...this.#position.lost, instance].slice(-LOST_MAX);
    }
    const record = renderGap(this.#createContext(file, []), gap, instance);
    this.#store([record]);
    this.#options.report({ type: 'log-gap-found', component: this.#component, ...gap });
  }

  #commit(batch: ScanBatch | undefined, instance: Instance | undefined): void {
    if (batch && batch.records.length > batch.unparsed) this.#position.hasHistory = true;
    this.#store(batch?.records ?? []);
    if (!batch || batch.records.length === 0) return;
    this.#options.report({
      type: 'log-read',
      component: this.#component,
      lines: batch.records.length,
      bytes: batch.bytes,
      unparsed: batch.unparsed,
      newestUtcMs: instance?.lastUtcMs,
    });
  }

  #store(lines: readonly string[]): void {
    this.#options.records.commit({
      router: this.#options.router.name,
      component: this.#component,
      position: renderPosition(this.#position),
      lines,
    });
  }
}

/** Stands for a file without lines; its key is that of no other file. */
function createEmptyInstance(): Instance {
  return {
    key: '',
    gen: 0,
    off: 0,
    prefixSha: '',
    firstUtcMs: undefined,
    lastUtcMs: undefined,
    lastStart: 0,
  };
}

/** Whether a file that begins at `firstUtcMs` follows the file that was rotated at `stamp`. */
function isLinked(firstUtcMs: number, stamp: string): boolean {
  return Math.abs(firstUtcMs - parseStampUtcMs(stamp)) <= LINK_MS_MAX;
}

function dispositionOf(cause: unknown): unknown {
  return cause instanceof Error ? Reflect.get(cause, 'disposition') : undefined;
}

/** Whether only this file is at fault: its content, or an answer of a router that is otherwise well. */
function isOwnFault(cause: unknown): boolean {
  if (cause instanceof ArchiveError || cause instanceof LogError) return true;
  return cause instanceof Error && Reflect.get(cause, 'isAnswered') === true;
}

async function* bytesOf(items: AsyncIterable<ArchiveItem>): AsyncGenerator<Uint8Array> {
  for await (const item of items) if (item instanceof Uint8Array) yield item;
}
