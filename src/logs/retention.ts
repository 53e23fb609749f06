/** The growth of a log between two looks, by the agent's clock. */
interface Growth {
  readonly fromMs: number;
  readonly toMs: number;
  readonly bytes: number;
}

/** Growth further back than this says little about now. */
const WINDOW_MS = 60 * 60_000;
/** Looks within {@link WINDOW_MS} that are kept. */
const GROWTHS_MAX = 720;
/** Growth over less than this is a burst and no rate. */
const SPAN_MS_MIN = 10_000;
/** What a rotated file holds where none was read yet: the log daemon's usual limit. Bytes. */
const FILE_BYTES = 1024 * 1024;
/** Rotated files that are kept where none was listed yet: the log daemon's usual limit. */
const FILES = 5;

/** How fast a log grows, and how long a line therefore stays on the router. */
export class Retention {
  #growths: Growth[] = [];
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
    this.#growths.push({ fromMs, toMs: nowMs, bytes });
    this.#growths = this.#growths.filter(({ toMs }) => nowMs - toMs < WINDOW_MS).slice(-GROWTHS_MAX);
  }

  /** How long a line stays on the router from its writing to its deletion, at the present growth. Milliseconds. */
  get lifetimeMs(): number | undefined {
    const first = this.#growths[0];
    const last = this.#growths.at(-1);
    if (!first || !last || last.toMs - first.fromMs < SPAN_MS_MIN) return undefined;
    const bytes = this.#growths.reduce((sum, growth) => sum + growth.bytes, 0);
    if (bytes === 0) return undefined;
    const kept = ((this.#filesMax ?? FILES) + 1) * (this.#fileBytes ?? FILE_BYTES);
    return (kept / bytes) * (last.toMs - first.fromMs);
  }

  /** How long it takes until the router deletes what was written since the last look. Milliseconds. */
  msToLoss(nowMs: number): number | undefined {
    const { lifetimeMs } = this;
    if (lifetimeMs === undefined || this.#lookedAtMs === undefined) return undefined;
    return Math.max(0, lifetimeMs - (nowMs - this.#lookedAtMs));
  }
}
