import { isDeepStrictEqual } from 'node:util';
import {
  findToldOffsetMs,
  isDateLocal,
  isZoneOpen,
  learnZone,
  noteOffset,
  type RouterTime,
} from '../listing/learnt-zone.ts';
import { addEvidence, judgeLinks, type LinkObservation, linkOffsetMs, roundToOffset } from '../listing/link-rule.ts';
import { type ListedLog, type Listing, parseStampUtcMs } from '../listing/listing.ts';
import type { LogFile } from '../position/position.ts';
import { isOwnFault, isRefusal } from '../reading/errors.ts';
import { FLOOR_MS } from '../time/log-clock.ts';
import type { Zone } from '../time/zone.ts';
import type { FollowOptions } from './contracts.ts';
import type { FollowMemory } from './memory.ts';
import type { RouterFacts } from './router-facts.ts';

/** Longest interval between two looks for which an unknown zone may be inferred from the router's own time. */
const FRESH_MS_MAX = 5 * 60_000;
/** No two zones are further apart. */
const OFF_BY_MS_MAX = 26 * 60 * 60_000;
/** Maximum distance of a fresh line from the router's clock, seconds of delay included. */
const FRESH_SLACK_MS = 30_000;
/** Beginnings of files that are read to find the zone; two that agree are enough. */
const HEADS_MAX = 6;
const LIMITS = { outputBytesMax: 1024 * 1024, ratioMax: 10_000, resync: false };

/** What a router shows of itself in its files and answers: the zone of its lines, and how its files follow each other. */
export class RouterEvidence {
  readonly #options: FollowOptions;
  readonly #memory: FollowMemory;
  readonly #facts: RouterFacts;
  /** The zone that the router has shown; `undefined` if it has shown none, or one is configured. */
  #learnt: ReturnType<typeof learnZone>;

  constructor(options: FollowOptions, memory: FollowMemory, facts: RouterFacts) {
    this.#options = options;
    this.#memory = memory;
    this.#facts = facts;
    this.#learnt = this.#learn();
    this.#reportLinks();
  }

  /** The zone of the lines: as configured, or as learnt so far. */
  get zone(): Zone {
    return this.#learnt?.zone ?? this.#options.zone;
  }

