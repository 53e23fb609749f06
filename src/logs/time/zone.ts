import type { RecordFlag } from '../../model/index.ts';

/** A wall time as UTC. */
export interface UtcTime {
  readonly utcMs: number;
  readonly flags: readonly RecordFlag[];
}

const DAY_MS = 24 * 3_600_000;
/** A zone that has one offset a day before and a day after a moment keeps it for this long. */
const STEADY_MS = 3_600_000;
const NO_FLAGS: readonly RecordFlag[] = [];
/** Offsets are remembered per quarter of an hour of UTC: some zones change at half past. */
const SLOT_MS = 15 * 60_000;
/** Half a year of them, which is more than one reading touches. */
const CACHED_SLOTS_MAX = 16_384;

/** Lines of several processes are now and then written in another order than stamped; that is no second pass. */
const DISORDER_MS = 5000;

/** One for each zone, and there are a few hundred of those: making one takes as long as converting many times. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** The UTC offset that a router's lines were seen to have from a moment on. */
export interface OffsetSeen {
  readonly utcMs: number;
  /** Wall time minus UTC. */
  readonly offsetMs: number;
}

/** Turns a router's wall time into UTC. */
export class Zone {
  readonly #format: Intl.DateTimeFormat;
  readonly #name: string | undefined;
  /** Oldest first; only those that differ from the one before. */
  readonly #seen: readonly OffsetSeen[];
  /** True if UTC is assumed because the zone is not known. */
  readonly isAssumed: boolean;
  /** True if the rules of the zone are known, and not only its offset at some times. */
  readonly isNamed: boolean;
  readonly #offsets = new Map<number, number>();
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
    this.#format = formatOf(name ?? 'UTC');
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
    const before = this.#offsetMs(wallAsUtcMs - DAY_MS);
    const after = this.#offsetMs(wallAsUtcMs + DAY_MS);
    if (before === after) {
      this.#steady = { fromMs: wallAsUtcMs, toMs: wallAsUtcMs + STEADY_MS, offsetMs: before };
      return { utcMs: wallAsUtcMs - before, flags: NO_FLAGS };
    }
    const candidates = [wallAsUtcMs - before, wallAsUtcMs - after].filter(
      (utcMs) => wallAsUtcMs - utcMs === this.#offsetMs(utcMs),
    );
    const [first, second] = candidates.toSorted((a, b) => a - b);
    if (first === undefined) return { utcMs: wallAsUtcMs - before, flags: ['hole'] };
    if (second === undefined) return { utcMs: first, flags: [] };
    const isSecond = notBeforeUtcMs !== undefined && notBeforeUtcMs > first + DISORDER_MS;
    return { utcMs: isSecond ? second : first, flags: ['fold'] };
  }

  /** Wall time minus UTC at a moment. */
  offsetAt(utcMs: number): number {
    if (this.isNamed) return this.#offsetMs(utcMs);
    return (this.#seen.findLast((seen) => seen.utcMs <= utcMs) ?? this.#seen[0])?.offsetMs ?? 0;
  }

  /** Wall time minus UTC as it was seen last; `undefined` when it never was. */
  get latestOffsetMs(): number | undefined {
    return this.#seen.at(-1)?.offsetMs;
  }

  /** Returns the offset that was seen last before a wall time, or the first one. */
  #seenOffsetMs(wallAsUtcMs: number): number {
    const before = this.#seen.findLast(({ utcMs, offsetMs }) => utcMs + offsetMs <= wallAsUtcMs);
    return (before ?? this.#seen[0])?.offsetMs ?? 0;
  }

  /** Wall time minus UTC at a moment, by the rules of a zone with a name. */
  #offsetMs(utcMs: number): number {
    const slot = Math.floor(utcMs / SLOT_MS);
    const known = this.#offsets.get(slot);
    if (known !== undefined) return known;
    if (this.#offsets.size >= CACHED_SLOTS_MAX) this.#offsets.clear();
    const startMs = slot * SLOT_MS;
    const parts = Object.fromEntries(
      this.#format.formatToParts(startMs).map(({ type, value }) => [type, Number(value)]),
    );
    const { year = 0, month = 1, day = 1, hour: hours = 0, minute = 0, second = 0 } = parts;
    const offsetMs = Date.UTC(year, month - 1, day, hours, minute, second) - startMs;
    this.#offsets.set(slot, offsetMs);
    return offsetMs;
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formats.set(timeZone, format);
  return format;
}
