import { RouterReadError } from '../../model/index.ts';
import { LINK_MS_MAX } from '../listing/link-rule.ts';
import { type ListedLog, parseStampUtcMs, type RotatedFile } from '../listing/listing.ts';
import type { LogFile, LogPosition } from '../position/position.ts';
import { isBodyCut, isFileFault, isTooLong, statusOf } from '../reading/errors.ts';
import { findRetryMs } from '../step/files.ts';
import { findGraceMs } from '../step/losses.ts';
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
  type Observation,
} from '../step/state.ts';
import type { Step } from '../step/step.ts';
import type { FollowOptions } from './contracts.ts';
import { FileReader } from './file-reader.ts';
import { FollowedLog, type PreparedStep, type RouterRun, type TakenLines } from './followed-log.ts';
import { LogMemory } from './memory.ts';
import { readRotated } from './rotated-file.ts';

/** A new `current` is held up to this size until a second listing confirms that nothing rotated. Bytes. */
const UNCONFIRMED_BYTES_MAX = 2 * 1024 * 1024;
/** Maximum listings in one run. A log that rotates faster is read further in the next run. */
const PASSES_MAX = 3;
/** A log yields to the other logs of its router after this much text. Files are not split. Bytes. */
const SHARE_BYTES = 4 * 1024 * 1024;
/** About three components with five files of 1 MiB each. */
const HISTORY_BYTES_MAX = 16 * 1024 * 1024;
/** Later than any line, and still a number that JSON can hold. */
const ALL = Number.MAX_SAFE_INTEGER;

/** Reads one log (one component of one router) in one run. */
export class LogFollower {
  readonly #run: RouterRun;
  readonly component: string;
  readonly #relist: () => Promise<ListedLog>;
  readonly #log: FollowedLog;
  readonly #reader: FileReader;
  /** True if times were corrected because the agent's clock was set; store them before reading. */
  readonly #isUnstored: boolean;
  /** True if the log was never read. */
  #isFirstContact: boolean;
  #listed: ListedLog | undefined;
  #shareFromBytes = 0;
  #hasFailed = false;
  #isAtEnd = false;
  #isDeferred = false;

  /** `known`: the stored position; `undefined` if the log was never read. */
  constructor(run: RouterRun, component: string, known: LogPosition | undefined, relist: () => Promise<ListedLog>) {
    this.#run = run;
    this.component = component;
    this.#relist = relist;
    this.#isFirstContact = known === undefined;
    this.#log = new FollowedLog(run, component, known);
    // The store may have lost the position; then the same lines are read again.
    if (this.#isFirstContact) this.#log.memory.forgetRead();
    this.#isUnstored = !run.isReplaced && this.#log.isClockSet;
    this.#reader = new FileReader(this.#log);
    // Times of a replaced device stay in its zone: they are part of the final records.
    if (!run.isReplaced) this.#log.alignTimes();
  }

  get #position(): LogPosition {
    return this.#log.position;
  }

