import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../base/index.ts';
import type { LifecyclePause, LogCommit, RecordLines, RouterIdentity } from '../../model/index.ts';
import type { ArchivePool } from '../archive/index.ts';
import type { LogEvent, LogSource, RecordLog, RouterTime } from '../contracts.ts';
import { isOwnFault, isRefusal } from '../errors.ts';
import { isZoneOpen, learnZone, noteOffset, noteRotation, noteTold } from '../evidence/learnt-zone.ts';
import { addEvidence, judgeLinks, type LinkObservation, roundToOffset } from '../evidence/link-rule.ts';
import { findToldOffsetMs, isDateLocal } from '../evidence/offset-evidence.ts';
import type { LogStart } from '../log-settings.ts';
import type { LineMatcher } from '../matching/line-matcher.ts';
import { parseStampUtcMs } from '../names.ts';
import type { LogFile } from '../position/position.ts';
import { FLOOR_MS } from '../time/log-clock.ts';
import type { Zone } from '../time/zone.ts';
import type { TailMemory } from './memory.ts';
import {
  createRouterFacts,
  noteSerial,
  parseRouterFacts,
  type RouterFacts,
  renderRouterFacts,
} from './router-facts.ts';

export interface TailOptions {
  /** Router whose logs are read. */
  readonly router: RouterIdentity;
  /** Lists and downloads the log files. */
  readonly source: LogSource;
  /** Stores records and positions. */
  readonly records: RecordLog;
  /**
   * Called with the records of each step of a log before they are stored, because a sink may be done with their memory before the
   * store has answered; what it returns is called once they are stored. Default: nothing is.
   */
  readonly onStoring?: ((lines: RecordLines) => () => void) | undefined;
  /** Threads that decompress rotated files. */
  readonly archives: ArchivePool;
  /** Clock for time limits and the time of observation. */
  readonly clock: Clock;
  /** As configured; one without a name is learnt. */
  readonly zone: Zone;
  /**
   * Asks the router for its local time and its UTC time, to learn the zone before the first line; `undefined` when it does
   * not tell both. Errors as those of a {@link LogSource}. Absent: the zone is learnt from log files alone.
   */
  readonly readTime?: ((signal: AbortSignal) => Promise<RouterTime | undefined>) | undefined;
  /** Called for every event of reading. */
  readonly report: (event: LogEvent) => void;
  /** Default: all. */
  readonly start?: LogStart | undefined;
  /** More history than this is read behind what is new, and no more than this of it in one run. Bytes of log text. */
  readonly historyBytesMax?: number | undefined;
  /** True if no later run follows: nothing is kept back for lines that a later run might bring. */
  readonly isOnlyRun?: boolean | undefined;
  /** The last time in which the router was not asked: what it deleted meanwhile is a gap of that. Default: none. */
  readonly pause?: LifecyclePause | undefined;
  /** State of earlier runs of this process. */
  readonly memory?: TailMemory | undefined;
  /** Firmware version, when it is known: what the router can do is tried out once for each. */
  readonly firmware?: string | undefined;
  /** Serial number, when it is known: another one means another router. */
  readonly serial?: string | undefined;
  /**
   * Asks the router for its serial number, when its files are not those that are known: `undefined` when it does not tell. Errors as
   * those of a {@link LogSource}. Absent: it is the same router as long as `serial` does not say otherwise.
   */
  readonly readSerial?: ((signal: AbortSignal) => Promise<string | undefined>) | undefined;
  /** Redaction and log rules. Default: none. */
  readonly matcher?: LineMatcher | undefined;
}

/** Files of about one MiB, five of them, of a few components. */
const HISTORY_BYTES_MAX = 16 * 1024 * 1024;
/** Longest interval between two looks for which an unknown zone may be inferred from the router's own time. */
const FRESH_MS_MAX = 5 * 60_000;
/**
 * A router that lists its logs and does not answer for its serial number is taken for the same one when so many runs have ended for that:
 * where it answers with an error, and where the connection fails.
 */
const SERIAL_FAILURES_MAX = { answered: 1, failed: 4 };
/** Before any line: no line is older than a first contact at that time. */
const EARLIEST_MS = Date.UTC(1900, 0, 1);
/** No two zones are further apart. */
const OFF_BY_MS_MAX = 26 * 60 * 60_000;
/** Maximum distance of a fresh line from the router's clock, seconds of delay included. */
const FRESH_SLACK_MS = 30_000;

/** Another device than before answers: thrown before anything of it is read. */
export class OtherDevice extends Error {
  override readonly name = 'OtherDevice';
  /** Its serial number. */
  readonly serial: string;

  constructor(serial: string) {
    super('Another device answers');
    this.serial = serial;
  }
}

