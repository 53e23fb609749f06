import { z } from 'zod';
import { type Clock, parseJson } from '../../base/index.ts';
import type { DeviceFacts } from '../mapping/device-condition.ts';
import type { CompiledJoin, JoinTable } from '../mapping/labels.ts';
import type { Refusal, TargetReading } from './ask.ts';
import type { PollPlan, PollTarget } from './poll-plan.ts';

/** Extent of one poll. */
export interface PollOptions {
  /**
   * Factor for intervals, to save bytes; `isSlow`: of modules slower than the router's status, or than the fastest module if none is as
   * fast as that. Up to 1 has no effect, `Infinity` skips them. Default 1. A larger factor than at the last reading does not let values
   * expire, unless {@link mayExpire}: they are read once more before.
   */
  readonly intervalMultiplier?: ((isSlow: boolean) => number) | undefined;
  /** Maximum number of slow resources in one poll; the rest waits for the next unless it would expire. Default: no limit. */
  readonly slowResourcesMax?: number | undefined;
  /** Lets values expire instead of reading them before their interval is over, to save bytes. Default false. */
  readonly mayExpire?: boolean | undefined;
  /** Reads everything now, due or not. Default false. */
  readonly isFresh?: boolean | undefined;
  /** Reads one resource if none is due, to check that the router is alive. Default false. */
  readonly needsLivenessProbe?: boolean | undefined;
  /** True if the caller still holds the resource's last values, so an equal answer is not mapped again. Default: false. */
  readonly holdsValues?: ((resource: string) => boolean) | undefined;
}

/** Result of reading one resource. */
export interface ResourceResult
  extends Pick<PollTarget, 'name' | 'modules' | 'isOptional'>,
    Pick<
      TargetReading,
      'state' | 'isUnchanged' | 'families' | 'faults' | 'isUnread' | 'durationMs' | 'readAtMs' | 'error'
    > {
  /** Time for which the values may be served without being renewed; `Infinity` for identity. Milliseconds. */
  readonly staleAfterMs: number;
}

/** A resource that the router does not have, or a path with a star if it has no such slot. */
export type Lack = Pick<PollTarget, 'name' | 'isOptional'>;

/** `code`: from the source's closed list. */
interface Setback {
  readonly code: string;
  readonly error: unknown;
}

/** A poll in progress. */
export interface Poll {
  /** Monotonic milliseconds. */
  readonly startedMs: number;
  /** Time limit of the poll. Milliseconds. */
  readonly deadlineMs: number;
  /** Minimum time for which values are served without being renewed. Milliseconds. */
  readonly staleAfterMs: number;
  readonly options: PollOptions;
  readonly asked: Set<PollTarget>;
  /** Due targets that have to wait for the next poll. */
  readonly leftOver: Set<PollTarget>;
  /** Targets refused in a way that may concern the whole account. */
  readonly unsure: Set<PollTarget>;
  resources: ResourceResult[];
  isUp: boolean;
  isOver: boolean;
  failure: Setback | undefined;
  refusal: Setback | undefined;
}

const HOUR_MS = 3_600_000;
/** Time for which a refusal is remembered: a card may be added, or rights granted, without a change of firmware. */
export const ASK_AGAIN_MS: Readonly<Record<Refusal, number>> = { unsupported: 24 * HOUR_MS, forbidden: HOUR_MS };

/** `readable-before`: it was read before the router may have been replaced. */
export type Answer = 'readable' | 'readable-before' | Refusal;

/** `version`: number of answers with rows so far. */
interface JoinRows {
  readonly tables: ReadonlyMap<CompiledJoin, JoinTable>;
  readonly version: number;
}

/** Rows of a target before its first answer with rows. */
export const NO_ROWS: JoinRows = { tables: new Map(), version: 0 };

/** Columns of the targets of a plan: for the 400,000 targets of a large fleet, less than half the memory of objects. */
class Column<T> {
  readonly #initial: T;
  readonly #values: T[];

  constructor({ targets }: PollPlan, initial: T) {
    this.#initial = initial;
    this.#values = targets.map(() => initial);
  }

  get({ index }: PollTarget): T {
    return this.#values[index] ?? this.#initial;
  }

  set({ index }: PollTarget, value: T): void {
    this.#values[index] = value;
  }
}

const STATE_VERSION = 1;
/** More than the modules of one router have resources. */
const STORED_MAX = 1000;

const storedState = z.object({
  version: z.literal(STATE_VERSION),
  firmware: z.string().optional(),
  serial: z.string().optional(),
  /** Resources that it does not have, and until when they are not read. Milliseconds since the Unix epoch. */
  lacks: z.array(z.object({ resource: z.string(), untilMs: z.number() })).max(STORED_MAX),
  /** Phases of slow resources: wall time of the readings modulo the interval, which may have changed. Milliseconds. */
  phases: z.array(z.object({ resource: z.string(), intervalMs: z.number(), phaseMs: z.number() })).max(STORED_MAX),
});

