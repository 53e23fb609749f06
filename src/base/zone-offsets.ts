const DAY_MS = 24 * 3_600_000;
/** Offsets are remembered per quarter of an hour of UTC: some zones change at half past. */
const SLOT_MS = 15 * 60_000;
/** Half a year of them. */
const CACHED_SLOTS_MAX = 16_384;

/** How far the wall clocks of one IANA zone are ahead of UTC. */
export class ZoneOffsets {
  readonly #format: Intl.DateTimeFormat;
  readonly #offsets = new Map<number, number>();

  /** Throws `RangeError` when there is no zone of this name. */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /** Wall time minus UTC at a moment. Milliseconds. */
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
   * The moments at which the clocks show a wall time, given as if it were UTC; earliest first. Two in the hour that a
   * change to winter time repeats, and one otherwise: a time that the change to summer time skips is read with the offset
   * before the change.
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
