import { ZoneOffsets } from '../../base/index.ts';
import type { RecordFlag } from '../../model/index.ts';

/** A wall time as UTC. */
interface UtcTime {
  readonly utcMs: number;
  readonly flags: readonly RecordFlag[];
}

const DAY_MS = 24 * 3_600_000;
/**
 * A zone that has one offset a day before and a day after a moment keeps it for this long; twice as long each time that times go
 * on behind it, up to the second number.
 */
const STEADY_MS = 3_600_000;
const STEADY_MS_MAX = 7 * DAY_MS;
const NO_FLAGS: readonly RecordFlag[] = [];
/** Lines of several processes are now and then written in another order than stamped; that is no second pass. */
const DISORDER_MS = 5000;

/** The UTC offset that a router's lines were seen to have from a moment on. */
export interface OffsetSeen {
  readonly utcMs: number;
  /** Wall time minus UTC. */
  readonly offsetMs: number;
}

/** Turns a router's wall time into UTC. */
export class Zone {
  readonly #offsets: ZoneOffsets;
  readonly #name: string | undefined;
  /** Oldest first; only those that differ from the one before. */
  readonly #seen: readonly OffsetSeen[];
  /** True if UTC is assumed because the zone is not known. */
  readonly isAssumed: boolean;
  /** True if the rules of the zone are known, and not only its offset at some times. */
  readonly isNamed: boolean;
  /** Wall times that have this offset for sure. */
  #steady = { fromMs: 0, toMs: 0, offsetMs: 0 };

  /**
   * `name`: an IANA zone; without one, the offsets that were `seen`; without any, UTC is assumed and every time carries the
   * flag `zone_assumed`.
   */
  constructor(name: string | undefined, seen: readonly OffsetSeen[] = []) {
    this.#name = name;
    this.isNamed = name !== undefined;
    this.isAssumed = name === undefined && seen.length === 0;
    const sorted = seen.toSorted((a, b) => a.utcMs - b.utcMs);
    this.#seen = sorted.filter(({ offsetMs }, index) => offsetMs !== sorted[index - 1]?.offsetMs);
    this.#offsets = new ZoneOffsets(name ?? 'UTC');
  }

  /** Reads back what {@link text} gave. */
  static parse(text: string): Zone {
    const steps = text.split(',').flatMap((step) => {
      const [, utc, offset] = /^(-?\d+):(-?\d+)$/.exec(step) ?? [];
      return utc === undefined ? [] : [{ utcMs: Number(utc), offsetMs: Number(offset) }];
    });
    return new Zone(text === '' || steps.length > 0 ? undefined : text, steps);
  }

  /** Zones with the same text convert every time alike. */
  get text(): string {
    return this.#name ?? this.#seen.map(({ utcMs, offsetMs }) => `${utcMs}:${offsetMs}`).join(',');
  }

  /**
   * Converts a wall time to UTC. In the hour that a change to winter time repeats, the first of the two moments that is not
   * well before `notBeforeUtcMs` (the line before it) is taken; a wall time that the change to summer time skips is read with
   * the offset before the change.
   */
  toUtc(wallAsUtcMs: number, notBeforeUtcMs: number | undefined): UtcTime {
    if (this.isAssumed) return { utcMs: wallAsUtcMs, flags: ['zone_assumed'] };
    if (!this.isNamed) return { utcMs: wallAsUtcMs - this.#seenOffsetMs(wallAsUtcMs), flags: [] };
    const steady = this.#steady;
    if (wallAsUtcMs >= steady.fromMs && wallAsUtcMs < steady.toMs) {
      return { utcMs: wallAsUtcMs - steady.offsetMs, flags: NO_FLAGS };
    }
    const offsetMs = this.#offsets.offsetMs(wallAsUtcMs - DAY_MS);
    if (offsetMs === this.#offsets.offsetMs(wallAsUtcMs + DAY_MS)) {
      this.#steady = { fromMs: wallAsUtcMs, toMs: this.#findSteadyEnd(wallAsUtcMs, offsetMs), offsetMs };
      return { utcMs: wallAsUtcMs - offsetMs, flags: NO_FLAGS };
    }
    const [first, second] = this.#offsets.momentsOf(wallAsUtcMs);
    if (second === undefined) {
      const isShown = wallAsUtcMs - first === this.#offsets.offsetMs(first);
      return { utcMs: first, flags: isShown ? NO_FLAGS : ['hole'] };
    }
    const isSecond = notBeforeUtcMs !== undefined && notBeforeUtcMs > first + DISORDER_MS;
    return { utcMs: isSecond ? second : first, flags: ['fold'] };
  }

  /** Wall time minus UTC at a moment. */
  offsetAt(utcMs: number): number {
    if (this.isNamed) return this.#offsets.offsetMs(utcMs);
    return (this.#seen.findLast((seen) => seen.utcMs <= utcMs) ?? this.#seen[0])?.offsetMs ?? 0;
  }

  /** Wall time minus UTC as it was seen last; `undefined` when it never was. */
  get latestOffsetMs(): number | undefined {
    return this.#seen.at(-1)?.offsetMs;
  }

  /** How long wall times from one on have its offset for sure. */
  #findSteadyEnd(wallAsUtcMs: number, offsetMs: number): number {
    const { fromMs, toMs } = this.#steady;
    const hour = wallAsUtcMs + STEADY_MS;
    if (wallAsUtcMs < toMs || wallAsUtcMs >= toMs + STEADY_MS) return hour;
    const end = wallAsUtcMs + Math.min(2 * (toMs - fromMs), STEADY_MS_MAX);
    // A zone does not change twice within a day.
    for (let next = wallAsUtcMs; next < end; next += DAY_MS) {
      const isSame = this.#offsets.offsetMs(Math.min(next + DAY_MS, end) + DAY_MS) === offsetMs;
      if (!isSame) return Math.max(next, hour);
    }
    return end;
  }

  /** Returns the offset that was seen last before a wall time, or the first one. */
  #seenOffsetMs(wallAsUtcMs: number): number {
    const before = this.#seen.findLast(({ utcMs, offsetMs }) => utcMs + offsetMs <= wallAsUtcMs);
    return (before ?? this.#seen[0])?.offsetMs ?? 0;
  }
}
