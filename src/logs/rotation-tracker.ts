import type { Clock } from '../base/index.ts';
import type { RecordFlag } from '../model/index.ts';
import type { Gap, GapEdge, Lane, OpenGap } from './event-records.ts';
import { createUidPrefix } from './identity.ts';
import { type LinkRule, meanDistanceMs } from './link-rule.ts';
import { FLOOR_MS, UNSYNCED_STEP_MS } from './log-clock.ts';
import { type ListedLog, parseStampUtcMs, type RotatedFile } from './names.ts';
import {
  type BrokenLink,
  type ChainEnd,
  type FileFault,
  type Instance,
  type LogPosition,
  type Pending,
  toLastEdge,
  type Waiting,
} from './position.ts';
import { isLinked, isLinkedInAnyZone, LINK_MS_MAX, linkOffsetMs } from './rotation-link.ts';
import type { Zone } from './zone.ts';

/** Newer lines wait this long for the rest of an older file, for the sake of order. */
const HOLD_MS = 60_000;
/** After this the rest of a file counts as lost. Covers the slowest compression that a router can need. */
const GRACE_MS = 15 * 60_000;
/** Files that are remembered although the router lists them no longer, or their rest was not found. */
const LOST_MAX = 8;
/** Completed files whose content is remembered, not only the name. */
const REMEMBERED_MAX = 64;
/** Gaps whose end is still to be told; of more than these the oldest stay without one. */
const OPEN_GAPS_MAX = 256;
/** Beginnings that may come again, of which only the number of files that had them is remembered. */
const GENS_MAX = 64;
/** A listed file that is answered with 404 so often is gone. */
const GONE_ATTEMPTS = 3;
/** A damaged file is asked for again so often before what can be read of it is taken. */
const CORRUPT_ATTEMPTS = 3;
/** How long a file is left alone after a reading that failed: doubled each time. */
const RETRY_FIRST_MS = 5000;
const RETRY_CEILING_MS = 120_000;

export interface ChainOptions {
  /** Configured name of the router. */
  readonly router: string;
  /** Component whose log is read. */
  readonly component: string;
  /** Clock for the times of events. */
  readonly clock: Clock;
  /** Returns the time zone of the log's lines as known now. */
  readonly zone: () => Zone;
  /** Whether a file begins in the second in which the one before it ends, as far as this router has shown it. */
  readonly rule: LinkRule;
  /** Whether there is no later turn in which what is missing could turn up: then nothing waits for it. */
  readonly isOnlyTurn?: boolean | undefined;
  /** Told the wall time at which a file began, and the rotation at which that happened, in UTC by the same clock. */
  readonly onLink?: ((link: { readonly utcMs: number; readonly offsetMs: number }) => void) | undefined;
}

/**
 * The files of one log in their order: which were begun, which are missing, and what may therefore be read now. Changes
 * the position that it was given; making that durable is the caller's.
 */
export class RotationTracker {
  readonly position: LogPosition;
  readonly #options: ChainOptions;
  /** Stamps of the rotated files that the router lists. */
  #listed: ReadonlySet<string> = new Set();
  /** UTC at which the youngest of the rotated files begins that continue nothing and were written to for long. */
  #strangersSinceMs = Number.NEGATIVE_INFINITY;
  /** Stamps of new files that were found to come before what was read last. */
  readonly #lateStamps = new Set<string>();

  constructor(position: LogPosition, options: ChainOptions) {
    this.position = position;
    this.#options = options;
  }

  /** Files that were read in part. */
  begun(): Instance[] {
    const { open, pending } = this.position;
    const waiting = pending.map(({ instance }) => instance);
    return open ? [...waiting, open] : waiting;
  }

  /** All files that are remembered: a rotated file may also be one that was completed under another name. */
  remembered(): Instance[] {
    const { lost, completed } = this.position;
    return [...this.begun(), ...lost, ...Object.values(completed).filter((instance) => instance !== null)];
  }

  isBegun(instance: Instance): boolean {
    return this.begun().includes(instance);
  }

  /** Whether a listing holds a rotated file that no listing had before. */
  isNews(listed: ListedLog): boolean {
    const { completed, waiting } = this.position;
    return listed.rotated.some(({ stamp }) => !(stamp in completed) && !(stamp in waiting));
  }

