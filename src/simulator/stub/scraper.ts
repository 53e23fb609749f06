import type { Clock } from '../../base/index.ts';

/** Scrapes since the start. */
export interface ScrapeCounts {
  readonly scrapes: number;
  readonly failures: number;
  /** Duration of the longest one. Milliseconds. */
  readonly longestMs: number;
  /** Bytes of the last one, decompressed. */
  readonly bytes: number;
}

/** Scrapes a URL as a Prometheus does: at an interval, compressed, read to its end. */
export class Scraper {
  readonly #url: string;
  readonly #intervalMs: number;
  readonly #clock: Clock;
  #counts: ScrapeCounts = { scrapes: 0, failures: 0, longestMs: 0, bytes: 0 };

  constructor(url: string, intervalMs: number, clock: Clock) {
    this.#url = url;
    this.#intervalMs = intervalMs;
    this.#clock = clock;
  }

  get counts(): ScrapeCounts {
    return this.#counts;
  }

  /** Scrapes until `signal` is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startedMs = this.#clock.monotonic();
      try {
        const { body } = await fetch(this.#url, { signal });
        let bytes = 0;
        for await (const chunk of body ?? []) bytes += chunk.length;
        const tookMs = this.#clock.monotonic() - startedMs;
        const { scrapes, longestMs } = this.#counts;
        this.#counts = { ...this.#counts, scrapes: scrapes + 1, longestMs: Math.max(longestMs, tookMs), bytes };
      } catch {
        this.#counts = { ...this.#counts, failures: this.#counts.failures + 1 };
      }
      const leftMs = this.#intervalMs - (this.#clock.monotonic() - startedMs);
      await this.#clock.sleep(Math.max(0, leftMs), signal).catch(() => {});
    }
  }
}

/** Reads a text from a URL of this machine. */
export async function readUrl(url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { signal });
  return response.text();
}