  /**
   * Reads new lines up to the share. Resolves to `more` if lines are left. Throws what ends the whole run: the router
   * is unreachable, or the store is full.
   */
  async run(listed: ListedLog, signal: AbortSignal): Promise<'settled' | 'more'> {
    this.#shareFromBytes = this.#log.readBytes;
    this.#log.alignTimes();
    this.#log.memory.retention.recordListed(listed.rotated.length);
    const { held } = this.#position.stream;
    let now = listed;
    for (let pass = 1; pass <= PASSES_MAX; pass++) {
      const outcome = await this.#pass(now, pass === PASSES_MAX, signal);
      if (outcome === 'more') return 'more';
      if (outcome === 'settled') break;
      now = outcome;
    }
    if (this.#run.options.isOnlyRun) await this.#log.recordIfEmitted({ type: 'time-passed', listed: now });
    const last = this.#position.stream.held;
    // No continuation line came, or can come.
    const isLast =
      this.#run.options.isOnlyRun || (last !== undefined && held?.uid === last.uid && held.end === last.end);
    if (last && isLast) await this.#log.record({ type: 'held-released' });
    return 'settled';
  }

  /**
   * Returns commits needed before any log is read: rotated files at first contact, which may soon be gone, and
   * corrected times.
   */
  pin(listed: ListedLog): readonly PreparedStep[] {
    if (this.#isFirstContact && listed.rotated.length > 0) return [this.#log.prepare(this.#begin(listed))];
    return this.#isUnstored ? [this.#log.prepare({ emitted: [] })] : [];
  }

  /** Adds files listed while other logs are read, because they may be deleted later. */
  async recordListed(listed: ListedLog, isSettled: boolean): Promise<void> {
    if (this.#isFirstContact || !isNews(this.#position, listed)) return;
    this.#recordFiles(listed);
    // Otherwise the next commit stores it.
    if (isSettled) await this.#log.save();
  }

  /** Ends the log because another device answers. The caller commits the returned step. */
  replace(): PreparedStep {
    const step = this.#log.observe({ type: 'replaced' });
    // The new device has its own clock, zone and older lines.
    Object.assign(this.#log.memory, new LogMemory());
    return this.#log.prepare(step);
  }

  /** Processes one listing. Resolves to a newer listing if that must be processed first. */
  async #pass(listed: ListedLog, isLast: boolean, signal: AbortSignal): Promise<'settled' | 'more' | ListedLog> {
    this.#isAtEnd = false;
    this.#isDeferred = false;
    await this.#log.recordIfEmitted({ type: 'unlisted', listed });
    this.#listed = undefined;
    if (this.#isFirstContact) await this.#log.commitIfEmitted(this.#begin(listed));
    await this.#resumeRotated(listed, signal);
    const newer = await this.#followCurrent(listed, isLast, signal);
    if (newer) return newer;
    if (this.#isReset(listed)) await this.#log.record({ type: 'wiped' });
    if (isHolding(this.#log.view)) return 'settled';
    await this.#log.recordIfEmitted({ type: 'time-passed', listed });
    const outcome = await this.#readFresh(listed, signal);
    if (outcome === 'more') return 'more';
    if (outcome === 'blocked') return 'settled';
    if (!this.#position.open && listed.current !== undefined) {
      const rotated = await this.#beginCurrent(listed.current, isLast, signal);
      if (rotated) return rotated;
    }
    if (listed.current === undefined) await this.#endSkipping();
    // Older files are read now, unless `current` must wait.
    if (!this.#isDeferred) await this.#readBackfill(listed, signal);
    this.#reportEnd(listed);
    return 'settled';
  }

  #begin(listed: ListedLog): Step {
    const { contactMs, options } = this.#run;
    const step = this.#log.observe({ type: 'started', ...planStart(options, listed, contactMs) });
    this.#isFirstContact = false;
    this.#recordFiles(listed);
    return step;
  }

  /** True if the router deleted all files of this log and started a new one. */
  #isReset(listed: ListedLog): boolean {
    const { open, pending, isWiped } = this.#position;
    if (open || listed.rotated.length > 0) return false;
    return isWiped ? listed.current !== undefined : pending.length > 0 && this.#run.isWiped;
  }

  #listFresh(listed: ListedLog): readonly RotatedFile[] {
    if (this.#listed !== listed) this.#recordFiles(listed);
    return listFresh(this.#position, listed);
  }

  #recordFiles(listed: ListedLog): void {
    this.#log.observe({ type: 'listed', listed });
    this.#listed = listed;
  }

  /** Searches the new rotated files for the rest of files read in part. */
  async #resumeRotated(listed: ListedLog, signal: AbortSignal): Promise<void> {
    for (const rotated of this.#listFresh(listed)) {
      if (listBegun(this.#position).length === 0) return;
      if (!isDue(this.#log.view, rotated.stamp) || !mayHoldRest(this.#position, rotated.stamp)) continue;
      const outcome = await this.#readRotated(rotated, 'begun', signal);
      // An incomplete file may be the one searched for, so newer files wait.
      if (outcome === 'unfinished') return;
      // Each file searched without success must be downloaded again later.
      if (outcome === 'unrelated' && isSearchOver(this.#log.view)) return;
    }
  }

  /** Continues the open file. Resolves to a newer listing if that shows another rotation. */
  async #followCurrent(listed: ListedLog, isLast: boolean, signal: AbortSignal): Promise<ListedLog | undefined> {
    const { open } = this.#position;
    if (!open) return undefined;
    const isOther = listed.current !== undefined && !(await this.#resumeCurrent(listed.current, open, signal));
    if (!isOther && !this.#isRotatedUnseen(listed)) return undefined;
    if (!isLast) {
      // The listing may be older than the rotation just detected.
      const newer = await this.#relist();
      if (isNews(this.#position, newer)) return newer;
    }
    await this.#run.device.confirm(signal);
    await this.#log.record({ type: 'current-replaced' });
    return undefined;
  }

  /** True if `current` could not be read, but a file rotated later than its last line shows that it was rotated. */
  #isRotatedUnseen(listed: ListedLog): boolean {
    const lastUtcMs = this.#position.open?.lastUtcMs;
    const isSeen = listed.current !== undefined && !this.#hasFailed;
    if (isSeen || lastUtcMs === undefined || this.#run.evidence.zone.isAssumed) return false;
    return this.#listFresh(listed).some(({ stamp }) => {
      return !isBackfill(this.#position, stamp) && parseStampUtcMs(stamp) > lastUtcMs + LINK_MS_MAX;
    });
  }

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
    // Most reads find nothing new and need no write.
    if (file?.off !== before.off || taken.batch.records.length > 0 || isTorn || isSkipping) {
      // Ends skipping in the same step as the last skipped lines.
      await this.#log.record({ type: isSkipping ? 'current-opened' : 'lines-read', piece: taken.piece }, taken);
    }
    this.#recordEnd(etag);
    return true;
  }

  /** Reads `current`. Resolves to `undefined` if nothing is new or reading failed. */
  async #readCurrent(request: Parameters<FileReader['read']>[0], signal: AbortSignal) {
    const { memory } = this.#log;
    if (this.#isUnproductive) {
      this.#hasFailed = true;
      return undefined;
    }
    const { off } = this.#position.open ?? { off: 0 };
    const outcome = await this.#reader.read(request, signal);
    if (outcome.kind === 'failed') {
      await this.#recordCurrentFault(request.name, outcome.cause, outcome.kept, off);
      return undefined;
    }
    if (outcome.kind === 'read' && outcome.result.kind === 'binary') {
      this.#hasFailed = true;
      await this.#log.recordIfEmitted({ type: 'current-unreadable', bytes: outcome.result.bytes });
      this.#recordDownload(true);
      return undefined;
    }
    memory.unproductive = undefined;
    if (outcome.kind === 'read') return outcome;
    this.#isAtEnd = true;
    return undefined;
  }

  get #newestStamp(): string | undefined {
    return this.#listed?.rotated.at(-1)?.stamp;
  }

  /** True while downloads of `current` cost bytes without giving new lines. */
  get #isUnproductive(): boolean {
    const { unproductive } = this.#log.memory;
    if (!unproductive || this.#run.options.isOnlyRun || unproductive.newestStamp !== this.#newestStamp) return false;
    return this.#run.options.clock.monotonic() < unproductive.notBeforeMs;
  }

  #recordDownload(isUnproductive: boolean): void {
    const { memory } = this.#log;
    const newestStamp = this.#newestStamp;
    const before = memory.unproductive?.newestStamp === newestStamp ? memory.unproductive : undefined;
    const count = (before?.count ?? 0) + 1;
    const notBeforeMs = this.#run.options.clock.monotonic() + findRetryMs(count, 'refused');
    memory.unproductive = isUnproductive ? { count, newestStamp, notBeforeMs } : undefined;
  }

  async #recordCurrentFault(name: string, cause: unknown, kept: TakenLines | undefined, off: number): Promise<void> {
    if (kept) await this.#log.record({ type: 'lines-read', piece: kept.piece }, kept);
    this.#hasFailed = true;
    this.#run.options.report({ type: 'log-failed', component: this.component, file: name, cause });
    if (!isFileFault(cause) || this.#log.isRouterBusy(cause)) throw cause;
    this.#recordDownload(isBodyUnfinished(cause) && (this.#position.open?.off ?? 0) <= off);
  }

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

  /** True if all lines read so far were written before first contact. */
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

  /** Opens a new `current`. Resolves to a newer listing, without opening it, if a rotation came in between. */
  async #beginCurrent(name: string, isLast: boolean, signal: AbortSignal): Promise<ListedLog | undefined> {
    const candidates = (): LogFile[] => listRemembered(this.#position);
    const batchBytes = UNCONFIRMED_BYTES_MAX;
    const outcome = await this.#readCurrent({ name, candidates, acceptsNew: true, batchBytes }, signal);
    if (!outcome?.reading) return undefined;
    const { reading, result, etag } = outcome;
    this.#isDeferred = result.kind === 'deferred';
    // A text that may be an error page leaves nothing to store.
    if (result.kind === 'deferred' && result.text === undefined) await this.#log.save();
    // From now on all lines are new.
    if (result.kind === 'nothing') {
      await this.#endSkipping();
      this.#recordEnd(undefined);
    }
    if (result.kind !== 'taken') return undefined;
    if (!isLast && !isBegun(this.#position, result.file)) {
      const newer = await this.#relist();
      if (isNews(this.#position, newer)) return newer;
    }
    const taken = this.#reader.take(reading, undefined);
    await this.#log.record({ type: 'current-opened', piece: taken.piece }, taken);
    this.#recordEnd(etag);
    return undefined;
  }

  /** Records that the log was read to its end, with the entity tag. Call it after the commit. */
  #recordEnd(etag: string | undefined): void {
    this.#isAtEnd = true;
    this.#log.rememberEtag(etag, this.#position.open?.off);
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
    memory.retention.recordRead(beganMs, readBytes - ownBytes);
    const sinceMs = Math.min(...pending.map((entry) => entry.sinceMs));
    const gapAtMs = pending.length === 0 ? undefined : sinceMs + findGraceMs(this.#position);
    report({ type: 'log-retention', component, msToLoss: memory.retention.msToLoss(clock.monotonic()), gapAtMs });
    if (pending.length > 0 || isBehind) return;
    // Only now is no older line unread, so later lines were written after this time. An empty `current` does not prove
    // that: an older file may still be compressing.
    if (this.#isAtEnd && open) memory.readToEndAtMs = observedMs;
    memory.busySinceMs = undefined;
    report({ type: 'log-caught-up', component, isWaitingForLineEnd: (open?.tornAt.length ?? 0) > 0 });
  }

  #readRotated(rotated: RotatedFile, wanted: 'begun' | 'any', signal: AbortSignal) {
    return readRotated(this.#log, this.#reader, rotated, wanted, signal);
  }
}

/**
 * Plans first contact with a log. A rotated file is named after the time of its last line. A log that appears on a
 * known router (since `contactMs`) is new, so nothing younger than that is skipped.
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

/** True if a part of the body arrived, so that each retry costs bytes again. */
function isBodyUnfinished(cause: unknown): boolean {
  return isBodyCut(cause) || isTooLong(cause) || (cause instanceof RouterReadError && statusOf(cause) === 200);
}
