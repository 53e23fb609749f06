import type { RecordLines } from '../model/index.ts';
import type { ArchiveItem, BlockLost, BlockRecovered } from './archive/index.ts';
import { ArchiveError } from './archive/index.ts';
import type { LogCommit, LogEvent } from './contracts.ts';
import { createFrame, fromHeldEntry, type HeldEntry, renderEntry } from './entry.ts';
import { type Gap, type GapEdge, type Lane, renderGap, renderGapEnd, renderReset, toGapUid } from './event-records.ts';
import { dispositionOf, isBodyCut, isOwnFault, statusOf, toFileFault } from './failure.ts';
import { FileScan, type ScanResult } from './file-scan.ts';
import { createSkewBounds } from './log-clock.ts';
import { moveTimes } from './move-times.ts';
import { type ListedLog, parseStampUtcMs, type RotatedFile } from './names.ts';
import { createPosition, type Instance, type LogPosition } from './position.ts';
import { parsePosition, renderPosition } from './position-text.ts';
import { createBatch, type ReadingEnd, type RecordContext, type ScanBatch, toDamageGap } from './record-builder.ts';
import { RotationTracker } from './rotation-tracker.ts';
import { planStart } from './start.ts';
import { createStreamState, type StreamState } from './stream-state.ts';
import type { TailContext } from './tail-context.ts';
import { createLogMemory, type LogMemory } from './tail-memory.ts';
import { Zone } from './zone.ts';

/** Lines are made durable in pieces of about this size. Bytes of log text. */
const BATCH_BYTES = 512 * 1024;
/** A new `current` is held back in memory up to this size until a second listing has shown that nothing rotated meanwhile. */
const UNCONFIRMED_BYTES_MAX = 2 * 1024 * 1024;
/** Listings in one turn; a log that rotates faster than that is caught at the next turn. */
const PASSES_MAX = 3;
/** Bound of one decompressed file; routers rotate at about one MiB. */
const ARCHIVE_BYTES_MAX = 2 * 1024 * 1024 * 1024;
/** Decompressed bytes per compressed byte: an archive of one line again and again reaches a few thousand. */
const ARCHIVE_RATIO_MAX = 10_000;
/** A log gives way to the others of its router after this much; files are not cut. Bytes of log text. */
const SHARE_BYTES = 4 * 1024 * 1024;

/** Lines of one file that were read and are not durable yet. */
interface Piece {
  readonly batch: ScanBatch;
  readonly instance: Instance | undefined;
  /** Of a rotated file. */
  readonly stamp: string | undefined;
  readonly lane: Lane;
  /** What the next reading of the log needs; absent for lines out of order. */
  readonly stream: StreamState | undefined;
}

/** The reset of a log, as a record. */
interface Reset {
  readonly reason: 'wiped' | 'replaced';
  /** The last line before. */
  readonly from: GapEdge | undefined;
}

/** What has to be durable at once, and what is to be reported once it is. */
interface Step {
  readonly commit: LogCommit;
  readonly report: () => void;
}

const NOTHING: Piece = {
  batch: createBatch(),
  instance: undefined,
  stamp: undefined,
  lane: 'live',
  stream: undefined,
};

/** The reading of one log (one component of one router) in one turn. */
export class ComponentTail {
  readonly #turn: TailContext;
  readonly #component: string;
  readonly #relist: () => Promise<ListedLog>;
  readonly #chain: RotationTracker;
  readonly #memory: LogMemory;
  readonly #observedMs: number;
  /** Whether the stored position does not say with which zone its times were placed. */
  readonly #isZoneUnstored: boolean;
  /** Whether nothing of this log was ever read. */
  #isFirstContact: boolean;
  /** Bytes of lines read in this turn, and since the log last gave way to others. */
  #turnBytes = 0;
  #shareBytes = 0;
  #ownBytes = 0;
  /** What is to be reported once the next step is durable. */
  readonly #events: LogEvent[] = [];
  /** Whether a reading of `current` failed, so that its end is not known. */
  #hasFailed = false;
  /** Whether `current` was read to its end, and what was read is durable. */
  #isAtEnd = false;
  /** Whether a new `current` waits for the file before it. */
  #isHeldBack = false;

