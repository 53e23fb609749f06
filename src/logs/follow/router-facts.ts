import { isDeepStrictEqual } from 'node:util';
import { parseJson } from '../../base/index.ts';
import {
  findReportedOffsetMs,
  isDateLocal,
  isZoneOpen,
  learnZone,
  type RouterTime,
  recordOffset,
  type ZoneEvidence,
} from '../listing/learnt-zone.ts';
import {
  addEvidence,
  judgeLinks,
  type LinkFacts,
  type LinkObservation,
  linkOffsetMs,
  roundToOffset,
} from '../listing/link-rule.ts';
import { type ListedLog, type Listing, parseStampUtcMs } from '../listing/listing.ts';
import { isKnownGap, type KnownGap, type LogFile, parseChecked, renderChecked } from '../position/position.ts';
import { isOwnFault, isRefusal } from '../reading/errors.ts';
import { FLOOR_MS } from '../time/log-clock.ts';
import type { Zone } from '../time/zone.ts';
import type { FollowOptions } from './contracts.ts';
import type { FollowMemory } from './memory.ts';

/** Facts about a router, stored next to the positions of its logs. */
export interface RouterFacts {
  readonly version: 1;
  readonly firstContactMs: number;
  serial: string | undefined;
  /** The firmware to which `range` applies. */
  firmware: string | undefined;
  /** True if the router supports range requests; `undefined` until tested. */
  range: boolean | undefined;
  zone: ZoneEvidence;
  links: LinkFacts;
  /** The last gaps of all logs, newest first, for the pages, also of the replica that takes over the router. */
  gaps: readonly KnownGap[] | undefined;
}

/** Returns the facts about a new router. */
export function createRouterFacts(nowMs: number): RouterFacts {
  return {
    version: 1,
    firstContactMs: nowMs,
    serial: undefined,
    firmware: undefined,
    range: undefined,
    zone: { seen: [], inferred: [] },
    links: {},
    gaps: undefined,
  };
}

/**
 * Stores a reported serial number. True if another device answers; the facts about the previous one are then removed.
 */
export function updateSerial(facts: RouterFacts, serial: string | undefined): boolean {
  if (serial === undefined || facts.serial === serial) return false;
  const isReplaced = facts.serial !== undefined;
  facts.serial = serial;
  if (!isReplaced) return false;
  const { range, zone, links } = createRouterFacts(facts.firstContactMs);
  Object.assign(facts, { range, zone, links });
  return true;
}

export function renderRouterFacts(facts: RouterFacts): string {
  return renderChecked(JSON.stringify(facts));
}

/** Parses the text of {@link renderRouterFacts}; `undefined` for anything else: the facts are then learnt again. */
export function parseRouterFacts(text: string): RouterFacts | undefined {
  // The checksum proves that the text is undamaged, not who wrote it.
  const value = parseJson(parseChecked(text) ?? '') as RouterFacts | null | undefined;
  if (value?.version !== 1) return undefined;
  const gaps = toKnownGaps(value.gaps);
  return { ...value, gaps: gaps.length === 0 ? undefined : gaps };
}

/** Returns the last gaps in stored facts, newest first; empty if the facts cannot be read. */
export function readKnownGaps(facts: string | undefined): readonly KnownGap[] {
  return (facts === undefined ? undefined : parseRouterFacts(facts))?.gaps ?? [];
}

/** Gaps remembered per router. The facts are always written as a whole. */
const KNOWN_GAPS_MAX = 10;

/** Returns the gaps with one more, newest first. A known gap is replaced, because a failed step is repeated. */
export function addKnownGap(gaps: readonly KnownGap[], gap: KnownGap): readonly KnownGap[] {
  return [gap, ...gaps.filter(({ uid }) => uid !== gap.uid)].slice(0, KNOWN_GAPS_MAX);
}

/** Returns the gaps with the time of the first line after one of them, if that gap is still remembered. */
export function endKnownGap(
  gaps: readonly KnownGap[],
  { gapUid, untilUtcMs }: { readonly gapUid: string; readonly untilUtcMs: number | undefined },
): readonly KnownGap[] {
  const index = gaps.findIndex(({ uid }) => uid === gapUid);
  const gap = gaps[index];
  return gap ? gaps.with(index, { ...gap, untilUtcMs }) : gaps;
}

function toKnownGaps(stored: unknown): readonly KnownGap[] {
  return Array.isArray(stored) ? stored.slice(0, KNOWN_GAPS_MAX).filter(isKnownGap) : [];
}

/** Longest interval between two runs for which a zone may be inferred from the router's clock. Milliseconds. */
const FRESH_MS_MAX = 5 * 60_000;
/** Largest difference between two zones. Milliseconds. */
const OFF_BY_MS_MAX = 26 * 60 * 60_000;
/** Maximum distance between a new line and the router's clock, delays included. Milliseconds. */
const FRESH_SLACK_MS = 30_000;
/** Maximum beginnings of files read to find the zone. Two that agree suffice. */
const HEADS_MAX = 6;
const LIMITS = { outputBytesMax: 1024 * 1024, ratioMax: 10_000, resync: false };

