import type { LinkVerdict } from '../evidence/link-rule.ts';
import type { SeenText, SeenTexts } from '../file-scan.ts';
import type { LineMatcher } from '../matching/line-matcher.ts';
import { RuleSeries } from '../matching/rule-series.ts';
import { createSkewBounds, type SkewBounds } from '../time/log-clock.ts';
import { Retention } from './retention.ts';

/** Looks at a log while a line stays on the router: room for a failed one, and for growth that speeds up. */
const LOOKS_PER_LIFETIME = 4;

/** Downloads of `current` that ended early or held no text, one after the other, and gave no new line. */
export interface FruitlessDownloads {
  readonly count: number;
  /** The newest rotated file that was listed: behind another one, `current` is another file. */
  readonly newestStamp: string | undefined;
  /** Monotonic time before which there is no other one. Milliseconds. */
  readonly notBeforeMs: number;
}

/** State of a log that is kept from one run to the next, and is learnt again after a restart. */
export interface LogMemory {
  /** Entity tag of `current` as it was read last. */
  etag: string | undefined;
  /** Place in `current` up to which it was read then. Where the log stands elsewhere, as after a store went back, the tag does not count. */
  etagOff: number | undefined;
  /** Stamps of the rotated files that were listed then: behind another one, `current` has changed whatever its tag says. */
  etagListed: ReadonlySet<string>;
  /** Time of the last reading to the end of the log, by the agent's wall clock. */
  lookedAtMs: number | undefined;
  /** The agent's wall clock minus its monotonic one, when the log was looked at last. Milliseconds. */
  wallOffsetMs: number | undefined;
  /** Since when the router answers that it is busy instead of giving a file of the log. Monotonic, milliseconds. */
  busySinceMs: number | undefined;
  fruitless: FruitlessDownloads | undefined;
  /** A short body without a time, which is read as a log if no other log has the same one at the next look. */
  text: SeenText | undefined;
  readonly skew: SkewBounds;
  readonly retention: Retention;
}

/** Returns the memory of a log that was never read. */
export function createLogMemory(): LogMemory {
  return {
    etag: undefined,
    etagOff: undefined,
    etagListed: new Set(),
    lookedAtMs: undefined,
    wallOffsetMs: undefined,
    busySinceMs: undefined,
    fruitless: undefined,
    text: undefined,
    skew: createSkewBounds(),
    retention: new Retention(),
  };
}

/** Forgets when a log was looked at last, and what that said of the router's clock: lines that come may be older than it seems. */
export function forgetLook(memory: LogMemory): void {
  memory.lookedAtMs = undefined;
  Object.assign(memory.skew, createSkewBounds());
}

/** State of one router's logs that is kept between runs, in memory only. */
export class TailMemory {
  readonly #logs = new Map<string, LogMemory>();
  /** Logs that were told of and not forgotten, whether or not anything was read of them. */
  readonly told = new Set<string>();
  /** Logs that had their turn since a run last came to its end: none has another before all others had theirs. */
  readonly served = new Set<string>();
  /** Logs that ended a run with an error when they were read last. */
  readonly broken = new Set<string>();
  #ruleSeries = new RuleSeries();
  /** Settings of the rules that they are of. */
  #rules: string | undefined;
  /** Verdict on how files follow each other, as it was told last. */
  links: LinkVerdict | undefined;
  /** True if the router did not answer a request for its local time: nothing waits for that twice. */
  hasWaitedForTime = false;
  /** Runs in a row that ended because the router did not answer a request for its serial number. */
  serialFailures = 0;
  /** Rotated files that are known and not listed any more, by log, of which it was found out or given up whose they are. */
  lacking: ReadonlySet<string> = new Set();
  /** True if new lines had another offset than the one in use: then the router is asked again. */
  isZoneDoubted = false;

  /** Forgets a log. */
  forget(component: string): void {
    this.#logs.delete(component);
    this.told.delete(component);
    this.broken.delete(component);
    this.served.delete(component);
  }

  /** Returns the series of the log rules, which bounds them; those of other rules are forgotten. */
  seriesOf(rules: LineMatcher | undefined): RuleSeries {
    if (rules?.text !== this.#rules) this.#ruleSeries = new RuleSeries();
    this.#rules = rules?.text;
    return this.#ruleSeries;
  }

  of(component: string): LogMemory {
    const known = this.#logs.get(component);
    if (known) return known;
    const created = createLogMemory();
    this.#logs.set(component, created);
    return created;
  }

  /** Returns the short bodies without a time that were seen, from the view of one log. */
  textsOf(component: string): SeenTexts {
    const others = [...this.#logs].flatMap(([other, { text }]) => (other !== component && text ? [text] : []));
    return { own: this.of(component).text, others };
  }

  /**
   * Returns the interval between two runs: a quarter of the time until the router deletes unread lines of the log that is in
   * the greatest danger, but not below `floorMs` and not above `ceilingMs`.
   */
  computeIntervalMs(bounds: { readonly floorMs: number; readonly ceilingMs: number }): number {
    const dangers = [...this.#logs.values()].flatMap(({ retention }) => retention.lifetimeMs ?? []);
    const wantedMs = Math.min(bounds.ceilingMs, ...dangers.map((lifetimeMs) => lifetimeMs / LOOKS_PER_LIFETIME));
    return Math.max(Math.min(bounds.floorMs, bounds.ceilingMs), Math.floor(wantedMs));
  }
}
