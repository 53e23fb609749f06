import type { LinkVerdict } from '../listing/link-rule.ts';
import type { SeenTexts } from '../reading/file-reading.ts';
import { type LineMatcher, RuleSeries } from '../rules/line-matcher.ts';
import { createSkewBounds, type SkewBounds } from '../time/log-clock.ts';

/** Runs within the lifetime of a line, so that one may fail or growth may speed up. */
const READS_PER_LIFETIME = 4;

interface UnproductiveDownloads {
  readonly count: number;
  /** The newest rotated file in the listing. After a rotation `current` is another file. */
  readonly newestStamp: string | undefined;
  /** No download before this monotonic time. Milliseconds. */
  readonly notBeforeMs: number;
}

/** State of one log that is kept between runs in memory and learnt again after a restart. */
export class LogMemory {
  etag: string | undefined;
  /** Offset of `current` at that read. If the position differs, as after a restore, the tag is ignored. */
  etagOff: number | undefined;
  /** Rotated files listed then. After another rotation `current` has changed, whatever its tag says. */
  etagListed: ReadonlySet<string> = new Set();
  /** Time of the last read to the end of the log, by the agent's wall clock. Milliseconds since the Unix epoch. */
  readToEndAtMs: number | undefined;
  /** The agent's wall clock minus its monotonic clock at the last run. Milliseconds. */
  wallOffsetMs: number | undefined;
  /** Monotonic time since which the router answers 429 or 503 for files of the log. Milliseconds. */
  busySinceMs: number | undefined;
  unproductive: UnproductiveDownloads | undefined;
  /** A short body without a time stamp. It is read as a log if no other log has the same body in the next run. */
  text: SeenTexts['own'];
  readonly skew: SkewBounds = createSkewBounds();
  readonly retention = new Retention();

  /** Resets the time of the last read and the skew learnt from it, because new lines may be older. */
  forgetRead(): void {
    this.readToEndAtMs = undefined;
    Object.assign(this.skew, createSkewBounds());
  }
}

/** State of one router's logs that is kept between runs, in memory only. */
export class FollowMemory {
  readonly #logs = new Map<string, LogMemory>();
  /** Logs that were reported and not forgotten, whether or not they were read. */
  readonly knownLogs = new Set<string>();
  /** Logs read since the last complete run. They wait until all others were read. */
  readonly served = new Set<string>();
  readonly broken = new Set<string>();
  #ruleSeries = new RuleSeries();
  #rules: string | undefined;
  /** Last reported verdict on how files follow each other. */
  links: LinkVerdict | undefined;
  /** True if a request for the local time failed once. Lines do not wait for it again. */
  hasWaitedForTime = false;
  /** Consecutive runs that ended because the serial number could not be read. */
  serialFailures = 0;
  /** Missing rotated files by log for which the device was already checked. */
  lacking: ReadonlySet<string> = new Set();
  /** True if new lines have another offset than the one in use. The router is then asked again. */
  isZoneUnconfirmed = false;

  forget(component: string): void {
    this.#logs.delete(component);
    this.knownLogs.delete(component);
    this.broken.delete(component);
    this.served.delete(component);
  }

  /** Returns the series of the log rules; resets them when the rules change. */
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

  textsOf(component: string): SeenTexts {
    const others = [...this.#logs].flatMap(([other, { text }]) => (other !== component && text ? [text] : []));
    return { own: this.of(component).text, others };
  }

  /** Returns the interval between two runs: a quarter of the shortest lifetime of a line, within the bounds. */
  computeIntervalMs(bounds: { readonly floorMs: number; readonly ceilingMs: number }): number {
    const dangers = [...this.#logs.values()].flatMap(({ retention }) => retention.lifetimeMs ?? []);
    const wantedMs = Math.min(bounds.ceilingMs, ...dangers.map((lifetimeMs) => lifetimeMs / READS_PER_LIFETIME));
    return Math.max(Math.min(bounds.floorMs, bounds.ceilingMs), Math.floor(wantedMs));
  }
}

/** Numbers per growth: start and end (monotonic), and bytes. */
const GROWTH_NUMBERS = 3;
const [FROM, TO, BYTES] = [0, 1, 2] as const;

/** Older growth is ignored. */
const WINDOW_MS = 60 * 60_000;
/** Reads within this time are merged into one growth, because a fleet has thousands of logs read twice a minute. */
const GROWTH_MS = WINDOW_MS / 12;
/** Growth over a shorter time is a burst and not a rate. */
const SPAN_MS_MIN = 10_000;
/** Assumed size of a rotated file until one was read: the default of the log daemon. Bytes. */
const FILE_BYTES = 1024 * 1024;
/** Assumed number of rotated files until some were listed: the default of the log daemon. */
const FILES = 5;

/** Measures the growth of a log, by the monotonic clock: a wall clock set ahead would show slow growth for an hour. */
export class Retention {
  /** All growths in one flat array, which takes a third of the memory of objects. */
  #growths: number[] = [];
  #readToEndAtMs: number | undefined;
  #fileBytes: number | undefined;
  #filesMax: number | undefined;

  recordFile(bytes: number): void {
    this.#fileBytes = this.#fileBytes === undefined ? bytes : Math.round((this.#fileBytes * 3 + bytes) / 4);
  }

  recordListed(files: number): void {
    if (files > 0) this.#filesMax = Math.max(this.#filesMax ?? 0, files);
  }

  /** Records a read to the end of the log with `bytes` of new lines not caused by this program. */
  recordRead(nowMs: number, bytes: number): void {
    const fromMs = this.#readToEndAtMs;
    this.#readToEndAtMs = nowMs;
    // The first read gives an amount and no rate.
    if (fromMs === undefined || nowMs <= fromMs) return;
    const last = this.#growths.length - GROWTH_NUMBERS;
    if (last >= 0 && nowMs - this.#read(last + FROM) <= GROWTH_MS) {
      this.#growths[last + TO] = nowMs;
      this.#growths[last + BYTES] = this.#read(last + BYTES) + bytes;
      return;
    }
    let recent = 0;
    while (recent <= last && nowMs - this.#read(recent + TO) >= WINDOW_MS) recent += GROWTH_NUMBERS;
    // `concat` instead of `push`, which would allocate room for 16 more.
    this.#growths = this.#growths.slice(recent).concat([fromMs, nowMs, bytes]);
  }

  /** Time from writing a line to its deletion at the current growth. Milliseconds. */
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

  /** Returns the time until the router deletes lines written since the last read. Milliseconds. */
  msToLoss(nowMs: number): number | undefined {
    const { lifetimeMs } = this;
    if (lifetimeMs === undefined || this.#readToEndAtMs === undefined) return undefined;
    return Math.max(0, lifetimeMs - (nowMs - this.#readToEndAtMs));
  }

  #read(place: number): number {
    return this.#growths[place] ?? Number.NaN;
  }
}