/** State of the polls of one router. `learn.ts` changes it, `due.ts` only reads it. Times are monotonic milliseconds. */
export class PollState {
  readonly plan: PollPlan;
  /** Start of the last poll that read it or in which it alone failed; `-Infinity`: never, or due at once. */
  readonly lastMs: Column<number>;
  /** Consecutive failures. */
  readonly failures: Column<number>;
  /** `Infinity` without values. */
  readonly readAtMs: Column<number>;
  /** Time for which its values may be served. */
  readonly lifeMs: Column<number>;
  /** Wall time of its readings modulo its interval; NaN if unknown. */
  readonly phaseMs: Column<number>;
  readonly answers: Column<Answer | undefined>;
  /** Not read before this time. */
  readonly untilMs: Column<number>;
  /** The last answer, if an equal one has the same mapping. */
  readonly held: Column<TargetReading['held']>;
  /** Consecutive unconfirmed refusals of readable targets. */
  readonly unconfirmed = new Map<PollTarget, number>();
  /** Few targets have rows, and most routers none. */
  rows: Map<PollTarget, JoinRows> | undefined;
  /** Due targets that the previous poll did not read. */
  leftOver: ReadonlySet<PollTarget> = new Set();
  /** Targets at which a poll ended because the router became unavailable; their joins wait no longer. */
  readonly gone = new Set<PollTarget>();
  /** Targets whose values may be of another router. */
  readonly outdated = new Set<PollTarget>();
  /** Cache of `listLacks`; `undefined` when an answer has changed. */
  lacks: readonly Lack[] | undefined;
  isUp = false;
  configHash: string | undefined;
  /** `undefined` until the device is known. */
  device: DeviceFacts | undefined;
  /** Last reported firmware version. */
  firmware: string | undefined;
  /** Last reported serial number. */
  serial: string | undefined;
  /** The device that the state belongs to: as it was read, or as stored by an earlier poller. */
  remembered: { readonly firmware?: string | undefined; readonly serial?: string | undefined } = {};
  /** Increases with each change of the stored state. */
  revision = 0;
  #takenRevision = 0;

  /** `previous`: result of {@link take} of an earlier poller; any other text means a first contact. */
  constructor(plan: PollPlan, previous: string | undefined, clock: Clock) {
    this.plan = plan;
    this.lastMs = new Column(plan, -Infinity);
    this.failures = new Column(plan, 0);
    this.readAtMs = new Column(plan, Infinity);
    this.lifeMs = new Column(plan, 0);
    this.phaseMs = new Column(plan, Number.NaN);
    this.answers = new Column<Answer | undefined>(plan, undefined);
    this.untilMs = new Column(plan, 0);
    this.held = new Column<TargetReading['held']>(plan, undefined);
    const { data: known } = storedState.safeParse(parseJson(previous ?? ''));
    // Without either, a replaced router could not be detected.
    if (known?.firmware === undefined && known?.serial === undefined) return;
    this.remembered = { firmware: known.firmware, serial: known.serial };
    for (const target of plan.targets) {
      const { name, intervalMs } = target;
      const lack = known.lacks.find(({ resource }) => resource === name);
      if (lack) {
        this.answers.set(target, 'unsupported');
        // The stored time may be too late if the wall clock has changed.
        const leftMs = Math.min(lack.untilMs - clock.now(), ASK_AGAIN_MS.unsupported);
        this.untilMs.set(target, clock.monotonic() + leftMs);
      }
      const isOf = (one: { readonly resource: string; readonly intervalMs: number; readonly phaseMs: number }) =>
        one.resource === name && one.intervalMs === intervalMs && one.phaseMs >= 0 && one.phaseMs < intervalMs;
      this.phaseMs.set(target, known.phases.find(isOf)?.phaseMs ?? Number.NaN);
    }
  }

  /**
   * Returns the state for the next poller of this router if it has changed since the last call: which resources the router does not have,
   * and when its slow modules are read. Missing rights are not stored: after granting them, an operator restarts the agent to see the
   * effect.
   */
  take(clock: Clock): string | undefined {
    if (this.revision === this.#takenRevision) return undefined;
    this.#takenRevision = this.revision;
    const { targets } = this.plan;
    const offsetMs = clock.now() - clock.monotonic();
    const lacks = targets
      .filter((target) => this.answers.get(target) === 'unsupported')
      .slice(0, STORED_MAX)
      .map((target) => ({ resource: target.name, untilMs: Math.round(offsetMs + this.untilMs.get(target)) }));
    const phases = targets
      .filter((target) => !Number.isNaN(this.phaseMs.get(target)))
      .slice(0, STORED_MAX)
      .map((target) => {
        const { name, intervalMs } = target;
        return { resource: name, intervalMs, phaseMs: Math.floor(this.phaseMs.get(target)) };
      });
    return JSON.stringify({ version: STATE_VERSION, ...this.remembered, lacks, phases });
  }
}
