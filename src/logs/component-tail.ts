import type { Clock } from '../base/index.ts';
import type { RecordFlag, RouterIdentity } from '../model/index.ts';
import { ArchiveError, type ArchiveItem, type ArchivePool } from './archive/index.ts';
import { createEmptyInstance, LogChain, type PlacedGap } from './chain.ts';
import type { LogEvent, LogSource, RecordLog } from './contracts.ts';
import { LogError } from './errors.ts';
import { FileScan, type ScanBatch, type ScanResult } from './file-scan.ts';
import type { ListedLog, RotatedFile } from './names.ts';
import { createPosition, type Instance, parsePosition, renderPosition } from './position.ts';
import { type RecordContext, renderGap } from './record-builder.ts';
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
/** Bound of one decompressed file; routers rotate at about one MiB. */
const ARCHIVE_BYTES_MAX = 512 * 1024 * 1024;

/** The reading of one log (one component of one router) in one turn. */
export class ComponentTail {
  readonly #options: TailOptions;
  readonly #component: string;
  readonly #relist: () => Promise<ListedLog>;
  readonly #chain: LogChain;

  constructor(options: TailOptions, component: string, position: string | undefined, relist: () => Promise<ListedLog>) {
    this.#options = options;
    this.#component = component;
    this.#relist = relist;
    const known = position === undefined ? undefined : parsePosition(position);
    this.#chain = new LogChain(known ?? createPosition(), component, options.clock, options.zone);
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
    this.#commitGaps(this.#chain.forgetUnlisted(listed));
    await this.#resumeRotated(listed, signal);
    if (this.#chain.position.open && listed.current !== undefined) {
      const isStill = await this.#resumeCurrent(listed.current, signal);
      if (!isStill && !isLast) {
        // The listing may be older than the rotation that has just shown itself.
        const newer = await this.#relist();
        if (this.#chain.isNews(newer)) return newer;
      }
      if (!isStill) {
        this.#chain.shelveOpen();
        this.#store([]);
      }
    }
    if (this.#chain.isHolding()) return 'settled';
    this.#commitGaps(this.#chain.giveUpOverdue(listed));
    const isBlocked = await this.#readFresh(listed, signal);
    if (isBlocked) return 'settled';
    if (!this.#chain.position.open && listed.current !== undefined) {
      const newer = await this.#beginCurrent(listed.current, isLast, signal);
      if (newer) return newer;
    }
    if (this.#chain.position.pending.length === 0 && this.#chain.noteFresh(listed).length === 0) {
      this.#options.report({ type: 'log-caught-up', component: this.#component });
    }
    return 'settled';
  }

  /** Looks among the new rotated files for the rest of those that were begun. */
  async #resumeRotated(listed: ListedLog, signal: AbortSignal): Promise<void> {
    for (const file of this.#chain.noteFresh(listed)) {
      const begun = this.#chain.begun();
      if (begun.length === 0) return;
      // While a file is not whole, it may be the one: what comes after it waits.
      if ((await this.#readRotated(file, begun, false, signal)) === 'unfinished') return;
    }
  }

  /** Goes on in the file that was open; false when `current` has become another file. */
  async #resumeCurrent(name: string, signal: AbortSignal): Promise<boolean> {
    const { open } = this.#chain.position;
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
    for (const file of this.#chain.noteFresh(listed)) {
      const outcome = await this.#readRotated(file, this.#chain.remembered(), true, signal);
      if (outcome === 'withheld' || (outcome === 'unfinished' && this.#chain.isHolding())) return true;
    }
    return false;
  }

  /** Takes up a new `current`; resolves with a newer listing when a rotation came between, and nothing was taken up. */
  async #beginCurrent(name: string, isLast: boolean, signal: AbortSignal): Promise<ListedLog | undefined> {
    const { scan, result } = await this.#scanCurrent(name, this.#chain.begun(), true, UNCONFIRMED_BYTES_MAX, signal);
    if (result?.kind === 'withheld') this.#store([]);
    if (result?.kind !== 'taken') return undefined;
    const { instance } = result;
    if (!isLast && !this.#chain.isBegun(instance)) {
      const newer = await this.#relist();
      if (this.#chain.isNews(newer)) return newer;
    }
    this.#chain.open(instance);
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
    if (result.kind === 'withheld') {
      this.#store([]);
      return 'withheld';
    }
    if (result.kind === 'stranger') {
      if (!acceptsNew || !result.suspect) return 'stranger';
      // Another file that begins alike: the proof failed, so the next reading does not consider it.
      const others = candidates.filter((candidate) => candidate !== result.suspect);
      return this.#readRotated(file, others, acceptsNew, signal);
    }
    const instance = result.kind === 'taken' ? result.instance : createEmptyInstance();
    const batch = scan.takeBatch();
    this.#chain.complete(file.stamp, instance);
    this.#commit(batch, instance);
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
      createContext: (instance) => this.#createContext(name, this.#chain.flagsFor(instance, isClosed)),
      candidates,
      acceptsNew,
      isClosed,
      isStampExpected: this.#chain.position.hasHistory,
      admits: (firstWallAsUtcMs) => this.#chain.admits(firstWallAsUtcMs, name),
      nextGen: (key) => this.#chain.nextGen(key),
      batchBytes,
      onBatch: (instance, batch) => {
        this.#chain.adopt(instance, isClosed);
        this.#commit(batch, instance);
      },
    });
  }

  #createContext(file: string, flags: readonly RecordFlag[]): RecordContext {
    const { router, zone, clock } = this.#options;
    return { router, component: this.#component, zone, observedMs: clock.now(), file, flags };
  }

  /** After a fault: the lines that came before it are whole and verified, so they stay. */
  #keepRead(scan: FileScan, isClosed: boolean): void {
    const { instance } = scan;
    const batch = scan.takeBatch();
    if (!instance || batch.records.length === 0) return;
    // A new `current` that no second listing has confirmed is read again next time.
    if (!isClosed && !this.#chain.isBegun(instance)) return;
    this.#chain.adopt(instance, isClosed);
    this.#commit(batch, instance);
  }

  #noteAttempt(file: RotatedFile, cause: unknown): void {
    const waiting = this.#chain.position.waiting[file.stamp];
    if (waiting) waiting.attempts++;
    const isUnfinished = cause instanceof ArchiveError && cause.code === 'truncated';
    const type = isUnfinished ? 'archive-unfinished' : 'log-failed';
    this.#options.report({ type, component: this.#component, file: file.name, cause });
    this.#store([]);
  }

  #commitGaps(gaps: readonly PlacedGap[]): void {
    if (gaps.length === 0) return;
    this.#store(gaps.map(({ gap, instance, file }) => renderGap(this.#createContext(file, []), gap, instance)));
    for (const { gap } of gaps) this.#options.report({ type: 'log-gap-found', component: this.#component, ...gap });
  }

  #commit(batch: ScanBatch, instance: Instance): void {
    if (batch.records.length > batch.unparsed) this.#chain.position.hasHistory = true;
    this.#store(batch.records);
    if (batch.records.length === 0) return;
    this.#options.report({
      type: 'log-read',
      component: this.#component,
      lines: batch.records.length,
      bytes: batch.bytes,
      unparsed: batch.unparsed,
      newestUtcMs: instance.lastUtcMs,
    });
  }

  #store(lines: readonly string[]): void {
    this.#options.records.commit({
      router: this.#options.router.name,
      component: this.#component,
      position: renderPosition(this.#chain.position),
      lines,
    });
  }
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
