const DAY_MS = 24 * 3_600_000;
/** Offsets are cached per quarter of an hour of UTC: some zones change at half past. */
const SLOT_MS = 15 * 60_000;
/** Half a year of slots. */
const CACHED_SLOTS_MAX = 16_384;

/** One for each zone, and there are a few hundred of those: making one takes as long as converting many times. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** UTC offsets of one IANA time zone. */
export class ZoneOffsets {
  readonly #format: Intl.DateTimeFormat;
  readonly #offsets = new Map<number, number>();

  /** Throws `RangeError` if the zone does not exist. */
  constructor(name: string) {
    this.#format = formatOf(name);
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
   * Returns the moments at which clocks in the zone show a wall time (given as if it were UTC), earliest first. There
   * are two in the hour that is repeated when summer time ends, and one otherwise: a wall time skipped when summer time
   * starts is read with the offset before the change.
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
