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
