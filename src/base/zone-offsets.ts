const DAY_MS = 24 * 3_600_000;
/** Some zones change their offset at half past. Milliseconds. */
const SLOT_MS = 15 * 60_000;
/** Half a year of slots. */
const CACHED_SLOTS_MAX = 16_384;

/** By the names of the configuration, of which a fleet has a few. */
const zones = new Map<string, ZoneOffsets>();
const ZONES_MAX = 1000;

/** Returns the UTC offsets of an IANA time zone, shared by all: one costs tens of kilobytes. Throws `RangeError` if it does not exist. */
export function openZone(name: string): ZoneOffsets {
  const zone = zones.get(name) ?? new ZoneOffsets(name);
  if (zones.size >= ZONES_MAX) zones.clear();
  zones.set(name, zone);
  return zone;
}

/** UTC offsets of one IANA time zone, from {@link openZone}. */
export class ZoneOffsets {
  readonly #format: Intl.DateTimeFormat;
  readonly #offsets = new Map<number, number>();

  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /** Returns wall time minus UTC at a moment, in milliseconds. */
  offsetMs(utcMs: number): number {
    const slot = Math.floor(utcMs / SLOT_MS);
    const known = this.#offsets.get(slot);
    if (known !== undefined) return known;
    if (this.#offsets.size >= CACHED_SLOTS_MAX) this.#offsets.clear();
    const offsetMs = this.#computeMs(slot * SLOT_MS);
    this.#offsets.set(slot, offsetMs);
    return offsetMs;
  }

  /**
   * Returns the moments (UTC) of a wall time given as if it were UTC, earliest first: two in the hour repeated when summer time ends,
   * otherwise one. A wall time skipped when summer time starts is read with the offset before the change.
   */
  momentsOf(wallAsUtcMs: number): readonly [number, ...number[]] {
    const before = this.offsetMs(wallAsUtcMs - DAY_MS);
    const after = this.offsetMs(wallAsUtcMs + DAY_MS);
    if (before === after) return [wallAsUtcMs - before];
    const [first, second] = [wallAsUtcMs - before, wallAsUtcMs - after].filter(
      (utcMs) => wallAsUtcMs - utcMs === this.offsetMs(utcMs),
    );
    if (first === undefined) return [wallAsUtcMs - before];
    return second === undefined ? [first] : [first, second];
  }

  #computeMs(utcMs: number): number {
    const parts = Object.fromEntries(this.#format.formatToParts(utcMs).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour: hours = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hours, minute, second) - utcMs;
  }
}
