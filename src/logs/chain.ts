import type { Clock } from '../base/index.ts';
import type { RecordFlag } from '../model/index.ts';
import { type ListedLog, parseStampUtcMs, type RotatedFile } from './names.ts';
import type { Instance, LogPosition } from './position.ts';
import type { Gap } from './record-builder.ts';
import type { Zone } from './zone.ts';

/** Newer lines wait this long for the rest of an older file, for the sake of order. */
const HOLD_MS = 60_000;
/** After this the rest of a file counts as lost. Covers the slowest compression that a router can need. */
const GRACE_MS = 15 * 60_000;
/** A file begins in the second in which the one before it was rotated; this much more covers two clocks read in turn. */
const LINK_MS_MAX = 2000;
/** Files that are remembered although the router lists them no longer, or their rest was not found. */
const LOST_MAX = 8;

/** A gap and where it is: after what was read of `instance`, or without one somewhere before `file`. */
export interface PlacedGap {
  readonly gap: Gap;
  readonly instance: Instance | undefined;
  readonly file: string;
}

/**
 * The files of one log in their order: which were begun, which are missing, and what may therefore be read now. Changes
 * the position that it was given; making that durable is the caller's.
 */
export class LogChain {
  readonly position: LogPosition;
  readonly #component: string;
  readonly #clock: Clock;
  readonly #zone: Zone;

  constructor(position: LogPosition, component: string, clock: Clock, zone: Zone) {
    this.position = position;
    this.#component = component;
    this.#clock = clock;
    this.#zone = zone;
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
    return [...this.begun(), ...lost, ...Object.values(completed)];
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
    return Math.max(0, ...gens);
  }