/** Options, facts and zone that the logs of one router share in one run. */
export class TailContext {
  readonly router: RouterIdentity;
  readonly source: LogSource;
  readonly archives: ArchivePool;
  readonly clock: Clock;
  readonly report: (event: LogEvent) => void;
  readonly start: LogStart;
  readonly historyBytes: number;
  readonly isOnlyRun: boolean;
  readonly readTime: TailOptions['readTime'];
  readonly pause: LifecyclePause | undefined;
  readonly memory: TailMemory;
  readonly facts: RouterFacts;
  readonly matcher: LineMatcher | undefined;
  /** Time of the first contact with the router, if it was not in this run. */
  readonly contactMs: number | undefined;
  /** True if another device than before answers under the name. */
  readonly isReplaced: boolean;
  /** True if the listing shows that the logs of this router were deleted. */
  isWiped = false;
  readonly #records: RecordLog;
  readonly #onStoring: TailOptions['onStoring'];
  /** The facts as they were stored last. */
  #storedFacts: string | undefined;
  /** True once a commit of this run was refused. */
  #hasFailed = false;
  /** The commits that are under way. */
  readonly #underWay = new Set<Promise<void>>();
  readonly #configured: Zone;
  readonly #readSerial: TailOptions['readSerial'];
  /** True once this run has asked for the serial number. */
  #hasAskedSerial = false;
  /** The error of that, if it ends the reading of files that are not those that are known. */
  #serialFault: unknown;
  #learnt: ReturnType<typeof learnZone>;

  /** `storedFacts`: the facts about the router that an earlier run has stored. */
  constructor(options: TailOptions, memory: TailMemory, storedFacts: string | undefined) {
    const known = storedFacts === undefined ? undefined : parseRouterFacts(storedFacts);
    // Facts that cannot be read are those of a router that was met before, nobody knows when.
    const isMet = storedFacts !== undefined;
    const facts = known ?? createRouterFacts(isMet ? EARLIEST_MS : options.clock.now());
    this.#storedFacts = storedFacts;
    this.router = options.router;
    this.source = options.source;
    this.#records = options.records;
    this.#onStoring = options.onStoring;
    this.archives = options.archives;
    this.clock = options.clock;
    this.report = options.report;
    this.start = options.start ?? 'all';
    this.historyBytes = options.historyBytesMax ?? HISTORY_BYTES_MAX;
    this.isOnlyRun = options.isOnlyRun ?? false;
    this.readTime = options.readTime;
    this.matcher = options.matcher;
    this.pause = options.pause;
    this.memory = memory;
    this.facts = facts;
    this.contactMs = isMet ? facts.firstContactMs : undefined;
    this.#configured = options.zone;
    this.#readSerial = options.readSerial;
    this.isReplaced = noteSerial(facts, options.serial);
    if (this.isReplaced) memory.isZoneDoubted = false;
    if (options.firmware !== undefined && options.firmware !== facts.firmware) {
      // Another firmware may have another writer of logs.
      if (facts.firmware !== undefined) facts.links = {};
      facts.firmware = options.firmware;
      facts.range = undefined;
    }
    this.#learnt = this.#learn();
    this.#reportLinks();
  }

  /** Makes a step of logs durable, and with it what was learnt of the router: a crash leaves all of it or nothing. */
  async commit(...commits: LogCommit[]): Promise<void> {
    const text = renderRouterFacts(this.facts);
    const isLearnt = text !== this.#storedFacts;
    if (!isLearnt && commits.length === 0) return;
    const onStored = commits.map(({ lines }) => this.#onStoring?.(lines));
    const storing = this.#store(...commits, ...(isLearnt ? [{ router: this.router.name, facts: text }] : []));
    this.#underWay.add(storing);
    try {
      await storing;
    } catch (cause) {
      // A later one that was under way, and is stored, does not bring its records back.
      this.#hasFailed = true;
      throw cause;
    } finally {
      this.#underWay.delete(storing);
    }
    this.#storedFacts = text;
    for (const tell of onStored) tell?.();
  }

  /** Hands the commits over at once: the memory of their records is valid during this call. */
  async #store(...commits: Parameters<RecordLog['commit']>): Promise<void> {
    await this.#records.commit(...commits);
  }

  /** Resolves when no commit is under way: the next run must find where this one has left the logs. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  /**
   * True if the store has refused a step of this run, or has yet to take it. The state in memory is then ahead of the stored one, so the run
   * has to end without another commit.
   */
  get hasLostCommit(): boolean {
    return this.#hasFailed || this.#underWay.size > 0;
  }

  /** The zone of the lines: as configured, or as learnt so far. */
  get zone(): Zone {
    return this.#learnt?.zone ?? this.#configured;
  }

