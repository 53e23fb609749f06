import { SourceError } from '../../model/index.ts';
import { LINK_MS_MAX } from '../listing/link-rule.ts';
import { type ListedLog, parseStampUtcMs, type RotatedFile } from '../listing/listing.ts';
import type { LogFile, LogPosition } from '../position/position.ts';
import { isBodyCut, isFileFault, isTooLong, statusOf } from '../reading/errors.ts';
import { findRetryMs } from '../step/files.ts';
import { findGraceMs } from '../step/losses.ts';
import type { Observation } from '../step/observation.ts';
import {
  isBackfill,
  isBegun,
  isDue,
  isHolding,
  isNews,
  isSearchOver,
  listBegun,
  listFresh,
  listRemembered,
  mayHoldRest,
} from '../step/state.ts';
import type { Step } from '../step/step.ts';
import type { FollowOptions } from './contracts.ts';
import { FileReader } from './file-reader.ts';
import { FollowedLog, type RouterRun, type TakenLines } from './followed-log.ts';
import { LogMemory } from './memory.ts';
import { readRotated } from './rotated-file.ts';
import type { PreparedStep } from './router-facts.ts';

/** A new `current` is held back in memory up to this size until a second listing has shown that nothing rotated meanwhile. */
const UNCONFIRMED_BYTES_MAX = 2 * 1024 * 1024;
/** Listings in one run; a log that rotates faster than that is caught at the next run. */
const PASSES_MAX = 3;
/** A log gives way to the others of its router after this much; files are not cut. Bytes of log text. */
const SHARE_BYTES = 4 * 1024 * 1024;
/** Files of about one MiB, five of them, of a few components. */
const HISTORY_BYTES_MAX = 16 * 1024 * 1024;
/** No line is from later. A number that JSON can hold. */
const ALL = Number.MAX_SAFE_INTEGER;

/** The reading of one log (one component of one router) in one run. */
export class LogFollower {
  readonly #run: RouterRun;
  readonly component: string;
  readonly #relist: () => Promise<ListedLog>;
  readonly #log: FollowedLog;
  readonly #reader: FileReader;
  /** True if the stored position has to be replaced before anything is read, because it would be completed in another way later. */
  readonly #isUnstored: boolean;
  /** True if nothing of this log was ever read. */
  #isFirstContact: boolean;
  /** The listing that was noted last. */
  #noted: ListedLog | undefined;
  /** Bytes that were read in this run when the log last got its share. */
  #shareFromBytes = 0;
  /** True if reading `current` failed, so that its end is not known. */
  #hasFailed = false;
  /** True if `current` was read to its end, and its lines are durable. */
  #isAtEnd = false;
  /** True if a new `current` waits for the file before it. */
  #isDeferred = false;

  /** `known`: where the log stood; `undefined` when it was never read. */
  constructor(run: RouterRun, component: string, known: LogPosition | undefined, relist: () => Promise<ListedLog>) {
    this.#run = run;
    this.component = component;
    this.#relist = relist;
    this.#isFirstContact = known === undefined;
    this.#log = new FollowedLog(run, component, known);
    // The store may have lost where the log stood: its lines are read again.
    if (this.#isFirstContact) this.#log.memory.forgetLook();
    this.#isUnstored = !run.isReplaced && this.#log.isClockSet;
    this.#reader = new FileReader(this.#log);
    // The times of a device that answers no more stay as they were: what is told of its end has them.
    if (!run.isReplaced) this.#log.alignTimes();
  }

  get #position(): LogPosition {
    return this.#log.position;
  }