  /** The generation of a new file that begins with `key`. */
  nextGen(key: string): number {
    const gens = this.remembered().flatMap((instance) => (instance.key === key ? [instance.gen + 1] : []));
    return Math.max(0, this.position.gens[key] ?? 0, ...gens);
  }

  /** Rotated files that have not been read to their end, oldest first; new ones are noted. */
  noteFresh(listed: ListedLog): RotatedFile[] {
    const { completed, waiting } = this.position;
    this.#noteListing(listed);
    const fresh = listed.rotated.filter(({ stamp }) => !(stamp in completed));
    const sinceMs = this.#nowMs;
    for (const { stamp } of fresh) {
      waiting[stamp] ??= { sinceMs, attempts: 0, fault: undefined, notBeforeMs: 0, isBackfill: false };
    }
    return fresh;
  }

  /** Whether a file may be tried now: not too soon after it could not be read. */
  isDue(stamp: string): boolean {
    return (this.position.waiting[stamp]?.notBeforeMs ?? 0) <= this.#nowMs;
  }

  isBackfill(stamp: string): boolean {
    return this.position.waiting[stamp]?.isBackfill === true;
  }

  /** Whether what can be read of a damaged file should be taken now, because it will not get better. */
  isBeyondRepair(stamp: string): boolean {
    const waiting = this.position.waiting[stamp];
    return waiting?.fault === 'corrupt' && waiting.attempts >= CORRUPT_ATTEMPTS;
  }

  /** A file could not be read to its end. */
  noteFault(stamp: string, fault: FileFault): void {
    const waiting = this.position.waiting[stamp];
    if (!waiting) return;
    // Faults of another kind begin the count anew: three times the same is what says something.
    waiting.attempts = waiting.fault === fault ? waiting.attempts + 1 : 1;
    waiting.fault = fault;
    const waitMs = Math.min(RETRY_FIRST_MS * 2 ** (waiting.attempts - 1), RETRY_CEILING_MS);
    waiting.notBeforeMs = this.#nowMs + waitMs;
  }