  /** True if the router should be asked for its local time before lines are read. */
  get needsTime(): boolean {
    if (this.#configured.isNamed) return false;
    return this.memory.isZoneDoubted || isZoneOpen(this.facts.zone, this.clock.now());
  }

  /**
   * Asks the router who it is, once in a run, when its files are not those that are known: what is read of another device as of
   * this one would come again, with other uids, once a poll has found that out. Throws {@link OtherDevice} if it is another one, and
   * what the router throws, up to {@link SERIAL_FAILURES_MAX}.
   */
  async confirmDevice(signal: AbortSignal): Promise<void> {
    const { facts, memory } = this;
    if (this.#serialFault !== undefined) throw this.#serialFault;
    if (!this.#readSerial || facts.serial === undefined || this.#hasAskedSerial) return;
    this.#hasAskedSerial = true;
    let serial: string | undefined;
    try {
      serial = await this.#readSerial(signal);
    } catch (cause) {
      if (signal.aborted) throw cause;
      const failuresMax = isOwnFault(cause) ? SERIAL_FAILURES_MAX.answered : SERIAL_FAILURES_MAX.failed;
      const mayWait = !isRefusal(cause) && (!this.isOnlyRun || !isOwnFault(cause));
      if (mayWait && memory.serialFailures < failuresMax) {
        memory.serialFailures++;
        this.#serialFault = cause;
        throw cause;
      }
    }
    memory.serialFailures = 0;
    if (serial !== undefined && serial !== facts.serial) throw new OtherDevice(serial);
  }

  /** Notes that the router sends parts of files, or does not, as it has just shown. */
  noteRange(isSupported: boolean): void {
    this.facts.range = isSupported;
  }

  /** Adds evidence of a log: how its files follow each other, and the offset of its lines. */
  noteEvidence(component: string, evidence: readonly LinkObservation[]): void {
    for (const observation of evidence) {
      this.facts.links = addEvidence(this.facts.links, component, observation);
      this.#reportLinks();
      if (observation.type !== 'match') continue;
      this.noteLink({ utcMs: parseStampUtcMs(observation.stamp), offsetMs: observation.offsetMs });
    }
  }

  /** Tells how files follow each other: once in each process, and when there is more to tell. */
  #reportLinks(): void {
    const verdict = judgeLinks(this.facts.links);
    const { links = judgeLinks({}) } = this.memory;
    if (isDeepStrictEqual(links, verdict)) return;
    this.memory.links = verdict;
    this.report({ type: 'log-links-judged', ...verdict });
  }

  /**
   * Notes the router's time; `undefined` if it does not tell it. Returns false when its clock is not set
   * yet: the offset of 1970 is not that of today. UTC that may be local time shows no offset.
   */
  noteTime(time: RouterTime | undefined): boolean {
    if (time && time.utcMs < FLOOR_MS) return false;
    const { facts, memory } = this;
    memory.isZoneDoubted = false;
    facts.zone.askedMs = this.clock.now();
    const offsetMs = time && findToldOffsetMs(time);
    if (!time || offsetMs === undefined || isDateLocal(time.utcMs, this.clock.now())) return true;
    facts.zone.told = noteTold(facts.zone.told ?? [], { utcMs: time.utcMs, offsetMs });
    this.#learnAgain();
    return true;
  }

  /** A rotation has shown the offset of the router's lines. */
  noteLink(seen: { readonly utcMs: number; readonly offsetMs: number }): void {
    this.facts.zone.seen = noteRotation(this.facts.zone.seen, seen);
    this.#learnAgain();
  }

  /**
   * The newest line of `file` came between two looks, and the router said what time it is: what they differ by, in
   * steps of zones, is its offset, or says that the zone in use is wrong.
   */
  noteFresh(file: LogFile | undefined, dateMs: number | undefined, lookedAtMs: number | undefined): void {
    const newest = file?.lastUtcMs;
    if (newest === undefined || dateMs === undefined || lookedAtMs === undefined) return;
    if (isDateLocal(dateMs, this.clock.now())) return;
    const sinceMs = this.clock.now() - lookedAtMs;
    if (sinceMs > FRESH_MS_MAX || file?.tornAt.length !== 0) return;
    const offByMs = roundToOffset(newest - dateMs);
    const agoMs = dateMs - (newest - offByMs);
    // An old line, or one whose distance no zone explains, says nothing.
    if (agoMs < -FRESH_SLACK_MS || agoMs > sinceMs + FRESH_SLACK_MS || Math.abs(offByMs) > OFF_BY_MS_MAX) return;
    if (this.#configured.isNamed) {
      if (offByMs !== 0) this.report({ type: 'log-zone-doubted', offByMs });
      return;
    }
    const wallMs = newest + (this.#learnt ? this.zone.offsetAt(newest) : 0);
    const offsetMs = roundToOffset(wallMs - dateMs);
    if (this.#learnt && offByMs !== 0) this.memory.isZoneDoubted = true;
    this.facts.zone.inferred = noteOffset(this.facts.zone.inferred, { utcMs: dateMs, offsetMs });
    this.#learnAgain();
  }

  /** Returns the zone that the router has shown; `undefined` if it has shown none, or one is configured. */
  #learn() {
    return this.#configured.isNamed ? undefined : learnZone(this.facts.zone);
  }

  #learnAgain(): void {
    const before = this.#learnt?.zone.latestOffsetMs;
    this.#learnt = this.#learn();
    const now = this.#learnt?.zone.latestOffsetMs;
    if (now !== undefined && now !== before) {
      this.report({ type: 'log-zone-learnt', offsetMs: now, zone: this.#learnt?.name });
    }
  }
}
