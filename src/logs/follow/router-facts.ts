import { crc32 } from 'node:zlib';
import { parseJson } from '../../base/index.ts';
import type { LogCommit } from '../../model/index.ts';
import type { ZoneEvidence } from '../listing/learnt-zone.ts';
import type { LinkFacts } from '../listing/link-rule.ts';
import type { KnownGap } from '../position/event-records.ts';
import { isKnownGap } from '../position/position-text.ts';
import { isOwnFault, isRefusal } from '../reading/errors.ts';
import type { FollowOptions } from './contracts.ts';
import type { FollowMemory } from './memory.ts';

/** Facts about a router as a whole; stored beside the positions of its logs. */
export interface RouterFacts {
  readonly version: 1;
  /** Wall time at which its logs were first listed. */
  readonly firstContactMs: number;
  /** Serial number, as far as it was told. */
  serial: string | undefined;
  /** The firmware that `range` is about. */
  firmware: string | undefined;
  /** True if the router serves parts of files; `undefined` until it was tried. */
  range: boolean | undefined;
  zone: ZoneEvidence;
  /** Evidence from rotations of how files follow each other. */
  links: LinkFacts;
  /** The last gaps of all logs, for the pages: also of the replica that has the router next. The newest first; `undefined`: none. */
  gaps: readonly KnownGap[] | undefined;
}

/** The facts about a router that was never met. */
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
 * Notes the serial number, if it is told. True when another device than before answers: what was learnt of the one before
 * is forgotten then.
 */
export function noteSerial(facts: RouterFacts, serial: string | undefined): boolean {
  if (serial === undefined || facts.serial === serial) return false;
  const isReplaced = facts.serial !== undefined;
  facts.serial = serial;
  if (!isReplaced) return false;
  const { range, zone, links } = createRouterFacts(facts.firstContactMs);
  Object.assign(facts, { range, zone, links });
  return true;
}

export function renderRouterFacts(facts: RouterFacts): string {
  const text = JSON.stringify(facts);
  return `${text}\n${crc32(text).toString(16)}`;
}

/** Reads back what {@link renderRouterFacts} wrote; `undefined` for anything else: then they are learnt anew. */
export function parseRouterFacts(text: string): RouterFacts | undefined {
  const end = text.lastIndexOf('\n');
  if (end < 0 || crc32(text.slice(0, end)).toString(16) !== text.slice(end + 1)) return undefined;
  // The checksum says that nothing was damaged, not who wrote it.
  const value = parseJson(text.slice(0, end)) as RouterFacts | null | undefined;
  if (value?.version !== 1) return undefined;
  const gaps = toKnownGaps(value.gaps);
  return { ...value, gaps: gaps.length === 0 ? undefined : gaps };
}

/** Returns the last gaps that stored facts tell of, the newest first; none if the facts cannot be read. */
export function readKnownGaps(facts: string | undefined): readonly KnownGap[] {
  return (facts === undefined ? undefined : parseRouterFacts(facts))?.gaps ?? [];
}

/** Number of gaps remembered for all logs of a router: they are stored with its facts, which are written as a whole. */
const KNOWN_GAPS_MAX = 10;

/**
 * Returns the gaps with one more, the newest first; the oldest gives way. One that is known is not there twice: a step that could
 * not be stored is taken again.
 */
export function noteGap(gaps: readonly KnownGap[], gap: KnownGap): readonly KnownGap[] {
  return [gap, ...gaps.filter(({ uid }) => uid !== gap.uid)].slice(0, KNOWN_GAPS_MAX);
}

/** Returns the gaps with the time of the first line behind one of them, if it is still remembered. */
export function noteGapEnd(
  gaps: readonly KnownGap[],
  { gapUid, untilUtcMs }: { readonly gapUid: string; readonly untilUtcMs: number | undefined },
): readonly KnownGap[] {
  const index = gaps.findIndex(({ uid }) => uid === gapUid);
  const gap = gaps[index];
  return gap ? gaps.with(index, { ...gap, untilUtcMs }) : gaps;
}

/** Reads back gaps that were stored; leaves out what this version cannot read. */
function toKnownGaps(stored: unknown): readonly KnownGap[] {
  return Array.isArray(stored) ? stored.slice(0, KNOWN_GAPS_MAX).flatMap(toKnownGap) : [];
}

function toKnownGap(stored: unknown): KnownGap[] {
  if (!isKnownGap(stored)) return [];
  const { uid, component, foundMs, certainty, reason, bytesMin, untilUtcMs } = stored;
  return [{ uid, component, foundMs, certainty, reason, bytesMin, untilUtcMs }];
}

/** A step of one log that is to be made durable, and the function to call once it is, which reports its events. */
export interface PreparedStep {
  readonly commit: LogCommit;
  readonly report: () => void;
}

/** Makes the steps of a router's logs durable in one run, and with them what was learnt of the router: a crash leaves all of it or nothing. */
export class StepStore {
  readonly #options: FollowOptions;
  readonly #facts: RouterFacts;
  /** The facts as they were stored last. */
  #storedFacts: string | undefined;
  /** True once a commit of this run was refused. */
  #hasFailed = false;
  /** The commits that are under way. */
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: FollowOptions, facts: RouterFacts, storedFacts: string | undefined) {
    this.#options = options;
    this.#facts = facts;
    this.#storedFacts = storedFacts;
  }

  /** Makes steps durable at once, then reports them. */
  async commit(...steps: readonly PreparedStep[]): Promise<void> {
    const { router, onStoring } = this.#options;
    const text = renderRouterFacts(this.#facts);
    const isLearnt = text !== this.#storedFacts;
    if (!isLearnt && steps.length === 0) return;
    const commits = steps.map(({ commit }) => commit);
    const onStored = commits.map(({ lines }) => onStoring?.(lines));
    const storing = this.#store(...commits, ...(isLearnt ? [{ router: router.name, facts: text }] : []));
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
    for (const { report } of steps) report();
  }

  /** Hands the commits over at once: the memory of their records is valid during this call. */
  async #store(...commits: Parameters<FollowOptions['records']['commit']>): Promise<void> {
    await this.#options.records.commit(...commits);
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
}

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

/**
 * A router that lists its logs and does not answer for its serial number is taken for the same one when so many runs have ended for that:
 * where it answers with an error, and where the connection fails.
 */
const SERIAL_FAILURES_MAX = { answered: 1, failed: 4 };

/** Asks a router who it is. */
export class DeviceCheck {
  readonly #options: FollowOptions;
  readonly #memory: FollowMemory;
  readonly #facts: RouterFacts;
  /** True once this run has asked for the serial number. */
  #hasAsked = false;
  /** The error of that, if it ends the reading of files that are not those that are known. */
  #fault: unknown;

  constructor(options: FollowOptions, memory: FollowMemory, facts: RouterFacts) {
    this.#options = options;
    this.#memory = memory;
    this.#facts = facts;
  }

  /**
   * Asks the router who it is, once in a run, when its files are not those that are known: what is read of another device as of
   * this one would come again, with other uids, once a poll has found that out. Throws {@link OtherDevice} if it is another one, and
   * what the router throws, up to {@link SERIAL_FAILURES_MAX}.
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