/** Learns from files and answers of a router: the zone of its lines, and how its files follow each other. */
export class RouterEvidence {
  readonly #options: FollowOptions;
  readonly #memory: FollowMemory;
  readonly #facts: RouterFacts;
  #learnt: ReturnType<typeof learnZone>;

  constructor(options: FollowOptions, memory: FollowMemory, facts: RouterFacts) {
    this.#options = options;
    this.#memory = memory;
    this.#facts = facts;
    this.#learnt = this.#learn();
    this.#reportLinks();
  }

  /** The zone of the lines: configured, or as learnt so far. */
  get zone(): Zone {
    return this.#learnt?.zone ?? this.#options.zone;
  }

  /**
   * Requests the local time if it is needed before lines are read. After a first failure, resolves to false: the log
   * waits one run.
   */
  async askForTime(signal: AbortSignal): Promise<boolean> {
    const { readTime, isOnlyRun, zone, clock } = this.#options;
    const memory = this.#memory;
    if (!readTime || zone.isNamed) return true;
    if (!memory.isZoneUnconfirmed && !isZoneOpen(this.#facts.zone, clock.now())) return true;
    const mayWait = isOnlyRun !== true && !memory.hasWaitedForTime && this.zone.isAssumed;
    try {
      if (this.#recordTime(await readTime(signal)) || !mayWait) return true;
    } catch (cause) {
      if (signal.aborted) throw cause;
      const isRefused = isRefusal(cause);
      if (isRefused) this.#recordTime(undefined);
      if (isRefused || !mayWait) return true;
      memory.hasWaitedForTime = true;
      if (!isOwnFault(cause)) throw cause;
    }
    memory.hasWaitedForTime = true;
    return false;
  }

  /**
   * Returns false if the router's clock is not set: the offset of 1970 is not that of today. UTC that may be local time
   * gives no offset.
   */
  #recordTime(time: RouterTime | undefined): boolean {
    if (time && time.utcMs < FLOOR_MS) return false;
    const { zone } = this.#facts;
    const nowMs = this.#options.clock.now();
    this.#memory.isZoneUnconfirmed = false;
    zone.askedMs = nowMs;
    const offsetMs = time && findReportedOffsetMs(time);
    if (!time || offsetMs === undefined || isDateLocal(time.utcMs, nowMs)) return true;
    this.#recordOffset('reported', time.utcMs, offsetMs);
    return true;
  }

  /**
   * Finds the zone before the first line is read: a rotated file is named in UTC, and the next file begins in that
   * second of local time. Reads only the beginnings of the newest files.
   */
  async findZone({ logs }: Listing, signal: AbortSignal): Promise<void> {
    const pairs = [...logs.values()].flatMap(listPairs).toSorted((a, b) => (a.after < b.after ? 1 : -1));
    if (pairs.length < 2) return;
    const texts = pairs.filter(({ isText }) => isText);
    for (const { name, after } of [...texts, ...pairs.filter(({ isText }) => !isText)].slice(0, HEADS_MAX)) {
      const firstWallAsUtcMs = await this.#readFirstTime(name, signal);
      const offsetMs = firstWallAsUtcMs === undefined ? undefined : linkOffsetMs(firstWallAsUtcMs, after);
      if (offsetMs === undefined) continue;
      this.#recordOffset('rotation', parseStampUtcMs(after), offsetMs);
      if (!this.zone.isAssumed) return;
    }
  }

  /** Reads a file up to the first line with a time. Resolves to its wall time. */
  async #readFirstTime(name: string, signal: AbortSignal): Promise<number | undefined> {
    const { source, archives, clock } = this.#options;
    let firstWallAsUtcMs: number | undefined;
    const reading = {
      name,
      candidates: [],
      acceptsNew: true,
      isClosed: true,
      endMs: clock.now(),
      batchBytes: LIMITS.outputBytesMax,
      begin: (beginning: { readonly firstWallAsUtcMs: number | undefined }): undefined => {
        ({ firstWallAsUtcMs } = beginning);
      },
      onBatch: () => {},
    };
    try {
      await source.readLog(name, signal, (body) => archives.read(body, reading, LIMITS, { signal }));
    } catch (cause) {
      if (signal.aborted || !isOwnFault(cause)) throw cause;
    }
    return firstWallAsUtcMs;
  }

  recordLinks(component: string, evidence: readonly LinkObservation[]): void {
    for (const observation of evidence) {
      this.#facts.links = addEvidence(this.#facts.links, component, observation);
      this.#reportLinks();
      if (observation.type !== 'match') continue;
      this.#recordOffset('rotation', parseStampUtcMs(observation.stamp), observation.offsetMs);
    }
  }

  /** Reports the verdict on links, once in each process and on every change. */
  #reportLinks(): void {
    const verdict = judgeLinks(this.#facts.links);
    const { links = judgeLinks({}) } = this.#memory;
    if (isDeepStrictEqual(links, verdict)) return;
    this.#memory.links = verdict;
    this.#options.report({ type: 'log-links-judged', ...verdict });
  }

  /**
   * Compares the newest line of `file`, written since the last run, with the router's clock. The difference, rounded to
   * zone offsets, is the UTC offset, or shows that the zone in use is wrong.
   */
  recordFresh(file: LogFile | undefined, dateMs: number | undefined, readToEndAtMs: number | undefined): void {
    const newest = file?.lastUtcMs;
    if (newest === undefined || dateMs === undefined || readToEndAtMs === undefined) return;
    const { clock, zone, report } = this.#options;
    if (isDateLocal(dateMs, clock.now())) return;
    const sinceMs = clock.now() - readToEndAtMs;
    if (sinceMs > FRESH_MS_MAX || file?.tornAt.length !== 0) return;
    const offByMs = roundToOffset(newest - dateMs);
    const agoMs = dateMs - (newest - offByMs);
    // The line is old, or no zone has this difference.
    if (agoMs < -FRESH_SLACK_MS || agoMs > sinceMs + FRESH_SLACK_MS || Math.abs(offByMs) > OFF_BY_MS_MAX) return;
    if (zone.isNamed) {
      if (offByMs !== 0) report({ type: 'log-zone-mismatched', offByMs });
      return;
    }
    const wallMs = newest + (this.#learnt ? this.zone.offsetAt(newest) : 0);
    const offsetMs = roundToOffset(wallMs - dateMs);
    if (this.#learnt && offByMs !== 0) this.#memory.isZoneUnconfirmed = true;
    this.#recordOffset('line', dateMs, offsetMs);
  }

  #learn() {
    return this.#options.zone.isNamed ? undefined : learnZone(this.#facts.zone);
  }

  #recordOffset(from: Parameters<typeof recordOffset>[1], utcMs: number, offsetMs: number): void {
    recordOffset(this.#facts.zone, from, { utcMs, offsetMs });
    const before = this.#learnt?.zone.latestOffsetMs;
    this.#learnt = this.#learn();
    const now = this.#learnt?.zone.latestOffsetMs;
    if (now === undefined || now === before) return;
    this.#options.report({ type: 'log-zone-learnt', offsetMs: now, zone: this.#learnt?.name });
  }
}

interface Pair {
  readonly name: string;
  readonly isText: boolean;
  readonly after: string;
}

function listPairs({ current, rotated }: ListedLog): Pair[] {
  const newest = rotated.slice(-HEADS_MAX - 1);
  return [...newest.map(({ name }) => name), ...(current === undefined ? [] : [current])].flatMap((name, index) => {
    const before = newest[index - 1];
    return before ? [{ name, isText: name === current, after: before.stamp }] : [];
  });
}

/** Thrown before anything is read of a device with another serial number. */
export class OtherDevice extends Error {
  override readonly name = 'OtherDevice';
  readonly serial: string;

  constructor(serial: string) {
    super('Another device answers');
    this.serial = serial;
  }
}

/** Failed requests for the serial number after which the device counts as the same. */
const SERIAL_FAILURES_MAX = { answered: 1, failed: 4 };

/** Checks the identity of the device that answers. */
export class DeviceCheck {
  readonly #options: FollowOptions;
  readonly #memory: FollowMemory;
  readonly #facts: RouterFacts;
  #hasAsked = false;
  /** The error of that request, if it ends the reading of unknown files. */
  #fault: unknown;

  constructor(options: FollowOptions, memory: FollowMemory, facts: RouterFacts) {
    this.#options = options;
    this.#memory = memory;
    this.#facts = facts;
  }

  /**
   * Requests the serial number, once in a run, when known files are missing: lines of another device read under this
   * name would come again with other uids. Throws {@link OtherDevice} if it differs, and request errors up to {@link
   * SERIAL_FAILURES_MAX}.
   */
  async confirm(signal: AbortSignal): Promise<void> {
    const { readSerial, isOnlyRun } = this.#options;
    const memory = this.#memory;
    const known = this.#facts.serial;
    if (this.#fault !== undefined) throw this.#fault;
    if (!readSerial || known === undefined || this.#hasAsked) return;
    this.#hasAsked = true;
    let serial: string | undefined;
    try {
      serial = await readSerial(signal);
    } catch (cause) {
      if (signal.aborted) throw cause;
      const failuresMax = isOwnFault(cause) ? SERIAL_FAILURES_MAX.answered : SERIAL_FAILURES_MAX.failed;
      const mayWait = !isRefusal(cause) && (isOnlyRun !== true || !isOwnFault(cause));
      if (mayWait && memory.serialFailures < failuresMax) {
        memory.serialFailures++;
        this.#fault = cause;
        throw cause;
      }
    }
    memory.serialFailures = 0;
    if (serial !== undefined && serial !== known) throw new OtherDevice(serial);
  }
}
