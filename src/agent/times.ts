/** A point in time, by both clocks. */
export interface Moment {
  /** Wall time, milliseconds since the Unix epoch. */
  readonly wallMs: number;
  /** Monotonic, milliseconds. */
  readonly ms: number;
}

/** Renders a time by RFC 3339; `null` if there is none. Milliseconds since the Unix epoch. */
export function toTime(wallMs: number | undefined): string | null {
  return wallMs === undefined ? null : new Date(wallMs).toISOString();
}

/** Converts milliseconds to seconds; `undefined` if there are none. */
export function toSeconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}
