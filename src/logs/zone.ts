import type { RecordFlag } from '../model/index.ts';

/** A wall time put on the world's clock. */
export interface PlacedTime {
  readonly utcMs: number;
  readonly flags: readonly RecordFlag[];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Offsets are remembered per hour of UTC; this many hours are far more than one reading touches. */
const CACHED_HOURS_MAX = 4096;

/** Turns a router's wall time into UTC. */
export class Zone {
  readonly #format: Intl.DateTimeFormat;
  /** Whether UTC stands in for a zone that is not known. */
  readonly isAssumed: boolean;
  readonly #offsets = new Map<number, number>();

  /** `name`: an IANA zone; without one, UTC is assumed and every time carries the flag `zone_assumed`. */
  constructor(name: string | undefined) {
    this.isAssumed = name === undefined;
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name ?? 'UTC',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /**
   * Places a wall time. In the hour that a change to winter time repeats, the first of the two moments that is not
   * before `notBeforeUtcMs` (the line before it) is taken; a wall time that the change to summer time skips is read with
   * the offset before the change.
   */
  place(wallAsUtcMs: number, notBeforeUtcMs: number | undefined): PlacedTime {
    if (this.isAssumed) return { utcMs: wallAsUtcMs, flags: ['zone_assumed'] };
    const before = this.#offsetMs(wallAsUtcMs - DAY_MS);
    const after = this.#offsetMs(wallAsUtcMs + DAY_MS);
    if (before === after) return { utcMs: wallAsUtcMs - before, flags: [] };
    const candidates = [wallAsUtcMs - before, wallAsUtcMs - after].filter(
      (utcMs) => wallAsUtcMs - utcMs === this.#offsetMs(utcMs),
    );
    const [first, second] = candidates.toSorted((a, b) => a - b);
    if (first === undefined) return { utcMs: wallAsUtcMs - before, flags: ['hole'] };
    if (second === undefined) return { utcMs: first, flags: [] };
    const isSecond = notBeforeUtcMs !== undefined && notBeforeUtcMs > first;
    return { utcMs: isSecond ? second : first, flags: ['fold'] };
  }

  /** Wall time minus UTC at a moment. */
  #offsetMs(utcMs: number): number {
    const hour = Math.floor(utcMs / HOUR_MS);
    const known = this.#offsets.get(hour);
    if (known !== undefined) return known;
    if (this.#offsets.size >= CACHED_HOURS_MAX) this.#offsets.clear();
    const startMs = hour * HOUR_MS;
    const parts = Object.fromEntries(
      this.#format.formatToParts(startMs).map(({ type, value }) => [type, Number(value)]),
    );
    const { year = 0, month = 1, day = 1, hour: hours = 0, minute = 0, second = 0 } = parts;
    const offsetMs = Date.UTC(year, month - 1, day, hours, minute, second) - startMs;
    this.#offsets.set(hour, offsetMs);
    return offsetMs;
  }
}