  /** Whether the rest of something older was missed so recently that newer lines should wait for it. */
  isHolding(): boolean {
    const { pending, waiting } = this.position;
    return (
      pending.some(({ sinceMs, isPassed }) => !isPassed && !this.#isOlder(sinceMs, HOLD_MS)) ||
      Object.values(waiting).some((entry) => isMissed(entry) && !this.#isOlder(entry.sinceMs, HOLD_MS))
    );
  }

  /**
   * Whether a new file may be read now: not while one is likely to be missing before it. Where the router has shown that
   * they do, the first line of a file and the name of the one before it say so. A break that is found first is noted. A
   * rotated file, one with a `stamp`, may also be older than what was read last: nothing waits for that.
   */
  admits(firstWallAsUtcMs: number, stamp?: string): boolean {
    const { chainEnd, brokenLinks } = this.position;
    if (!chainEnd) return true;
    const { rule, zone } = this.#options;
    const endUtcMs = parseStampUtcMs(chainEnd.stamp);
    const beginsUtcMs = zone().place(firstWallAsUtcMs, endUtcMs).utcMs;
    // A clock that was not set proves neither that two files belong together nor that one is missing.
    const isSet = firstWallAsUtcMs >= FLOOR_MS && endUtcMs >= FLOOR_MS && !this.#hasFallen(endUtcMs, beginsUtcMs);
    const offsetMs = linkOffsetMs(firstWallAsUtcMs, chainEnd.stamp, zone());
    if (offsetMs !== undefined) {
      if (isSet) this.#noteMatch(chainEnd, offsetMs);
      // What was missing here is found.
      this.#dropLink(chainEnd.stamp);
      return true;
    }
    if (stamp !== undefined && stamp < chainEnd.stamp && !this.#isFarAhead(endUtcMs)) {
      this.#lateStamps.add(stamp);
      return true;
    }
    const { stamp: after, edge: from, isWatched } = chainEnd;
    const known = brokenLinks.find((link) => link.after === after);
    const link: BrokenLink = { after, from, sinceMs: this.#nowMs, isWatched };
    if (!isSet || !rule.holds) {
      // Files behind that one may have been deleted with it.
      if (!known && !this.#listed.has(after)) brokenLinks.push({ ...link, isVague: true });
      return true;
    }
    if (stamp !== undefined && this.#isNext(after, stamp, beginsUtcMs, beginsUtcMs)) {
      this.#dropLink(after);
      return true;
    }
    if (known) return known.isVague === true || this.#isOlder(known.sinceMs, HOLD_MS);
    const isBrief = stamp !== undefined && beginsUtcMs >= parseStampUtcMs(stamp) - LINK_MS_MAX;
    brokenLinks.push({ ...link, beginsUtcMs: isBrief ? undefined : beginsUtcMs });
    return this.#options.isOnlyTurn === true;
  }

  /**
   * Whether the router's clock fell back by days, as one without a battery does that begins at the date of its firmware. One that
   * had been ahead was set right, and the names that were ahead have cost files.
   */
  #hasFallen(fromUtcMs: number, toUtcMs: number): boolean {
    return toUtcMs < fromUtcMs - UNSYNCED_STEP_MS && !this.#isFarAhead(fromUtcMs);
  }

  /** A file begins in the second in which the one before it was rotated. In a log that contradicts the rule that is chance. */
  #noteMatch({ stamp, distanceMs }: ChainEnd, offsetMs: number): void {
    const { rule, onLink } = this.#options;
    if (rule.isRefuted) return;
    rule.noteMatch(stamp, distanceMs);
    onLink?.({ utcMs: parseStampUtcMs(stamp), offsetMs });
  }

  /**
   * Whether nothing is missing between two rotated files, whatever their lines say: the router lists both and none between
   * them, and it deletes the oldest first. Only if its clock was not set meanwhile; while the zone is unknown nobody sees
   * that. And a file that begins in the second of its own name may have taken the place of another one of that name.
   */
  #isNext(before: string, stamp: string, firstUtcMs: number, lastUtcMs: number): boolean {
    const isAlone = [...this.#listed].every((other) => other <= before || other >= stamp);
    if (!this.#listed.has(before) || !this.#listed.has(stamp) || !isAlone) return false;
    const [fromMs, toMs] = [parseStampUtcMs(before), parseStampUtcMs(stamp)];
    if (this.#options.zone().isAssumed) return !isLinkedInAnyZone(firstUtcMs, stamp);
    if (isLinked(firstUtcMs, stamp)) return false;
    return fromMs - LINK_MS_MAX <= firstUtcMs && firstUtcMs <= lastUtcMs && lastUtcMs <= toMs + LINK_MS_MAX;
  }

  /** A file was read to its end, and the one before it too: if nothing is missing between them, they must be linked. */
  #testRule(stamp: string, { follows, firstUtcMs, lastUtcMs }: Instance): void {
    const before = follows ?? this.position.chainEnd?.stamp;
    if (before === undefined || firstUtcMs === undefined || lastUtcMs === undefined) return;
    if (!isClockSet(firstUtcMs, before) || isLinkedInAnyZone(firstUtcMs, before)) return;
    if (!this.#isNext(before, stamp, firstUtcMs, lastUtcMs)) return;
    this.#contradict(before, follows !== undefined);
    this.#dropLink(before);
  }

  /** The file behind this one begins at another time, and nothing is missing between them. */
  #contradict(stamp: string, isWatched: boolean): void {
    const { rule } = this.#options;
    // A writer that buffers may have lost the beginning of the file in a crash.
    if (isWatched && !this.position.stream.isBuffered) rule.refute(stamp);
    else rule.noteMiss(stamp);
  }

  #dropLink(stamp: string): void {
    this.position.brokenLinks = this.position.brokenLinks.filter(({ after }) => after !== stamp);
  }

  /**
   * A rotated file turned out to continue none of those that were begun. When it was written to for longer than newer
   * lines would wait, what was rotated before it has had its time to appear: it never will.
   */
  noteStranger(stamp: string, firstWallAsUtcMs: number | undefined): void {
    if (firstWallAsUtcMs === undefined || this.#options.zone().isAssumed) return;
    const firstUtcMs = this.#options.zone().place(firstWallAsUtcMs, undefined).utcMs;
    if (parseStampUtcMs(stamp) - firstUtcMs <= HOLD_MS || firstUtcMs < FLOOR_MS) return;
    this.#strangersSinceMs = Math.max(this.#strangersSinceMs, firstUtcMs);
    this.#markPassed();
  }

  #markPassed(): void {
    for (const entry of this.position.pending) {
      const { lastUtcMs, shownMs } = entry.instance;
      // Times of a clock that was not set say nothing of what came first, and are not shown.
      if (lastUtcMs === undefined || lastUtcMs < FLOOR_MS || lastUtcMs !== shownMs) continue;
      // A file that was begun as a rotated one has appeared already.
      if (!entry.isRotated && lastUtcMs <= this.#strangersSinceMs) entry.isPassed = true;
    }
  }

  laneOf(instance: Instance, stamp: string | undefined): Lane {
    if (stamp !== undefined && this.isBackfill(stamp)) return 'backfill';
    return this.isLate(instance, stamp) ? 'late' : 'live';
  }

  /** Lines that cannot be handed out in the order in which the router wrote them say so. */
  flagsFor(instance: Instance, stamp: string | undefined): readonly RecordFlag[] {
    const { pending, waiting, brokenLinks } = this.position;
    const lane = this.laneOf(instance, stamp);
    if (lane !== 'live') return [lane];
    const missed = [
      ...pending.filter((entry) => entry.instance !== instance),
      ...brokenLinks.filter(({ isVague }) => isVague !== true),
      ...Object.entries(waiting).flatMap(([other, entry]) => (other !== stamp && isMissed(entry) ? [entry] : [])),
    ];
    return missed.some(({ sinceMs }) => this.#isOlder(sinceMs, HOLD_MS)) ? ['out_of_order'] : [];
  }

  /** Whether lines of a newer file were shipped before those of this one. */
  isLate(instance: Instance, stamp: string | undefined): boolean {
    const { open, pending } = this.position;
    const own = pending.find((entry) => entry.instance === instance);
    if (own) return own.isOvertaken;
    if (stamp === undefined) return false;
    if (this.#lateStamps.has(stamp) || (open !== undefined && open !== instance)) return true;
    return this.#endsBeforeLastRead(instance, stamp);
  }

  /** Whether a rotated file ended before the one began that was read last, as `current`: which name that has got nobody knows. */
  #endsBeforeLastRead(instance: Instance, stamp: string): boolean {
    const { chainEnd, open, stream } = this.position;
    const { router, component, zone } = this.#options;
    if (chainEnd || open || stream.lastUid === undefined || zone().isAssumed) return false;
    const last = this.remembered().find((one) => stream.lastUid?.startsWith(createUidPrefix(router, component, one)));
    if (last?.firstUtcMs === undefined || last === instance || this.#isFarAhead(last.firstUtcMs)) return false;
    return parseStampUtcMs(stamp) <= last.firstUtcMs + LINK_MS_MAX;
  }

  /** Whether the router's clock was days ahead then: what has a right time is not older for that. */
  #isFarAhead(utcMs: number): boolean {
    return utcMs > this.#nowMs + UNSYNCED_STEP_MS;
  }

  /** A file is the one that is being written now. */
  open(instance: Instance): void {
    this.#noteFollows(instance);
    this.position.pending = this.position.pending.filter((pending) => pending.instance !== instance);
    this.#overtake(instance);
    this.position.open = instance;
    this.#recall(instance);
  }

  /** `current` is another file now: the rest of the open one has to turn up among the rotated ones. */
  shelveOpen(): void {
    const { open } = this.position;
    this.position.open = undefined;
    // Which name the file has got is not known, so there is nothing that the next one could be linked to.
    this.position.chainEnd = undefined;
    if (open) this.#await(open, { isOvertaken: false, isRotated: false });
  }

  /** The line behind the rest of a file, where it was read before that rest; `null` when nobody knows which it was. */
  lineBehind(instance: Instance): GapEdge | null | undefined {
    return this.position.pending.find((pending) => pending.instance === instance)?.to;
  }

  /** Lines of a file were read, `first` before the others: what is missing before them ends there. */
  noteFirst(first: GapEdge, instance: Instance, stamp: string | undefined, lane: Lane): void {
    const { position } = this;
    for (const link of position.brokenLinks)
      if (link.lane !== 'late' && (link.lane ?? 'live') === lane) link.to ??= first;
    if (lane !== 'live') return;
    for (const pending of position.pending) {
      if (pending.instance !== instance && pending.to === undefined) pending.to = first;
    }
    for (const [other, entry] of Object.entries(position.waiting)) {
      if (entry.isBackfill || entry.to !== undefined) continue;
      if (stamp === undefined || other < stamp) entry.to = first;
    }
    if (position.liveFrom === null) position.liveFrom = first;
  }

  /** A gap was told without its end. What was read behind lines that are late is not known any more. */
  noteOpenGap(uid: string, { file, offset, lane }: Gap): void {
    if (lane === 'late') return;
    const others = this.position.openGaps.filter((gap) => gap.uid !== uid);
    this.position.openGaps = [...others, { uid, file, offset, lane }].slice(-OPEN_GAPS_MAX);
  }

  /**
   * The line that ends a gap which is told now, as far as it was read already. The last gap of the history ends where what is
   * new begins.
   */
  endOf(gap: Gap): GapEdge | null | undefined {
    const isLast = gap.lane === 'backfill' && !this.#hasBackfill;
    return gap.to ?? (isLast ? (this.position.liveFrom ?? undefined) : gap.to);
  }

  /** Takes the gaps that end with `line`, the first one that a step makes durable in its lane. */
  takeEnded(line: GapEdge | undefined, lane: Lane): { readonly gap: OpenGap; readonly to: GapEdge }[] {
    const { openGaps, liveFrom } = this.position;
    const ended = openGaps.flatMap((gap) => {
      const isOwn = lane === (gap.lane ?? 'live');
      const behind = gap.lane === 'backfill' && !this.#hasBackfill ? (liveFrom ?? undefined) : undefined;
      const to = (isOwn ? line : undefined) ?? behind;
      return to ? [{ gap, to }] : [];
    });
    if (ended.length > 0) {
      this.position.openGaps = openGaps.filter((open) => !ended.some(({ gap }) => gap === open));
    }
    return ended;
  }

  /** A new file becomes part of the position with its first lines, so that a crash finds it again. */
  adopt(instance: Instance, stamp: string | undefined): void {
    if (this.isBegun(instance)) return;
    if (stamp === undefined) {
      this.open(instance);
      return;
    }
    const isLate = this.isLate(instance, stamp);
    if (!isLate) {
      this.#noteFollows(instance);
      this.#overtake(instance);
    }
    // Of a late file only what was noted before is known to be behind it, not what is read next.
    const to = isLate && !this.isBackfill(stamp) ? (this.position.waiting[stamp]?.to ?? null) : undefined;
    this.#await(instance, { isOvertaken: isLate, isRotated: true, to });
    this.#recall(instance);
  }

  /** A rotated file was read to its end; `instance` is absent when it holds no line. */
  complete(stamp: string, instance: Instance | undefined): void {
    const { position } = this;
    const lane = instance ? this.laneOf(instance, stamp) : 'live';
    const isSeen = position.pending.some((entry) => entry.instance === instance && !entry.isRotated);
    const wasCurrent = instance !== undefined && (position.open === instance || isSeen);
    if (instance && lane === 'live') this.#noteFollows(instance);
    position.completed[stamp] = instance ?? null;
    delete position.waiting[stamp];
    this.#forgetContents();
    if (!instance) return;
    const { firstUtcMs } = instance;
    const mended = position.brokenLinks.filter(({ after }) => firstUtcMs !== undefined && isLinked(firstUtcMs, after));
    const to = this.lineBehind(instance) ?? mended[0]?.to;
    position.brokenLinks = position.brokenLinks.filter((link) => !mended.includes(link));
    position.pending = position.pending.filter((pending) => pending.instance !== instance);
    this.#recall(instance);
    if (position.open === instance) position.open = undefined;
    if (lane === 'live') {
      this.#overtake(instance);
      this.#testRule(stamp, instance);
      const { pace, lastUtcMs = 0, follows } = instance;
      const distanceMs = pace && meanDistanceMs(pace, parseStampUtcMs(stamp) - lastUtcMs);
      const isWatched = wasCurrent || follows !== undefined;
      position.chainEnd = { stamp, edge: this.edgeOf(instance), distanceMs, isWatched };
    } else if (this.#options.zone().isNamed && this.#options.rule.holds && !this.#hasSuccessor(stamp, instance)) {
      position.brokenLinks.push({ after: stamp, from: this.edgeOf(instance), sinceMs: this.#nowMs, to, lane });
    }
  }

  /** The last line that was read of a file. */
  edgeOf(instance: Instance): GapEdge | undefined {
    return toLastEdge(this.#options.router, this.#options.component, instance);
  }

  /** What the router no longer lists is either done with or lost: the gaps. */
  forgetUnlisted(listed: ListedLog): Gap[] {
    const { completed, waiting } = this.position;
    this.#noteListing(listed);
    const stamps = this.#listed;
    const known = [...Object.keys(completed), ...Object.keys(waiting)];
    if (stamps.size > 0) this.position.isWiped = false;
    else if (known.length > 0) this.position.isWiped = true;
    for (const [stamp, instance] of Object.entries(completed)) {
      if (stamps.has(stamp)) continue;
      delete completed[stamp];
      // A listing may be wrong for a moment: when the file is back, its content says that it is known.
      if (instance) this.#giveUp(instance);
    }
    const gone = known.filter((stamp) => stamp in waiting && !stamps.has(stamp)).toSorted();
    return gone.map((stamp) => {
      return this.#giveUpFile(stamp, `${this.#options.component}/log-${stamp}`, 'expired');
    });
  }

  /** A file can never be read: the gap. */
  giveUpFile(file: RotatedFile, reason: 'too-large' | 'unsupported'): Gap {
    const gap = this.#giveUpFile(file.stamp, file.name, reason);
    this.position.completed[file.stamp] = null;
    return gap;
  }

  /** What has been looked for long enough counts as lost: the gaps. */
  giveUpOverdue(listed: ListedLog): Gap[] {
    return [...this.#giveUpWaiting(listed), ...this.#giveUpPending(), ...this.#giveUpLinks()];
  }

  /**
   * The router has deleted everything, or another device answers: the gaps behind what was read, after which the log begins
   * anew. A deletion is inferred from one listing, and files that are being compressed may be in none: nothing is certain then.
   */
  reset(reason: 'wiped' | 'replaced'): Gap[] {
    const { position } = this;
    const unread = reason === 'replaced' ? this.#giveUpListed() : [];
    const lost = this.begun();
    // What was missing before the deletion can turn up no more.
    const links = position.brokenLinks.flatMap((link) => this.#toLinkGap(link) ?? []);
    const { lastUid, clock } = position.stream;
    const { lastUtcMs } = clock;
    const last = lastUid === undefined ? undefined : { uid: lastUid, utcMs: lastUtcMs };
    const from = (position.open ? this.edgeOf(position.open) : position.chainEnd?.edge) ?? last;
    const behind = lost.map((instance) => this.lineBehind(instance));
    for (const instance of lost) this.#giveUp(instance);
    position.open = undefined;
    position.pending = [];
    position.brokenLinks = [];
    position.chainEnd = undefined;
    position.isWiped = false;
    // A log that begins anew days before is that of a clock that was not set.
    if (lastUtcMs !== undefined && lastUtcMs >= FLOOR_MS && !clock.isAhead)
      clock.unsyncedBelowMs ??= lastUtcMs - UNSYNCED_STEP_MS;
    clock.lastUtcMs = undefined;
    position.stream.lastUid = undefined;
    const gaps = [
      ...links,
      ...unread,
      ...lost.map((instance, index): Gap => {
        const gap = this.#toGap('possible', 'reset', instance, behind[index]);
        return reason === 'replaced' ? gap : { ...gap, certainty: 'possible', bytesMin: undefined };
      }),
    ];
    if (reason === 'replaced') this.#forgetFiles();
    const { router, component } = this.#options;
    if (lost.some((instance) => from?.uid.startsWith(createUidPrefix(router, component, instance)))) return gaps;
    // Behind what was read last there may have been files that were never seen.
    const file = `${this.#options.component}/current`;
    return [...gaps, { certainty: 'possible', reason: 'reset', from, file, offset: 0 }];
  }

  /** What was listed and not read is gone with its device: the gaps. */
  #giveUpListed(): Gap[] {
    const unread = Object.keys(this.position.waiting).toSorted();
    return unread.map((stamp) => this.#giveUpFile(stamp, `${this.#options.component}/log-${stamp}`, 'expired'));
  }

  /** Files of another device that have the same names, or begin alike, are other ones. */
  #forgetFiles(): void {
    for (const instance of this.remembered()) this.#noteGen(instance);
    this.position.completed = {};
    this.position.lost = [];
  }

  #giveUpWaiting(listed: ListedLog): Gap[] {
    const { waiting } = this.position;
    return listed.rotated.flatMap(({ stamp, name }) => {
      const entry = waiting[stamp];
      const isGone = entry?.fault === 'gone' && entry.attempts >= GONE_ATTEMPTS;
      // A file that was not looked at for long may have been finished meanwhile: it is read once more before that.
      const isLookedAt = this.#options.isOnlyTurn === true || (entry && entry.notBeforeMs - entry.sinceMs >= GRACE_MS);
      const isCut = entry?.fault === 'cut' && isLookedAt && this.#isOlder(entry.sinceMs, GRACE_MS);
      if (!isGone && !isCut) return [];
      const gap = this.#giveUpFile(stamp, name, isGone ? 'expired' : 'damaged');
      this.position.completed[stamp] = null;
      return [gap];
    });
  }

  #giveUpPending(): Gap[] {
    const overdue = this.position.pending.filter((entry) => entry.isPassed || this.#isOlder(entry.sinceMs, GRACE_MS));
    this.position.pending = this.position.pending.filter((entry) => !overdue.includes(entry));
    return overdue.map(({ instance, isPassed, to }) => {
      this.#giveUp(instance);
      return isPassed
        ? this.#toGap('certain', 'expired', instance, to)
        : this.#toGap('possible', 'not-found', instance, to);
    });
  }

  #giveUpLinks(): Gap[] {
    const overdue = this.position.brokenLinks.filter(
      (link) => this.#isOlder(link.sinceMs, GRACE_MS) && !this.#mayBeMended(link),
    );
    this.position.brokenLinks = this.position.brokenLinks.filter((link) => !overdue.includes(link));
    // The next file is not expected to follow there any more.
    if (overdue.some(({ after }) => after === this.position.chainEnd?.stamp)) this.position.chainEnd = undefined;
    return overdue.flatMap((link) => {
      const { after, beginsUtcMs, isWatched } = link;
      const isBehind = beginsUtcMs !== undefined && beginsUtcMs >= parseStampUtcMs(after) - LINK_MS_MAX;
      // A file that got its name in that second may have taken the place of another one of that name.
      const isCovered = isBehind && [...this.#listed].some((stamp) => isLinked(beginsUtcMs, stamp));
      if (this.#options.isOnlyTurn === true || !isBehind || isCovered || !this.#listed.has(after))
        return this.#toLinkGap(link) ?? [];
      // What was rotated behind a file that is still listed has had its time to appear: there was nothing.
      this.#contradict(after, isWatched === true);
      return [];
    });
  }

  /** Whether a file is listed that may begin at the break, and that is still to be read. */
  #mayBeMended({ after }: BrokenLink): boolean {
    if (this.#options.isOnlyTurn === true) return false;
    return Object.entries(this.position.waiting).some(
      ([stamp, { attempts, sinceMs }]) => stamp > after && (attempts === 0 || !this.#isOlder(sinceMs, GRACE_MS)),
    );
  }

  /** The gap of a broken link; none where nothing says any more that something is missing. */
  #toLinkGap({ after, from, to, lane, isVague }: BrokenLink): Gap | undefined {
    const isVouched = isVague !== true && this.#options.rule.holds;
    if (!isVouched && this.#listed.has(after)) return undefined;
    return {
      certainty: isVouched ? 'likely' : 'possible',
      reason: 'broken-link',
      from,
      to,
      lane,
      file: `${this.#options.component}/log-${after}`,
      offset: 0,
    };
  }

  /** The gap of a rotated file that is lost. The oldest file whose rest is missing and that it may be is taken to be this one. */
  #giveUpFile(stamp: string, name: string, reason: Gap['reason']): Gap {
    const { chainEnd, pending, waiting } = this.position;
    const lane: Lane = this.isBackfill(stamp) ? 'backfill' : 'live';
    const to = waiting[stamp]?.to;
    delete waiting[stamp];
    const isNewest = chainEnd !== undefined && chainEnd.stamp < stamp;
    // What was overtaken by the file that was read last is older than that one.
    const entry = pending.find(({ isOvertaken }) => !(isOvertaken && isNewest));
    const instance = entry?.instance;
    this.position.pending = pending.filter((other) => other !== entry);
    const before = isNewest ? chainEnd.edge : undefined;
    const from = instance ? this.edgeOf(instance) : before;
    // Between the lost file and the next one that is read there may be others that were never seen.
    if (!this.position.open && (!chainEnd || chainEnd.stamp < stamp)) this.position.chainEnd = { stamp, edge: from };
    if (!instance) return { certainty: 'certain', reason, from, to, file: name, offset: 0, lane };
    this.#giveUp(instance);
    return { ...this.#toGap('certain', reason, instance, to ?? entry.to), file: name, lane };
  }

  #toGap(certainty: Gap['certainty'], reason: Gap['reason'], instance: Instance, to: GapEdge | null | undefined): Gap {
    const unread = (instance.tornAt.at(-1) ?? instance.off) - instance.off;
    return {
      // Bytes that were seen behind what was read are lost for sure.
      certainty: unread > 0 ? 'certain' : certainty,
      reason,
      from: this.edgeOf(instance),
      to,
      file: `${this.#options.component}/current`,
      offset: instance.off,
      ...(unread > 0 && { bytesMin: unread }),
    };
  }

  get #hasBackfill(): boolean {
    return Object.values(this.position.waiting).some(({ isBackfill }) => isBackfill);
  }

  #noteListing(listed: ListedLog): void {
    this.#listed = new Set(listed.rotated.map(({ stamp }) => stamp));
  }

  /** Before a file becomes part of the position: that the log was followed into it. */
  #noteFollows(instance: Instance): void {
    const { chainEnd } = this.position;
    if (chainEnd?.isWatched !== true || this.remembered().includes(instance)) return;
    instance.follows = chainEnd.stamp;
  }

  /** Lines of `instance` go ahead of what older files still hold. */
  #overtake(instance: Instance): void {
    for (const pending of this.position.pending) if (pending.instance !== instance) pending.isOvertaken = true;
  }

  /** Whether a file is known that begins where `instance` was rotated. */
  #hasSuccessor(stamp: string, instance: Instance): boolean {
    return this.remembered().some(
      (other) => other !== instance && other.firstUtcMs !== undefined && isLinked(other.firstUtcMs, stamp),
    );
  }

  #forgetContents(): void {
    const { completed } = this.position;
    const withContent = Object.keys(completed).filter((stamp) => completed[stamp] !== null);
    for (const stamp of withContent.toSorted().slice(0, -REMEMBERED_MAX)) {
      const instance = completed[stamp];
      if (instance && mayBeginAlike(instance, this.#nowMs)) this.#noteGen(instance);
      completed[stamp] = null;
    }
  }

  /** Should a lost file or its rest turn up after all, it is not read from its start. */
  #giveUp(instance: Instance): void {
    const lost = [...this.position.lost, instance];
    for (const forgotten of lost.slice(0, -LOST_MAX))
      if (mayBeginAlike(forgotten, this.#nowMs)) this.#noteGen(forgotten);
    this.position.lost = lost.slice(-LOST_MAX);
  }

  #recall(instance: Instance): void {
    this.position.lost = this.position.lost.filter((lost) => lost !== instance);
  }

  #noteGen({ key, gen }: Instance): void {
    const { [key]: known = 0, ...others } = this.position.gens;
    const gens: [string, number][] = [...Object.entries(others), [key, Math.max(known, gen + 1)]];
    // What has come again will come once more.
    const once = gens.findIndex(([, count]) => count === 1);
    if (gens.length > GENS_MAX) gens.splice(Math.max(0, once), 1);
    this.position.gens = Object.fromEntries(gens);
  }

  #await(instance: Instance, state: Pick<Pending, 'isOvertaken' | 'isRotated' | 'to'>): void {
    this.position.pending.push({ instance, sinceMs: this.#nowMs, ...state, isPassed: false });
    this.#markPassed();
  }

  get #nowMs(): number {
    return this.#options.clock.now();
  }

  #isOlder(sinceMs: number, ageMs: number): boolean {
    return this.#options.isOnlyTurn === true || this.#nowMs - sinceMs >= ageMs;
  }
}

/**
 * Whether the router's clock was set when it wrote a line at `utcMs`, behind the rotation `stamp`. One without a battery begins
 * at 1970, or at the date of its firmware.
 */
function isClockSet(utcMs: number, stamp: string): boolean {
  const stampMs = parseStampUtcMs(stamp);
  return utcMs >= FLOOR_MS && stampMs >= FLOOR_MS && utcMs >= stampMs - UNSYNCED_STEP_MS;
}

/** Whether another file may begin as this one: its clock was not set, as far as anybody can tell, and will not be again. */
function mayBeginAlike({ gen, firstUtcMs, lastUtcMs, shownMs }: Instance, nowMs: number): boolean {
  if (gen > 0 || firstUtcMs === undefined || shownMs !== lastUtcMs) return true;
  return firstUtcMs < Math.max(FLOOR_MS, nowMs - UNSYNCED_STEP_MS);
}

/** Whether newer lines have reason to wait for this file. */
function isMissed(entry: Waiting): boolean {
  return entry.attempts > 0 && !entry.isBackfill;
}