  constructor(turn: TailContext, component: string, position: string | undefined, relist: () => Promise<ListedLog>) {
    this.#turn = turn;
    this.#component = component;
    this.#relist = relist;
    this.#memory = turn.memory.of(component);
    this.#observedMs = turn.clock.now();
    const known = position === undefined ? undefined : parsePosition(position);
    this.#isZoneUnstored = known !== undefined && known.zone === undefined && !turn.isReplaced;
    this.#isFirstContact = known === undefined;
    this.#chain = new RotationTracker(known ?? createPosition(), {
      router: turn.router.name,
      component,
      clock: turn.clock,
      zone: () => turn.zone,
      rule: turn.linkRuleOf(component),
      isOnlyTurn: turn.isOnlyTurn,
      onLink: (link) => turn.noteLink(link),
    });
    // The times of a device that answers no more stay as they were: what is told of its end has them.
    if (!turn.isReplaced) this.#alignTimes();
  }

  get #position(): LogPosition {
    return this.#chain.position;
  }

  /**
   * Reads what is new, up to its share; resolves with whether there is more. Throws what ends the whole turn: the router is
   * gone, or the store takes no more.
   */
  async run(listed: ListedLog, signal: AbortSignal): Promise<'settled' | 'more'> {
    this.#shareBytes = 0;
    this.#alignTimes();
    this.#memory.retention.noteListed(listed.rotated.length);
    const { held } = this.#position.stream;
    let now = listed;
    for (let pass = 1; pass <= PASSES_MAX; pass++) {
      const outcome = await this.#pass(now, pass === PASSES_MAX, signal);
      if (outcome === 'more') return 'more';
      if (outcome === 'settled') break;
      now = outcome;
    }
    if (this.#turn.isOnlyTurn) this.#commitGaps(this.#chain.giveUpOverdue(now));
    const last = this.#position.stream.held;
    // Nothing has come, or can come, that continues it.
    if (last && (this.#turn.isOnlyTurn || (held?.uid === last.uid && held.end === last.end))) this.#release(last);
    return 'settled';
  }

  /** What has to be durable before any log is read: later evidence would change what is taken for the zone of this position. */
  pinZone(): readonly LogCommit[] {
    return this.#isZoneUnstored ? [this.#toCommit([])] : [];
  }

  /** Places what was read before with the zone that is in use now. */
  #alignTimes(): void {
    const { zone, zoneOfOldPositions, clock } = this.#turn;
    const position = this.#position;
    if (position.zone === zone.text) return;
    const before = position.zone === undefined ? zoneOfOldPositions : Zone.parse(position.zone);
    const nowMs = clock.now();
    moveTimes(position, before, zone, nowMs);
    position.zone = zone.text;
    // What was learnt of the clock's lead held for times of the other zone.
    if (before.offsetAt(nowMs) !== zone.offsetAt(nowMs)) Object.assign(this.#memory.skew, createSkewBounds());
  }

  /** What is listed while the log does not have its turn counts as seen: it may be gone when it has. */
  noteListed(listed: ListedLog, isSettled: boolean): void {
    if (this.#isFirstContact || !this.#chain.isNews(listed)) return;
    this.#chain.noteFresh(listed);
    // Otherwise what is read next makes it durable.
    if (isSettled) this.#store([]);
  }

  /** Ships the record that was kept back. */
  #release(held: HeldEntry): void {
    this.#position.stream.held = undefined;
    this.#store([...this.#endGaps(toEdge(held), 'live'), this.#renderHeld(held)]);
  }

  #renderHeld(held: HeldEntry): string {
    const { router } = this.#turn;
    return renderEntry(fromHeldEntry(held), createFrame(router.name, this.#component, router.labels));
  }

  /** One walk over what is listed; resolves with a newer listing when that has to be walked first. */
  async #pass(listed: ListedLog, isLast: boolean, signal: AbortSignal): Promise<'settled' | 'more' | ListedLog> {
    this.#isAtEnd = false;
    this.#isHeldBack = false;
    this.#commitGaps(this.#chain.forgetUnlisted(listed));
    if (this.#isFirstContact) this.#beginLog(listed);
    await this.#resumeRotated(listed, signal);
    if (this.#position.open && listed.current !== undefined) {
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
    if (this.#isReset(listed)) this.#reset();
    if (this.#chain.isHolding()) return 'settled';
    this.#giveUpOverdue(listed);
    const outcome = await this.#readFresh(listed, signal);
    if (outcome === 'more') return 'more';
    if (outcome === 'blocked') return 'settled';
    if (!this.#position.open && listed.current !== undefined) {
      const newer = await this.#beginCurrent(listed.current, isLast, signal);
      if (newer) return newer;
    }
    if (listed.current === undefined) this.#endSkipping();
    if (this.#position.open) await this.#readBackfill(listed, signal);
    this.#reportEnd(listed);
    return 'settled';
  }

  /** First contact: notes what is not wanted as skipped. */
  #beginLog(listed: ListedLog): void {
    const { start, contactMs, clock } = this.#turn;
    const plan = planStart(start, listed, contactMs, clock.now());
    this.#position.skipBeforeUtcMs = plan.skipBeforeUtcMs;
    for (const { stamp } of plan.skipped) this.#chain.complete(stamp, undefined);
    const last = plan.skipped.at(-1);
    if (last) {
      this.#commitGaps([
        { certainty: 'certain', reason: 'skipped', from: undefined, file: last.name, offset: 0, lines: undefined },
      ]);
    }
    this.#isFirstContact = false;
  }

  /** Whether the router has deleted all files of this log, and begun a new one. */
  #isReset(listed: ListedLog): boolean {
    const { open, pending, isWiped } = this.#position;
    if (open || listed.rotated.length > 0) return false;
    return isWiped ? listed.current !== undefined : pending.length > 0 && this.#turn.isWiped;
  }

  #reset(): void {
    const gaps = this.#chain.reset('wiped');
    this.#commitGaps(gaps, { reason: 'wiped', from: gaps.at(-1)?.from });
  }

  /** Another device answers now: what was begun on the one before is lost. To be committed by the caller. */
  replace(): Step {
    const { held } = this.#position.stream;
    this.#position.stream.held = undefined;
    const gaps = this.#chain.reset('replaced');
    const lines = [
      ...(held ? [...this.#endGaps(toEdge(held), 'live'), this.#renderHeld(held)] : []),
      ...this.#renderGaps(gaps, { reason: 'replaced', from: gaps.at(-1)?.from }),
    ];
    // Lines of the new device may be older than the last look, and its clock and zone are others.
    Object.assign(this.#memory, createLogMemory());
    this.#position.stream = createStreamState();
    this.#position.zone = this.#turn.zone.text;
    return { commit: this.#toCommit(lines), report: () => this.#reportStored() };
  }

  #giveUpOverdue(listed: ListedLog): void {
    const gaps = this.#chain.giveUpOverdue(listed);
    // A file that was neither rotated nor goes on was emptied; `current` may be open already.
    // Where archives are gone too, that is told when the new `current` is seen.
    const isEmptied = listed.rotated.length === 0 && !this.#position.isWiped;
    const emptied = isEmptied ? gaps.find(({ file }) => file.endsWith('/current')) : undefined;
    this.#commitGaps(gaps, emptied && { reason: 'wiped', from: emptied.from });
  }

  /** Looks among the new rotated files for the rest of those that were begun. */
  async #resumeRotated(listed: ListedLog, signal: AbortSignal): Promise<void> {
    for (const file of this.#chain.noteFresh(listed)) {
      const begun = this.#chain.begun();
      if (begun.length === 0) return;
      if (!this.#chain.isDue(file.stamp)) continue;
      // While a file is not whole, it may be the one: what comes after it waits.
      if ((await this.#readRotated(file, begun, false, signal)) === 'unfinished') return;
    }
  }

  /** Goes on in the file that was open; false when `current` has become another file. */
  async #resumeCurrent(name: string, signal: AbortSignal): Promise<boolean> {
    const { open } = this.#position;
    if (!open) return false;
    const before = open.off;
    const { scan, result, etag } = await this.#scanCurrent(name, [open], false, BATCH_BYTES, signal);
    if (result === 'unchanged') this.#isAtEnd = true;
    if (result === 'failed' || result === 'unchanged') return true;
    if (result.kind !== 'taken' || !scan) return false;
    const piece = this.#take(scan, 'open', open, undefined);
    // Most readings find nothing new, and those cost no write.
    if (open.off !== before || piece.batch.records.length > 0 || open.tornAt.length > 0) this.#commit(piece);
    this.#noteEnd(etag);
    return true;
  }

  /** Reads the rotated files that continue nothing, oldest first. */
  async #readFresh(listed: ListedLog, signal: AbortSignal): Promise<'done' | 'blocked' | 'more'> {
    for (const file of this.#chain.noteFresh(listed)) {
      if (this.#chain.isBackfill(file.stamp)) continue;
      if (this.#isHistory && this.#turnBytes >= this.#turn.historyBytes) {
        this.#putBehind(listed);
        break;
      }
      if (this.#shareBytes >= SHARE_BYTES) return 'more';
      if (!this.#chain.isDue(file.stamp)) {
        if (this.#chain.isHolding()) return 'blocked';
        continue;
      }
      const outcome = await this.#readRotated(file, this.#chain.remembered(), true, signal);
      if (outcome === 'withheld' || (outcome === 'unfinished' && this.#chain.isHolding())) return 'blocked';
    }
    return 'done';
  }

  /** Whether nothing new was ever seen of this log: what it holds was written before first contact. */
  get #isHistory(): boolean {
    const { open, pending } = this.#position;
    return (
      this.#position.skipBeforeUtcMs === undefined &&
      !open &&
      pending.length === 0 &&
      this.#turn.contactMs === undefined
    );
  }

  /** What is left of the history is read behind the live log. */
  #putBehind(listed: ListedLog): void {
    for (const { stamp } of this.#chain.noteFresh(listed)) {
      const waiting = this.#position.waiting[stamp];
      if (waiting) waiting.isBackfill = true;
    }
    this.#position.chainEnd = undefined;
    this.#position.liveFrom = null;
    this.#store([]);
  }

  async #readBackfill(listed: ListedLog, signal: AbortSignal): Promise<void> {
    const from = this.#turnBytes;
    for (const file of this.#chain.noteFresh(listed)) {
      if (this.#turnBytes - from >= this.#turn.historyBytes) return;
      if (!this.#chain.isBackfill(file.stamp) || !this.#chain.isDue(file.stamp)) continue;
      await this.#readRotated(file, this.#chain.remembered(), true, signal);
    }
  }

  /** Takes up a new `current`; resolves with a newer listing when a rotation came between, and nothing was taken up. */
  async #beginCurrent(name: string, isLast: boolean, signal: AbortSignal): Promise<ListedLog | undefined> {
    const { scan, result, etag } = await this.#scanCurrent(
      name,
      this.#chain.remembered(),
      true,
      UNCONFIRMED_BYTES_MAX,
      signal,
    );
    if (typeof result === 'string' || !scan) return undefined;
    this.#isHeldBack = result.kind === 'withheld';
    if (this.#isHeldBack) this.#store([]);
    // What is written from now on is new.
    if (result.kind === 'nothing') {
      this.#endSkipping();
      this.#noteEnd(undefined);
    }
    if (result.kind !== 'taken') return undefined;
    const { instance } = result;
    if (!isLast && !this.#chain.isBegun(instance)) {
      const newer = await this.#relist();
      if (this.#chain.isNews(newer)) return newer;
    }
    this.#chain.open(instance);
    this.#position.skipBeforeUtcMs = undefined;
    this.#commit(this.#take(scan, 'open', instance, undefined));
    this.#noteEnd(etag);
    return undefined;
  }

  /** `current` was read to its end and made durable. Before that, its entity tag would have unread lines passed over. */
  #noteEnd(etag: string | undefined): void {
    this.#isAtEnd = true;
    this.#memory.etag = etag;
  }

  #endSkipping(): void {
    if (this.#position.skipBeforeUtcMs === undefined) return;
    this.#position.skipBeforeUtcMs = undefined;
    this.#store([]);
  }

  #reportEnd(listed: ListedLog): void {
    const { pending, open } = this.#position;
    const isBehind = this.#chain.noteFresh(listed).some(({ stamp }) => !this.#chain.isBackfill(stamp));
    if (this.#hasFailed || this.#isHeldBack) return;
    const nowMs = this.#turn.clock.now();
    this.#memory.retention.noteLook(this.#observedMs, this.#turnBytes - this.#ownBytes);
    const { report } = this.#turn;
    report({ type: 'log-retention', component: this.#component, msToLoss: this.#memory.retention.msToLoss(nowMs) });
    if (pending.length > 0 || isBehind) return;
    // What comes from now on was written since: only now was nothing left that merely had not been read.
    if (this.#isAtEnd) this.#memory.lookedAtMs = this.#observedMs;
    report({ type: 'log-caught-up', component: this.#component, isWaitingForLineEnd: (open?.tornAt.length ?? 0) > 0 });
  }

  /** Reads one rotated file to its end, or finds out why that is not possible now. */
  async #readRotated(
    file: RotatedFile,
    candidates: readonly Instance[],
    acceptsNew: boolean,
    signal: AbortSignal,
    isRetry = false,
  ): Promise<'completed' | 'stranger' | 'withheld' | 'unfinished'> {
    const { source, archives } = this.#turn;
    const scan = this.#createScan(file.name, file.stamp, candidates, acceptsNew, BATCH_BYTES);
    const limits = {
      outputBytesMax: ARCHIVE_BYTES_MAX,
      ratioMax: ARCHIVE_RATIO_MAX,
      resync: this.#chain.isBeyondRepair(file.stamp),
      signal,
    };
    let result: ScanResult;
    try {
      result = await source.readLog(file.name, signal, (body) => scan.read(linesOf(archives.decode(body, limits))));
    } catch (cause) {
      if (this.#isOver(cause, signal)) throw cause;
      const kept = this.#takeWhole(scan, file.stamp);
      if (isBodyCut(cause) && !isRetry) {
        if (kept) this.#commit(kept);
        return this.#readRotated(file, this.#candidates(acceptsNew), acceptsNew, signal, true);
      }
      return this.#noteFault(file, cause, kept);
    }
    if (result.kind === 'withheld') {
      this.#store([]);
      return 'withheld';
    }
    if (result.kind === 'stranger') {
      const { suspect } = result;
      // Another file that begins alike: the proof failed, so the next reading does not consider it.
      const others = candidates.filter((candidate) => candidate !== suspect);
      if (suspect && (acceptsNew || others.some(({ key }) => key === suspect.key)))
        return this.#readRotated(file, others, acceptsNew, signal, isRetry);
      this.#chain.noteStranger(file.stamp, result.firstWallAsUtcMs);
      return 'stranger';
    }
    const instance = result.kind === 'taken' ? result.instance : undefined;
    const piece = this.#take(scan, 'closed', instance, file.stamp);
    // What is left here has no line behind it in the file: it ends with the line behind the file, if that was read.
    const to = this.#position.waiting[file.stamp]?.to;
    const damage = scan.lost.map((lost): Gap => ({ ...toDamageGap(lost, file.name, undefined), to, lane: piece.lane }));
    this.#chain.complete(file.stamp, instance);
    if (instance) this.#memory.retention.noteFile(instance.off);
    this.#commit(piece, damage);
    return 'completed';
  }

  #candidates(acceptsNew: boolean): readonly Instance[] {
    return acceptsNew ? this.#chain.remembered() : this.#chain.begun();
  }

  /** Whether an error ends the turn: the file is not to blame, and another reading would be in vain. */
  #isOver(cause: unknown, signal: AbortSignal): boolean {
    return signal.aborted || this.#turn.hasLostCommit || dispositionOf(cause) === 'hold-back';
  }

  /** Reads `current`, only its end where the router can do that. */
  async #scanCurrent(
    name: string,
    candidates: readonly Instance[],
    acceptsNew: boolean,
    batchBytes: number,
    signal: AbortSignal,
    isRetry = false,
  ): Promise<{ scan: FileScan | undefined; result: ScanResult | 'failed' | 'unchanged'; etag?: string | undefined }> {
    const { source, facts } = this.#turn;
    const [only] = candidates;
    const proof = only && !acceptsNew && facts.range !== false && 'base' in only.proof ? only.proof : undefined;
    const wantedStart = proof && proof.base > 0 ? proof.base : undefined;
    const unlessEtag = only && !acceptsNew ? this.#memory.etag : undefined;
    let scan: FileScan | undefined;
    let etag: string | undefined;
    // Only of what is durable: a router that is asked again whether anything has changed must not say no.
    this.#memory.etag = undefined;
    try {
      const result = await source.readLog(
        name,
        signal,
        async (body, start = 0, about = {}) => {
          const reading = this.#createScan(name, undefined, candidates, acceptsNew, batchBytes);
          scan = reading;
          if (wantedStart !== undefined) this.#turn.noteRange(start === wantedStart);
          if (only && proof && start > 0) reading.resume(only, start, proof.baseSha);
          const outcome = await reading.read(body);
          etag = outcome.kind === 'taken' ? about.etag : undefined;
          this.#turn.noteFresh(reading.instance, about.dateMs, this.#memory.lookedAtMs);
          return outcome;
        },
        { ...(wantedStart !== undefined && { start: wantedStart }), ...(unlessEtag !== undefined && { unlessEtag }) },
      );
      if (acceptsNew && result.kind === 'stranger' && result.suspect) {
        const others = candidates.filter((candidate) => candidate !== result.suspect);
        return await this.#scanCurrent(name, others, acceptsNew, batchBytes, signal, isRetry);
      }
      return { scan, result, etag };
    } catch (cause) {
      if (this.#isOver(cause, signal)) throw cause;
      const status = statusOf(cause);
      if (status === 304) {
        this.#memory.etag = unlessEtag;
        return { scan: undefined, result: 'unchanged' };
      }
      // The file ends before the place where reading was to go on: it is another one.
      if (status === 416)
        return { scan: undefined, result: { kind: 'stranger', suspect: only, firstWallAsUtcMs: undefined } };
      if (status === 206) this.#turn.noteRange(false);
      const kept = scan && this.#takeWhole(scan, undefined);
      if (kept) this.#commit(kept);
      if ((status === 206 || isBodyCut(cause)) && !isRetry) {
        return this.#scanCurrent(name, candidates, acceptsNew, batchBytes, signal, true);
      }
      this.#hasFailed = true;
      this.#turn.report({ type: 'log-failed', component: this.#component, file: name, cause });
      if (!isOwnFault(cause)) throw cause;
      return { scan, result: 'failed' };
    }
  }

  /** `stamp` is that of a rotated file, to which the router writes no more. */
  #createScan(
    name: string,
    stamp: string | undefined,
    candidates: readonly Instance[],
    acceptsNew: boolean,
    batchBytes: number,
  ): FileScan {
    const isClosed = stamp !== undefined;
    const scan: FileScan = new FileScan({
      file: name,
      createContext: (instance) => this.#createFileContext(name, instance, stamp),
      candidates,
      acceptsNew,
      isClosed,
      isStampExpected: this.#position.hasHistory,
      // What is read behind the live log is linked to nothing, and waits for nothing.
      admits: (firstWallAsUtcMs, known) =>
        (known !== undefined && this.#chain.isBegun(known)) ||
        (stamp !== undefined && this.#position.open !== undefined) ||
        this.#chain.admits(firstWallAsUtcMs, stamp),
      nextGen: (key) => this.#chain.nextGen(key),
      endMs: stamp === undefined ? this.#observedMs : parseStampUtcMs(stamp),
      order: this.#position.stream.order,
      batchBytes,
      onBatch: (instance, batch) => {
        const piece = this.#toPiece(scan, batch, instance, stamp);
        this.#chain.adopt(instance, stamp);
        this.#commit(piece);
      },
    });
    return scan;
  }

  /** Takes what was read of a file and is not durable yet. Comes before the chain learns how the file stands now. */
  #take(scan: FileScan, end: ReadingEnd, instance: Instance | undefined, stamp: string | undefined): Piece {
    return this.#toPiece(scan, scan.takeBatch(end), instance, stamp);
  }

  #toPiece(scan: FileScan, batch: ScanBatch, instance: Instance | undefined, stamp: string | undefined): Piece {
    const isBackfill = stamp !== undefined && this.#chain.isBackfill(stamp);
    const lane = instance ? this.#chain.laneOf(instance, stamp) : isBackfill ? 'backfill' : 'live';
    return { batch, instance, stamp, lane, stream: lane === 'live' ? scan.stream : undefined };
  }

  #createFileContext(file: string, instance: Instance, stamp: string | undefined): RecordContext {
    // The beginning of the file may just have shown the zone.
    this.#alignTimes();
    const { lookedAtMs, skew } = this.#memory;
    return {
      ...this.#createContext(file, this.#chain.flagsFor(instance, stamp)),
      behind: this.#chain.lineBehind(instance) ?? (stamp === undefined ? undefined : this.#behind(stamp)),
      ...(this.#chain.laneOf(instance, stamp) === 'live' && {
        stream: this.#position.stream,
        notBeforeMs: lookedAtMs,
        skew,
      }),
      skipBeforeUtcMs: this.#position.skipBeforeUtcMs,
    };
  }

  /** The line behind a rotated file, where it was read before that file. */
  #behind(stamp: string): GapEdge | undefined {
    return this.#position.waiting[stamp]?.to ?? undefined;
  }

  #createContext(file: string, flags: RecordContext['flags']): RecordContext {
    const { router, zone, isOwn, redact, rules, order, clock } = this.#turn;
    return {
      router,
      component: this.#component,
      zone,
      observedMs: this.#observedMs,
      now: () => clock.now(),
      file,
      flags,
      isOwn,
      redact,
      rules,
      order,
    };
  }

  /** After a fault: takes the lines that came before it, which are whole and verified. */
  #takeWhole(scan: FileScan, stamp: string | undefined): Piece | undefined {
    const { instance } = scan;
    if (!instance) return undefined;
    // A new `current` that no second listing has confirmed is read again next time.
    if (stamp === undefined && !this.#chain.isBegun(instance)) return undefined;
    const piece = this.#take(scan, 'more', instance, stamp);
    if (piece.batch.records.length === 0 && piece.stream?.held === undefined) return undefined;
    this.#chain.adopt(instance, stamp);
    return piece;
  }

  /** Notes why a rotated file could not be read, with what was read of it; throws when it is not the file's fault. */
  #noteFault(file: RotatedFile, cause: unknown, kept: Piece = NOTHING): 'unfinished' | 'completed' {
    const isUnfinished = cause instanceof ArchiveError && cause.code === 'truncated';
    const type = isUnfinished ? 'archive-unfinished' : 'log-failed';
    this.#turn.report({ type, component: this.#component, file: file.name, cause });
    if (!isOwnFault(cause)) {
      if (kept !== NOTHING) this.#commit(kept);
      throw cause;
    }
    if (cause instanceof ArchiveError && (cause.code === 'too-large' || cause.code === 'unsupported')) {
      this.#commit(kept, [this.#chain.giveUpFile(file, cause.code)]);
      return 'completed';
    }
    this.#chain.noteFault(file.stamp, toFileFault(cause));
    this.#commit(kept);
    return 'unfinished';
  }

  /** Tells gaps, and that the log begins anew if it does, in one step with the position behind them. */
  #commitGaps(gaps: readonly Gap[], reset?: Reset): void {
    if (gaps.length > 0 || reset) this.#store(this.#renderGaps(gaps, reset));
  }

  /** The records of gaps and of a reset behind them, and of gaps that end with them. */
  #renderGaps(gaps: readonly Gap[], reset?: Reset): string[] {
    const context = this.#createContext(`${this.#component}/current`, []);
    const told = gaps.map((gap): Gap => ({ ...gap, to: this.#chain.endOf(gap) }));
    // What follows missing lines continues no record before them.
    const { held } = this.#position.stream;
    const isTorn = held !== undefined && told.some(({ to, lane = 'live' }) => to === undefined && lane === 'live');
    if (isTorn) this.#position.stream.held = undefined;
    const before = isTorn ? [...this.#endGaps(toEdge(held), 'live'), this.#renderHeld(held)] : [];
    for (const gap of told) this.#noteGap(gap);
    if (reset) this.#events.push({ type: 'log-reset', component: this.#component, reason: reset.reason });
    const last = reset ? [renderReset(context, reset.reason, reset.from)] : [];
    return [...before, ...told.map((gap) => renderGap(context, gap)), ...last];
  }

  /** Keeps in mind a gap whose record becomes durable with the next step. */
  #noteGap(gap: Gap): void {
    const { certainty, reason, bytesMin, to } = gap;
    const uid = toGapUid(this.#createContext(gap.file, []), gap);
    if (to === undefined) this.#chain.noteOpenGap(uid, gap);
    const component = this.#component;
    this.#events.push({ type: 'log-gap-found', component, certainty, reason, bytesMin, uid, untilUtcMs: to?.utcMs });
  }

  /** The records of the ends of gaps before `first`, the first line of its lane that becomes durable with the next step. */
  #endGaps(first: GapEdge | undefined, lane: Lane): string[] {
    const context = this.#createContext(`${this.#component}/current`, []);
    return this.#chain.takeEnded(first, lane).map(({ gap, to }) => {
      this.#events.push({
        type: 'log-gap-ended',
        component: this.#component,
        gapUid: gap.uid,
        untilUtcMs: to.utcMs,
      });
      return renderGapEnd(context, gap, to);
    });
  }

  /** Makes what was read durable, with the gaps that were found and the position behind both. */
  #commit({ batch, instance, stamp, lane, stream }: Piece, gaps: readonly Gap[] = []): void {
    if (batch.lines > batch.unparsed) this.#position.hasHistory = true;
    const { held } = this.#position.stream;
    if (stream) this.#position.stream = stream;
    if (instance && batch.first) this.#chain.noteFirst(batch.first, instance, stamp, lane);
    const ends = this.#endGaps(findShipped(batch.first, stream ? held : undefined, stream?.held), lane);
    const file = stamp === undefined ? 'current' : `log-${stamp}`;
    const skipped = this.#renderGaps(toSkipped(batch, `${this.#component}/${file}`));
    for (const gap of batch.gaps) this.#noteGap({ ...gap, lane });
    const behind = this.#renderGaps(gaps);
    this.#events.push(...batch.events);
    const { lines, bytes, unparsed, own, nulBytes } = batch;
    const newestUtcMs = instance?.lastUtcMs;
    const component = this.#component;
    if (lines > 0) {
      this.#events.push({ type: 'log-read', component, lines, bytes, unparsed, own, nulBytes, newestUtcMs });
    }
    const isPlain = ends.length + skipped.length + behind.length === 0;
    this.#store(isPlain ? batch.records : [...ends, ...skipped, ...batch.records, ...behind]);
    batch.records.release();
    this.#turnBytes += bytes;
    this.#shareBytes += bytes;
    if (own > 0) this.#ownBytes += Math.round((bytes * own) / lines);
  }

  #store(lines: RecordLines): void {
    this.#turn.commit(this.#toCommit(lines));
    this.#reportStored();
  }

  #toCommit(lines: RecordLines): LogCommit {
    const { router } = this.#turn;
    return { router: router.name, component: this.#component, position: renderPosition(this.#position), lines };
  }

  #reportStored(): void {
    for (const event of this.#events.splice(0)) this.#turn.report(event);
  }
}

