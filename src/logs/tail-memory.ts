import type { LinkVerdict } from './link-rule.ts';
import { createSkewBounds, type SkewBounds } from './log-clock.ts';
import { RuleSeries } from './matching/rule-series.ts';
import { Retention } from './retention.ts';

/** Looks at a log while a line stays on the router: room for a failed one, and for growth that speeds up. */
const LOOKS_PER_LIFETIME = 4;

/** What is worth knowing about a log from one run to the next, and is found out anew after a restart. */
export interface LogMemory {
  /** Entity tag of `current` as it was read last. */
  etag: string | undefined;
  /** When the log was last read to its end, by the agent's wall clock. */
  lookedAtMs: number | undefined;
  readonly skew: SkewBounds;
  readonly retention: Retention;
}

/** What is known of a log that was never read. */
export function createLogMemory(): LogMemory {
  return { etag: undefined, lookedAtMs: undefined, skew: createSkewBounds(), retention: new Retention() };
}

/** What is remembered of one router's logs between runs, in memory only. */
export class TailMemory {
  readonly #logs = new Map<string, LogMemory>();
  /** Series of the log rules; bounds them. */
  readonly ruleSeries = new RuleSeries();
  /** How files follow each other, as it was told last. */
  links: LinkVerdict | undefined;
  /** Whether the router did not answer when it was asked for its local time: nothing waits for that twice. */
  hasWaitedForTime = false;
  /** Whether new lines had another offset than the one in use: then the router is asked again. */
  isZoneDoubted = false;

  of(component: string): LogMemory {
    const known = this.#logs.get(component);
    if (known) return known;
    const created = createLogMemory();
    this.#logs.set(component, created);
    return created;
  }

  /**
   * How long to wait between two runs: a quarter of the time until the router deletes what is unread in the log that is in
   * the greatest danger, but not below `floorMs` and not above `ceilingMs`.
   */
  computeIntervalMs(bounds: { readonly floorMs: number; readonly ceilingMs: number }): number {
    const dangers = [...this.#logs.values()].flatMap(({ retention }) => retention.lifetimeMs ?? []);
    const wantedMs = Math.min(bounds.ceilingMs, ...dangers.map((lifetimeMs) => lifetimeMs / LOOKS_PER_LIFETIME));
    return Math.max(Math.min(bounds.floorMs, bounds.ceilingMs), Math.floor(wantedMs));
  }
}