  /**
   * Asks the router for its local time, if that is to be known before lines are read. Resolves to true if they may be read: a router that
   * is well and does not answer this for once is asked again at the next run, and only then do its lines go without.
   */
  async askForTime(signal: AbortSignal): Promise<boolean> {
    const { readTime, isOnlyRun, zone, clock } = this.#options;
    const memory = this.#memory;
    if (!readTime || zone.isNamed) return true;
    if (!memory.isZoneDoubted && !isZoneOpen(this.#facts.zone, clock.now())) return true;
    const mayWait = isOnlyRun !== true && !memory.hasWaitedForTime && this.zone.isAssumed;
    try {
      if (this.#noteTime(await readTime(signal)) || !mayWait) return true;
    } catch (cause) {
      if (signal.aborted) throw cause;
      const isRefused = isRefusal(cause);
      if (isRefused) this.#noteTime(undefined);
      if (isRefused || !mayWait) return true;
      memory.hasWaitedForTime = true;
      if (!isOwnFault(cause)) throw cause;
    }
    memory.hasWaitedForTime = true;
    return false;
  }

  /**
   * Notes the router's time; `undefined` if it does not tell it. Returns false when its clock is not set
   * yet: the offset of 1970 is not that of today. UTC that may be local time shows no offset.
   */
  #noteTime(time: RouterTime | undefined): boolean {
    if (time && time.utcMs < FLOOR_MS) return false;
    const { zone } = this.#facts;
    const nowMs = this.#options.clock.now();
    this.#memory.isZoneDoubted = false;
    zone.askedMs = nowMs;
    const offsetMs = time && findToldOffsetMs(time);
    if (!time || offsetMs === undefined || isDateLocal(time.utcMs, nowMs)) return true;
    this.#noteOffset('told', time.utcMs, offsetMs);
    return true;
  }

  /**
   * Finds the zone in what is listed, before the first line is read: the name of a rotated file is in UTC, and the next file
   * begins in that second with the local time. Only beginnings are read, those of the newest files.
   */
  async findZone({ logs }: Listing, signal: AbortSignal): Promise<void> {
    const pairs = [...logs.values()].flatMap(listPairs).toSorted((a, b) => (a.after < b.after ? 1 : -1));
    if (pairs.length < 2) return;
    const texts = pairs.filter(({ isText }) => isText);
    for (const { name, after } of [...texts, ...pairs.filter(({ isText }) => !isText)].slice(0, HEADS_MAX)) {
      const firstWallAsUtcMs = await this.#readFirstTime(name, signal);
      const offsetMs = firstWallAsUtcMs === undefined ? undefined : linkOffsetMs(firstWallAsUtcMs, after);
      if (offsetMs === undefined) continue;
      this.#noteOffset('rotation', parseStampUtcMs(after), offsetMs);
      if (!this.zone.isAssumed) return;
    }
  }

  /** Reads a file up to the first line with a time. Resolves with its wall time; `undefined` if no such line could be read. */
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

  /** Adds what the files of a log show: how they follow each other, and the offset of their lines. */
  noteLinks(component: string, evidence: readonly LinkObservation[]): void {
    for (const observation of evidence) {
      this.#facts.links = addEvidence(this.#facts.links, component, observation);
      this.#reportLinks();
      if (observation.type !== 'match') continue;
      this.#noteOffset('rotation', parseStampUtcMs(observation.stamp), observation.offsetMs);
    }
  }

  /** Tells how files follow each other: once in each process, and when there is more to tell. */
  #reportLinks(): void {
    const verdict = judgeLinks(this.#facts.links);
    const { links = judgeLinks({}) } = this.#memory;
    if (isDeepStrictEqual(links, verdict)) return;
    this.#memory.links = verdict;
    this.#options.report({ type: 'log-links-judged', ...verdict });
  }

  /**
   * The newest line of `file` came between two looks, and the router said what time it is: what they differ by, in
   * steps of zones, is its offset, or says that the zone in use is wrong.
   */
  noteFresh(file: LogFile | undefined, dateMs: number | undefined, lookedAtMs: number | undefined): void {
    const newest = file?.lastUtcMs;
    if (newest === undefined || dateMs === undefined || lookedAtMs === undefined) return;
    const { clock, zone, report } = this.#options;
    if (isDateLocal(dateMs, clock.now())) return;
    const sinceMs = clock.now() - lookedAtMs;
    if (sinceMs > FRESH_MS_MAX || file?.tornAt.length !== 0) return;
    const offByMs = roundToOffset(newest - dateMs);
    const agoMs = dateMs - (newest - offByMs);
    // An old line, or one whose distance no zone explains, says nothing.
    if (agoMs < -FRESH_SLACK_MS || agoMs > sinceMs + FRESH_SLACK_MS || Math.abs(offByMs) > OFF_BY_MS_MAX) return;
    if (zone.isNamed) {
      if (offByMs !== 0) report({ type: 'log-zone-doubted', offByMs });
      return;
    }
    const wallMs = newest + (this.#learnt ? this.zone.offsetAt(newest) : 0);
    const offsetMs = roundToOffset(wallMs - dateMs);
    if (this.#learnt && offByMs !== 0) this.#memory.isZoneDoubted = true;
    this.#noteOffset('line', dateMs, offsetMs);
  }

  #learn() {
    return this.#options.zone.isNamed ? undefined : learnZone(this.#facts.zone);
  }

  /** Notes an offset of the router's lines, and learns the zone again. */
  #noteOffset(from: Parameters<typeof noteOffset>[1], utcMs: number, offsetMs: number): void {
    noteOffset(this.#facts.zone, from, { utcMs, offsetMs });
    const before = this.#learnt?.zone.latestOffsetMs;
    this.#learnt = this.#learn();
    const now = this.#learnt?.zone.latestOffsetMs;
    if (now === undefined || now === before) return;
    this.#options.report({ type: 'log-zone-learnt', offsetMs: now, zone: this.#learnt?.name });
  }
}

/** A file that another one is before. */
interface Pair {
  readonly name: string;
  /** True if it is not compressed. */
  readonly isText: boolean;
  /** Stamp of the file before it. */
  readonly after: string;
}

function listPairs({ current, rotated }: ListedLog): Pair[] {
  const newest = rotated.slice(-HEADS_MAX - 1);
  return [...newest.map(({ name }) => name), ...(current === undefined ? [] : [current])].flatMap((name, index) => {
    const before = newest[index - 1];
    return before ? [{ name, isText: name === current, after: before.stamp }] : [];
  });
}