/** The first line that becomes durable with a batch: `first` of it, unless that is kept back or another one was before. */
function findShipped(
  first: GapEdge | undefined,
  heldBefore: HeldEntry | undefined,
  held: HeldEntry | undefined,
): GapEdge | undefined {
  if (heldBefore) return heldBefore.uid === held?.uid ? undefined : toEdge(heldBefore);
  return first?.uid === held?.uid ? undefined : first;
}

function toEdge({ uid, utcMs }: HeldEntry): GapEdge {
  return { uid, utcMs };
}

/** What was passed over at the beginning of a file because it is older than what is wanted. */
function toSkipped({ skipped, skippedBytes, first }: ScanBatch, file: string): Gap[] {
  if (skipped === 0) return [];
  return [
    {
      certainty: 'certain',
      reason: 'skipped',
      from: undefined,
      to: first,
      file,
      offset: 0,
      lines: skipped,
      bytesMin: skippedBytes,
    },
  ];
}

/** The bytes of an archive, what was lost of it, and the places where it goes on. */
async function* linesOf(items: AsyncIterable<ArchiveItem>): AsyncGenerator<Uint8Array | BlockLost | BlockRecovered> {
  for await (const item of items) {
    if (item instanceof Uint8Array || item.kind !== 'end') yield item;
    // Nothing is rotated before it has a line, and a compressed file has bytes even when it holds none: it is yet to grow.
    else if (item.inputBytes === 0) throw new ArchiveError('truncated', 'The rotated file is empty', { bit: 0 });
  }
}
