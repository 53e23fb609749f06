import { openZone, type ZoneOffsets } from '../../base/index.ts';
import type { RecordFlag } from '../../model/index.ts';

interface UtcTime {
  readonly utcMs: number;
  readonly flags: readonly RecordFlag[];
}

const DAY_MS = 24 * 3_600_000;
/** A zone with equal offsets a day before and after is steady for this long: no offset exceeds 14 hours. */
const STEADY_MS = 8 * 3_600_000;
const NO_FLAGS: readonly RecordFlag[] = [];
/** Several processes may write lines slightly out of order. Milliseconds. */
const DISORDER_MS = 5000;

/** A UTC offset observed from a moment on. */
export interface OffsetSeen {
  readonly utcMs: number;
  /** Wall time minus UTC. Milliseconds. */
  readonly offsetMs: number;
}

/** Converts a router's wall time to UTC. */
export class Zone {
  readonly #offsets: ZoneOffsets;
  readonly #name: string | undefined;
  readonly #seen: readonly OffsetSeen[];
  /** True if UTC is assumed because the zone is unknown. */
  readonly isAssumed: boolean;
  /** True if the rules of the zone are known, not only some offsets. */
  readonly isNamed: boolean;
  /** Range of wall times with a known offset. */
  #steady = { fromMs: 0, toMs: 0, offsetMs: 0 };

  /** `name`: IANA zone. Without it, the observed offsets are used; without any, UTC with the flag `zone_assumed`. */
  constructor(name: string | undefined, seen: readonly OffsetSeen[] = []) {
    this.#name = name;
    this.isNamed = name !== undefined;
    this.isAssumed = name === undefined && seen.length === 0;
    const sorted = seen.toSorted((a, b) => a.utcMs - b.utcMs);
    this.#seen = sorted.filter(({ offsetMs }, index) => offsetMs !== sorted[index - 1]?.offsetMs);
    this.#offsets = openZone(name ?? 'UTC');
  }

  static parse(text: string): Zone {
    const steps = text.split(',').flatMap((step) => {
      const [, utc, offset] = /^(-?\d+):(-?\d+)$/.exec(step) ?? [];
      return utc === undefined ? [] : [{ utcMs: Number(utc), offsetMs: Number(offset) }];
    });
    return new Zone(text === '' || steps.length > 0 ? undefined : text, steps);
  }

  /** Zones with equal texts convert all times alike. */
  get text(): string {
    return this.#name ?? this.#seen.map(({ utcMs, offsetMs }) => `${utcMs}:${offsetMs}`).join(',');
  }

  /**
   * Converts a wall time to UTC. In the repeated hour of a change to winter time, the first moment not well before
   * `notBeforeUtcMs` (the previous line) is used. Skipped wall times use the offset before the change.
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
      this.#steady = { fromMs: wallAsUtcMs - STEADY_MS, toMs: wallAsUtcMs + STEADY_MS, offsetMs };
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

  /** Returns wall time minus UTC at a moment. Milliseconds. */
  offsetAt(utcMs: number): number {
    if (this.isNamed) return this.#offsets.offsetMs(utcMs);
    return (this.#seen.findLast((seen) => seen.utcMs <= utcMs) ?? this.#seen[0])?.offsetMs ?? 0;
  }

  /** The last observed offset; `undefined` if there is none. Milliseconds. */
  get latestOffsetMs(): number | undefined {
    return this.#seen.at(-1)?.offsetMs;
  }

  #seenOffsetMs(wallAsUtcMs: number): number {
    const before = this.#seen.findLast(({ utcMs, offsetMs }) => utcMs + offsetMs <= wallAsUtcMs);
    return (before ?? this.#seen[0])?.offsetMs ?? 0;
  }
}
