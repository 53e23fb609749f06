import type { LinkVerdict } from '../listing/link-rule.ts';
import type { SeenTexts } from '../reading/file-reading.ts';
import { type LineMatcher, RuleSeries } from '../rules/line-matcher.ts';
import { createSkewBounds, type SkewBounds } from '../time/log-clock.ts';

/** Looks at a log while a line stays on the router: room for a failed one, and for growth that speeds up. */
const LOOKS_PER_LIFETIME = 4;

/** Downloads of `current` that ended early or held no text, one after the other, and gave no new line. */
interface FruitlessDownloads {
  readonly count: number;
  /** The newest rotated file that was listed: behind another one, `current` is another file. */
  readonly newestStamp: string | undefined;
  /** Monotonic time before which there is no other one. Milliseconds. */
  readonly notBeforeMs: number;
}

/** State of a log that is kept from one run to the next, and is learnt again after a restart. */
export class LogMemory {
  /** Entity tag of `current` as it was read last. */
  etag: string | undefined;
  /** Place in `current` up to which it was read then. Where the log stands elsewhere, as after a store went back, the tag does not count. */
  etagOff: number | undefined;
  /** Stamps of the rotated files that were listed then: behind another one, `current` has changed whatever its tag says. */
  etagListed: ReadonlySet<string> = new Set();
  /** Time of the last reading to the end of the log, by the agent's wall clock. */
  lookedAtMs: number | undefined;
  /** The agent's wall clock minus its monotonic one, when the log was looked at last. Milliseconds. */
  wallOffsetMs: number | undefined;
  /** Since when the router answers that it is busy instead of giving a file of the log. Monotonic, milliseconds. */
  busySinceMs: number | undefined;
  fruitless: FruitlessDownloads | undefined;
  /** A short body without a time, which is read as a log if no other log has the same one at the next look. */
  text: SeenTexts['own'];
  readonly skew: SkewBounds = createSkewBounds();
  readonly retention = new Retention();

  /** Forgets when the log was looked at last, and what that said of the router's clock: lines that come may be older than it seems. */
  forgetLook(): void {
    this.lookedAtMs = undefined;
    Object.assign(this.skew, createSkewBounds());
  }
}

/** State of one router's logs that is kept between runs, in memory only. */
export class FollowMemory {
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
    const created = new LogMemory();
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

/** Numbers of a growth of a log: the looks from and to which it grew, monotonic, and its bytes. */
const GROWTH_NUMBERS = 3;
const [FROM, TO, BYTES] = [0, 1, 2] as const;

/** Growth further back than this says little about now. */
const WINDOW_MS = 60 * 60_000;
/** Looks within this time become one growth: a fleet has thousands of logs, and each is looked at twice a minute. */
const GROWTH_MS = WINDOW_MS / 12;
/** Growth over less than this is a burst and no rate. */
const SPAN_MS_MIN = 10_000;
/** Assumed size of a rotated file before one was read: the log daemon's usual limit. Bytes. */
const FILE_BYTES = 1024 * 1024;
/** Assumed number of rotated files before one was listed: the log daemon's usual limit. */
const FILES = 5;

/**
 * Measures the growth of a log, and computes for how long a line stays on the router. By a monotonic clock: once the wall clock was
 * set ahead, a log would seem to grow slowly for an hour.
 */
export class Retention {
  /** The numbers of all growths, one after the other: as objects, those of an hour took three times as much memory. */
  #growths: number[] = [];
  #lookedAtMs: number | undefined;
  #fileBytes: number | undefined;
  #filesMax: number | undefined;

  /** A rotated file was read whole. */
  noteFile(bytes: number): void {
    this.#fileBytes = this.#fileBytes === undefined ? bytes : Math.round((this.#fileBytes * 3 + bytes) / 4);
  }

  /** The router lists so many rotated files. */
  noteListed(files: number): void {
    if (files > 0) this.#filesMax = Math.max(this.#filesMax ?? 0, files);
  }

  /** The log was read to its end, and so many bytes were new that this program has not caused. */
  noteLook(nowMs: number, bytes: number): void {
    const fromMs = this.#lookedAtMs;
    this.#lookedAtMs = nowMs;
    // The first look says how much there is, not how fast it grows.
    if (fromMs === undefined || nowMs <= fromMs) return;
    const last = this.#growths.length - GROWTH_NUMBERS;
    if (last >= 0 && nowMs - this.#read(last + FROM) <= GROWTH_MS) {
      this.#growths[last + TO] = nowMs;
      this.#growths[last + BYTES] = this.#read(last + BYTES) + bytes;
      return;
    }
    let recent = 0;
    while (recent <= last && nowMs - this.#read(recent + TO) >= WINDOW_MS) recent += GROWTH_NUMBERS;
    // Not pushed: that leaves room for sixteen more.
    this.#growths = this.#growths.slice(recent).concat([fromMs, nowMs, bytes]);
  }

  /** Time from the writing of a line to its deletion by the router, at the present growth. Milliseconds. */
  get lifetimeMs(): number | undefined {
    const last = this.#growths.length - GROWTH_NUMBERS;
    if (last < 0) return undefined;
    const spanMs = this.#read(last + TO) - this.#read(FROM);
    if (spanMs < SPAN_MS_MIN) return undefined;
    let bytes = 0;
    for (let growth = 0; growth <= last; growth += GROWTH_NUMBERS) bytes += this.#read(growth + BYTES);
    if (bytes === 0) return undefined;
    const kept = ((this.#filesMax ?? FILES) + 1) * (this.#fileBytes ?? FILE_BYTES);
    return (kept / bytes) * spanMs;
  }

  /** Returns the time until the router deletes lines written since the last check. Milliseconds. */
  msToLoss(nowMs: number): number | undefined {
    const { lifetimeMs } = this;
    if (lifetimeMs === undefined || this.#lookedAtMs === undefined) return undefined;
    return Math.max(0, lifetimeMs - (nowMs - this.#lookedAtMs));
  }

  #read(place: number): number {
    return this.#growths[place] ?? Number.NaN;
  }
}