  /** Rotated files that have not been read to their end, oldest first; new ones are noted. */
  noteFresh(listed: ListedLog): RotatedFile[] {
    const { completed, waiting } = this.position;
    const fresh = listed.rotated.filter(({ stamp }) => !(stamp in completed));
    for (const { stamp } of fresh) waiting[stamp] ??= { sinceMs: this.#clock.now(), attempts: 0 };
    return fresh;
  }

  /** Whether the rest of something older was missed so recently that newer lines should wait for it. */
  isHolding(): boolean {
    const { pending, waiting } = this.position;
    return (
      pending.some(({ sinceMs }) => !this.#isOlder(sinceMs, HOLD_MS)) ||
      Object.values(waiting).some(({ sinceMs, attempts }) => attempts > 0 && !this.#isOlder(sinceMs, HOLD_MS))
    );
  }

  /**
   * Whether a new file may be read now: not while one is likely to be missing before it. The first line of a file and
   * the name of the one before it say so, once the zone is known. A break that is found first is noted.
   */
  admits(firstWallAsUtcMs: number, name: string): boolean {
    const { lastStamp, brokenLinks } = this.position;
    // Before the end of the chain there is nothing to wait for, and while a rest is missing, that is waited for.
    const isAtEnd =
      lastStamp !== undefined && !(name < `${this.#component}/log-${lastStamp}` && name.includes('/log-'));
    if (!isAtEnd || this.#zone.isAssumed || this.begun().length > 0) return true;
    const firstUtcMs = this.#zone.place(firstWallAsUtcMs, parseStampUtcMs(lastStamp)).utcMs;
    if (isLinked(firstUtcMs, lastStamp)) return true;
    const known = brokenLinks.find(({ after }) => after === lastStamp);
    if (known) return this.#isOlder(known.sinceMs, HOLD_MS);
    brokenLinks.push({ after: lastStamp, sinceMs: this.#clock.now() });
    return false;
  }

  /** Lines that cannot be handed out in the order in which the router wrote them say so. */
  flagsFor(instance: Instance, isClosed: boolean): readonly RecordFlag[] {
    const { open, pending, waiting, brokenLinks } = this.position;
    const own = pending.find((entry) => entry.instance === instance);
    if (own) return own.isOvertaken ? ['late'] : [];
    if (isClosed && open && open !== instance) return ['late'];
    const missed = [...pending, ...brokenLinks, ...Object.values(waiting).filter(({ attempts }) => attempts > 0)];
    return missed.some(({ sinceMs }) => this.#isOlder(sinceMs, HOLD_MS)) ? ['out_of_order'] : [];
  }

  /** A file is the one that is being written now. */
  open(instance: Instance): void {
    this.position.pending = this.position.pending.filter((pending) => pending.instance !== instance);
    for (const pending of this.position.pending) pending.isOvertaken = true;
    this.position.open = instance;
  }

  /** `current` is another file now: the rest of the open one has to turn up among the rotated ones. */
  shelveOpen(): void {
    const { open } = this.position;
    this.position.open = undefined;
    if (open) this.#await(open);
  }

  /** A new file becomes part of the position with its first lines, so that a crash finds it again. */
  adopt(instance: Instance, isClosed: boolean): void {
    if (this.isBegun(instance)) return;
    if (isClosed) this.#await(instance);
    else this.open(instance);
  }

  /** A rotated file was read to its end. */
  complete(stamp: string, instance: Instance): void {
    const { position } = this;
    position.completed[stamp] = instance;
    delete position.waiting[stamp];
    if (stamp > (position.lastStamp ?? '')) position.lastStamp = stamp;
    const { firstUtcMs } = instance;
    position.brokenLinks = position.brokenLinks.filter(
      ({ after }) => firstUtcMs === undefined || !isLinked(firstUtcMs, after),
    );
    position.pending = position.pending.filter((pending) => pending.instance !== instance);
    position.lost = position.lost.filter((lost) => lost !== instance);
    if (position.open === instance) position.open = undefined;
  }

  /** What the router no longer lists is either done with or lost: the gaps. */
  forgetUnlisted(listed: ListedLog): PlacedGap[] {
    const { completed, waiting } = this.position;
    const stamps = new Set(listed.rotated.map(({ stamp }) => stamp));
    for (const [stamp, instance] of Object.entries(completed)) {
      if (stamps.has(stamp)) continue;
      delete completed[stamp];
      // A listing may be wrong for a moment: when the file is back, its content says that it is known.
      this.#giveUp(instance);
    }
    const gone = Object.keys(waiting).filter((stamp) => !stamps.has(stamp));
    return gone.map((stamp) => {
      delete waiting[stamp];
      const instance = this.#giveUp(this.position.pending.shift()?.instance);
      return { gap: { certainty: 'certain', reason: 'expired' }, instance, file: `${this.#component}/log-${stamp}` };
    });
  }

  /** What has been looked for long enough counts as lost: the gaps. */
  giveUpOverdue(listed: ListedLog): PlacedGap[] {
    return [...this.#giveUpDamaged(listed), ...this.#giveUpPending(), ...this.#giveUpLinks()];
  }

  #giveUpDamaged(listed: ListedLog): PlacedGap[] {
    const { waiting, completed } = this.position;
    const overdue = listed.rotated.filter(({ stamp }) => {
      const entry = waiting[stamp];
      return entry && entry.attempts > 0 && this.#isOlder(entry.sinceMs, GRACE_MS);
    });
    return overdue.map(({ stamp, name }) => {
      delete waiting[stamp];
      const instance = this.position.pending.shift()?.instance;
      completed[stamp] = instance ?? createEmptyInstance();
      return { gap: { certainty: 'certain', reason: 'damaged' }, instance, file: name };
    });
  }

  #giveUpPending(): PlacedGap[] {
    const overdue = this.position.pending.filter(({ sinceMs }) => this.#isOlder(sinceMs, GRACE_MS));
    this.position.pending = this.position.pending.filter((pending) => !overdue.includes(pending));
    return overdue.map((pending) => {
      const instance = this.#giveUp(pending.instance);
      return { gap: { certainty: 'possible', reason: 'not-found' }, instance, file: `${this.#component}/current` };
    });
  }

  #giveUpLinks(): PlacedGap[] {
    const overdue = this.position.brokenLinks.filter(({ sinceMs }) => this.#isOlder(sinceMs, GRACE_MS));
    this.position.brokenLinks = this.position.brokenLinks.filter((link) => !overdue.includes(link));
    return overdue.map(({ after }) => {
      const instance = this.position.completed[after];
      return { gap: { certainty: 'likely', reason: 'broken-link' }, instance, file: `${this.#component}/log-${after}` };
    });
  }

  /** Should a lost file or its rest turn up after all, it is not read from its start. */
  #giveUp(instance: Instance | undefined): Instance | undefined {
    if (instance) this.position.lost = [...this.position.lost, instance].slice(-LOST_MAX);
    return instance;
  }

  #await(instance: Instance): void {
    this.position.pending.push({ instance, sinceMs: this.#clock.now(), isOvertaken: false });
  }

  #isOlder(sinceMs: number, ageMs: number): boolean {
    return this.#clock.now() - sinceMs >= ageMs;
  }
}

/** Stands for a file without lines; its key is that of no other file. */
export function createEmptyInstance(): Instance {
  return { key: '', gen: 0, off: 0, prefixSha: '', firstUtcMs: undefined, lastUtcMs: undefined, lastStart: 0 };
}

/** Whether a file that begins at `firstUtcMs` follows the file that was rotated at `stamp`. */
function isLinked(firstUtcMs: number, stamp: string): boolean {
  return Math.abs(firstUtcMs - parseStampUtcMs(stamp)) <= LINK_MS_MAX;
}