  /**
   * Reads what is new, up to its share; resolves to `more` if something is left. Throws what ends the whole run: the router is
   * gone, or the store takes no more.
   */
  async run(listed: ListedLog, signal: AbortSignal): Promise<'settled' | 'more'> {
    this.#shareFromBytes = this.#log.readBytes;
    this.#log.alignTimes();
    this.#log.memory.retention.noteListed(listed.rotated.length);
    const { held } = this.#position.stream;
    let now = listed;
    for (let pass = 1; pass <= PASSES_MAX; pass++) {
      const outcome = await this.#pass(now, pass === PASSES_MAX, signal);
      if (outcome === 'more') return 'more';
      if (outcome === 'settled') break;
      now = outcome;
    }
    if (this.#run.options.isOnlyRun) await this.#log.recordIfTold({ type: 'time-passed', listed: now });
    const last = this.#position.stream.held;
    // Nothing has come, or can come, that continues it.
    const isLast =
      this.#run.options.isOnlyRun || (last !== undefined && held?.uid === last.uid && held.end === last.end);
    if (last && isLast) await this.#log.record({ type: 'held-released' });
    return 'settled';
  }

  /**
   * Returns what must be committed before any reading: the rotated files of a log that was never read may be gone when it has its turn,
   * and what has waited since before the agent's clock was set would begin to wait at each run.
   */
  pin(listed: ListedLog): readonly PreparedStep[] {
    if (this.#isFirstContact && listed.rotated.length > 0) return [this.#log.prepare(this.#begin(listed))];
    return this.#isUnstored ? [this.#log.prepare({ told: [] })] : [];
  }

  /** Notes files that are listed while other logs are read: they may be gone later. */
  async noteListed(listed: ListedLog, isSettled: boolean): Promise<void> {
    if (this.#isFirstContact || !isNews(this.#position, listed)) return;
    this.#noteFiles(listed);
    // Otherwise what is read next makes it durable.
    if (isSettled) await this.#log.save();
  }

  /** Another device answers now: what was begun on the one before is lost. To be committed by the caller. */
  replace(): PreparedStep {
    const step = this.#log.observe({ type: 'replaced' });
    // Lines of the new device may be older than the last look, and its clock and zone are others.
    Object.assign(this.#log.memory, new LogMemory());
    return this.#log.prepare(step);
  }

  /** One walk over what is listed; resolves with a newer listing when that has to be walked first. */
  async #pass(listed: ListedLog, isLast: boolean, signal: AbortSignal): Promise<'settled' | 'more' | ListedLog> {
    this.#isAtEnd = false;
    this.#isDeferred = false;
    await this.#log.recordIfTold({ type: 'unlisted', listed });
    this.#noted = undefined;
    if (this.#isFirstContact) await this.#log.commitIfTold(this.#begin(listed));
    await this.#resumeRotated(listed, signal);
    const newer = await this.#followCurrent(listed, isLast, signal);
    if (newer) return newer;
    if (this.#isReset(listed)) await this.#log.record({ type: 'wiped' });
    if (isHolding(this.#log.view)) return 'settled';
    await this.#log.recordIfTold({ type: 'time-passed', listed });
    const outcome = await this.#readFresh(listed, signal);
    if (outcome === 'more') return 'more';
    if (outcome === 'blocked') return 'settled';
    if (!this.#position.open && listed.current !== undefined) {
      const rotated = await this.#beginCurrent(listed.current, isLast, signal);
      if (rotated) return rotated;
    }
    if (listed.current === undefined) await this.#endSkipping();
    // Where `current` is empty, missing or cannot be read, nothing goes ahead of the history.
    if (!this.#isDeferred) await this.#readBackfill(listed, signal);
    this.#reportEnd(listed);
    return 'settled';
  }

  /** First contact: notes what is not wanted as skipped, and what is listed. */
  #begin(listed: ListedLog): Step {
    const { contactMs, options } = this.#run;
    const step = this.#log.observe({ type: 'started', ...planStart(options, listed, contactMs) });
    this.#isFirstContact = false;
    this.#noteFiles(listed);
    return step;
  }

  /** True if the router has deleted all files of this log, and begun a new one. */
  #isReset(listed: ListedLog): boolean {
    const { open, pending, isWiped } = this.#position;
    if (open || listed.rotated.length > 0) return false;
    return isWiped ? listed.current !== undefined : pending.length > 0 && this.#run.isWiped;
  }

  /** Notes what is listed; gives the rotated files that have not been read to their end, oldest first. */
  #listFresh(listed: ListedLog): readonly RotatedFile[] {
    if (this.#noted !== listed) this.#noteFiles(listed);
    return listFresh(this.#position, listed);
  }

  #noteFiles(listed: ListedLog): void {
    this.#log.observe({ type: 'listed', listed });
    this.#noted = listed;
  }

  /** Looks among the new rotated files for the rest of those that were begun. */
  async #resumeRotated(listed: ListedLog, signal: AbortSignal): Promise<void> {
    for (const rotated of this.#listFresh(listed)) {
      if (listBegun(this.#position).length === 0) return;
      if (!isDue(this.#log.view, rotated.stamp) || !mayHoldRest(this.#position, rotated.stamp)) continue;
      const outcome = await this.#readRotated(rotated, 'begun', signal);
      // While a file is not whole, it may be the one: what comes after it waits.
      if (outcome === 'unfinished') return;
      // Each that is searched in vain is downloaded again to be read.
      if (outcome === 'unrelated' && isSearchOver(this.#log.view)) return;
    }
  }

  /** Goes on in the file that was open; resolves with a newer listing when that shows another rotation. */
  async #followCurrent(listed: ListedLog, isLast: boolean, signal: AbortSignal): Promise<ListedLog | undefined> {
    const { open } = this.#position;
    if (!open) return undefined;
    const isOther = listed.current !== undefined && !(await this.#resumeCurrent(listed.current, open, signal));
    if (!isOther && !this.#isRotatedUnseen(listed)) return undefined;
    if (!isLast) {
      // The listing may be older than the rotation that has just shown itself.
      const newer = await this.#relist();
      if (isNews(this.#position, newer)) return newer;
    }
    await this.#run.device.confirm(signal);
    await this.#log.record({ type: 'current-replaced' });
    return undefined;
  }

  /**
   * True if `current` could not be looked at, and an unread file is listed that was rotated after the last line of the open one: that
   * has been rotated by then, too.
   */
  #isRotatedUnseen(listed: ListedLog): boolean {
    const lastUtcMs = this.#position.open?.lastUtcMs;
    const isSeen = listed.current !== undefined && !this.#hasFailed;
    if (isSeen || lastUtcMs === undefined || this.#run.evidence.zone.isAssumed) return false;
    return this.#listFresh(listed).some(({ stamp }) => {
      return !isBackfill(this.#position, stamp) && parseStampUtcMs(stamp) > lastUtcMs + LINK_MS_MAX;
    });
  }

  /** Goes on in the file that was open; false when `current` has become another file. */
  async #resumeCurrent(name: string, before: LogFile, signal: AbortSignal): Promise<boolean> {
    const candidates = (): LogFile[] => [this.#position.open ?? before];
    const outcome = await this.#readCurrent({ name, candidates, acceptsNew: false }, signal);
    if (outcome === undefined) {
      if (this.#isAtEnd) await this.#endSkipping();
      return true;
    }
    const { reading, result, etag } = outcome;
    this.#isDeferred = result.kind === 'deferred';
    if (this.#isDeferred) return true;
    if (result.kind !== 'taken' || !reading) return false;
    const taken = this.#reader.take(reading, undefined);
    const { file } = taken.piece;
    const isTorn = [before, file].some((one) => one !== undefined && one.tornAt.length > 0);
    const isSkipping = this.#position.skipBeforeUtcMs !== undefined;
    // Most readings find nothing new, and those cost no write.
    if (file?.off !== before.off || taken.batch.records.length > 0 || isTorn || isSkipping) {
      // What was passed over in parts ends here, in one step with the last of them.
      await this.#log.record({ type: isSkipping ? 'current-opened' : 'lines-read', piece: taken.piece }, taken);
    }
    this.#noteEnd(etag);
    return true;
  }

  /** Reads `current`; resolves with `undefined` when there is nothing new, or reading failed. */
  async #readCurrent(request: Parameters<FileReader['read']>[0], signal: AbortSignal) {
    const { memory } = this.#log;
    if (this.#isFruitless) {
      this.#hasFailed = true;
      return undefined;
    }
    const { off } = this.#position.open ?? { off: 0 };
    const outcome = await this.#reader.read(request, signal);
    if (outcome.kind === 'failed') {
      await this.#noteCurrentFault(request.name, outcome.cause, outcome.kept, off);
      return undefined;
    }
    if (outcome.kind === 'read' && outcome.result.kind === 'binary') {
      this.#hasFailed = true;
      await this.#log.recordIfTold({ type: 'current-unreadable', bytes: outcome.result.bytes });
      this.#noteFruit(true);
      return undefined;
    }
    memory.fruitless = undefined;
    if (outcome.kind === 'read') return outcome;
    this.#isAtEnd = true;
    return undefined;
  }

  get #newestStamp(): string | undefined {
    return this.#noted?.rotated.at(-1)?.stamp;
  }

  /** True while `current` is left alone, because its downloads give nothing new, and end early or hold no text: each of them costs bytes. */
  get #isFruitless(): boolean {
    const { fruitless } = this.#log.memory;
    if (!fruitless || this.#run.options.isOnlyRun || fruitless.newestStamp !== this.#newestStamp) return false;
    return this.#run.options.clock.monotonic() < fruitless.notBeforeMs;
  }

  /** A download of `current` has failed: notes if it cost bytes and gave nothing new. */
  #noteFruit(isFruitless: boolean): void {
    const { memory } = this.#log;
    const newestStamp = this.#newestStamp;
    const before = memory.fruitless?.newestStamp === newestStamp ? memory.fruitless : undefined;
    const count = (before?.count ?? 0) + 1;
    const notBeforeMs = this.#run.options.clock.monotonic() + findRetryMs(count, 'refused');
    memory.fruitless = isFruitless ? { count, newestStamp, notBeforeMs } : undefined;
  }

  async #noteCurrentFault(name: string, cause: unknown, kept: TakenLines | undefined, off: number): Promise<void> {
    if (kept) await this.#log.record({ type: 'lines-read', piece: kept.piece }, kept);
    this.#hasFailed = true;
    this.#run.options.report({ type: 'log-failed', component: this.component, file: name, cause });
    if (!isFileFault(cause) || this.#log.isPutOff(cause)) throw cause;
    // It was read up to `off` before.
    this.#noteFruit(isBodyUnfinished(cause) && (this.#position.open?.off ?? 0) <= off);
  }

  /** Reads the rotated files that continue nothing, oldest first. */
  async #readFresh(listed: ListedLog, signal: AbortSignal): Promise<'done' | 'blocked' | 'more'> {
    for (const rotated of this.#listFresh(listed)) {
      if (isBackfill(this.#position, rotated.stamp)) continue;
      if (this.#isHistory && this.#log.readBytes >= this.#historyBytes) {
        await this.#log.record({ type: 'history-deferred', listed });
        break;
      }
      if (this.#log.readBytes - this.#shareFromBytes >= SHARE_BYTES) return 'more';
      if (!isDue(this.#log.view, rotated.stamp)) {
        if (isHolding(this.#log.view)) return 'blocked';
        continue;
      }
      const outcome = await this.#readRotated(rotated, 'any', signal);
      if (outcome === 'deferred' || (outcome === 'unfinished' && isHolding(this.#log.view))) return 'blocked';
    }
    return 'done';
  }

  /** True if no new line of this log was ever seen: all of its lines were written before first contact. */
  get #isHistory(): boolean {
    const { open, pending, skipBeforeUtcMs } = this.#position;
    return skipBeforeUtcMs === undefined && !open && pending.length === 0 && this.#run.contactMs === undefined;
  }

  get #historyBytes(): number {
    return this.#run.options.historyBytesMax ?? HISTORY_BYTES_MAX;
  }

  async #readBackfill(listed: ListedLog, signal: AbortSignal): Promise<void> {
    const from = this.#log.readBytes;
    for (const { stamp, name } of this.#listFresh(listed)) {
      if (this.#log.readBytes - from >= this.#historyBytes) return;
      if (!isBackfill(this.#position, stamp) || !isDue(this.#log.view, stamp)) continue;
      await this.#readRotated({ stamp, name }, 'any', signal);
    }
  }

  /** Takes up a new `current`; resolves with a newer listing when a rotation came between, and nothing was taken up. */
  async #beginCurrent(name: string, isLast: boolean, signal: AbortSignal): Promise<ListedLog | undefined> {
    const candidates = (): LogFile[] => listRemembered(this.#position);
    const batchBytes = UNCONFIRMED_BYTES_MAX;
    const outcome = await this.#readCurrent({ name, candidates, acceptsNew: true, batchBytes }, signal);
    if (!outcome?.reading) return undefined;
    const { reading, result, etag } = outcome;
    this.#isDeferred = result.kind === 'deferred';
    // Of a text that may be an error, nothing is known that a restart would lose.
    if (result.kind === 'deferred' && result.text === undefined) await this.#log.save();
    // Lines written from now on are new.
    if (result.kind === 'nothing') {
      await this.#endSkipping();
      this.#noteEnd(undefined);
    }
    if (result.kind !== 'taken') return undefined;
    if (!isLast && !isBegun(this.#position, result.file)) {
      const newer = await this.#relist();
      if (isNews(this.#position, newer)) return newer;
    }
    const taken = this.#reader.take(reading, undefined);
    await this.#log.record({ type: 'current-opened', piece: taken.piece }, taken);
    this.#noteEnd(etag);
    return undefined;
  }

  /** `current` was read to its end and made durable. Before that, its entity tag would have unread lines passed over. */
  #noteEnd(etag: string | undefined): void {
    this.#isAtEnd = true;
    this.#log.noteEtag(etag, this.#position.open?.off);
  }

  async #endSkipping(): Promise<void> {
    if (this.#position.skipBeforeUtcMs !== undefined) await this.#log.record({ type: 'skipping-ended' });
  }

  #reportEnd(listed: ListedLog): void {
    const isBehind = this.#listFresh(listed).some(({ stamp }) => !isBackfill(this.#position, stamp));
    if (this.#hasFailed || this.#isDeferred) return;
    const { memory, observedMs, beganMs, readBytes, ownBytes } = this.#log;
    const { pending, open } = this.#position;
    const { component } = this;
    const { report, clock } = this.#run.options;
    memory.retention.noteLook(beganMs, readBytes - ownBytes);
    const sinceMs = Math.min(...pending.map((entry) => entry.sinceMs));
    const gapAtMs = pending.length === 0 ? undefined : sinceMs + findGraceMs(this.#position);
    report({ type: 'log-retention', component, msToLoss: memory.retention.msToLoss(clock.monotonic()), gapAtMs });
    if (pending.length > 0 || isBehind) return;
    // Only now was no older line left unread: lines that come from now on were written since. Of a `current` without a line nothing
    // says that no file before it is still being compressed.
    if (this.#isAtEnd && open) memory.lookedAtMs = observedMs;
    memory.busySinceMs = undefined;
    report({ type: 'log-caught-up', component, isWaitingForLineEnd: (open?.tornAt.length ?? 0) > 0 });
  }

  #readRotated(rotated: RotatedFile, wanted: 'begun' | 'any', signal: AbortSignal) {
    return readRotated(this.#log, this.#reader, rotated, wanted, signal);
  }
}

/**
 * Plans the first contact with a log. The name of a rotated file is the time of its last line. A log that appears while its
 * router is already known (since `contactMs`) is new as a whole, so nothing of it that is younger is passed over.
 */
function planStart(
  { start = 'all', clock }: FollowOptions,
  listed: ListedLog,
  contactMs: number | undefined,
): Pick<Extract<Observation, { readonly type: 'started' }>, 'skipped' | 'skipBeforeUtcMs'> {
  if (start === 'all') return { skipped: [], skipBeforeUtcMs: undefined };
  if (start === 'now' && contactMs === undefined) return { skipped: listed.rotated, skipBeforeUtcMs: ALL };
  const sinceMs = (contactMs ?? clock.now()) - (start === 'now' ? 0 : start.backMs);
  const skipped = listed.rotated.filter(({ stamp }) => parseStampUtcMs(stamp) < sinceMs);
  return { skipped, skipBeforeUtcMs: sinceMs };
}

/** True if a body came and not all of it: to ask for it again costs as much. */
function isBodyUnfinished(cause: unknown): boolean {
  return isBodyCut(cause) || isTooLong(cause) || (cause instanceof SourceError && statusOf(cause) === 200);
}
