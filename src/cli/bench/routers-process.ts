import { type Clock, createSystemClock, openDeadline } from '../../base/index.ts';
import { type CommandIo, EXIT, type ExitCode } from '../support/io.ts';
import { OtherProcess, takeOrders } from '../support/other-process.ts';
import { type BenchManners, BenchRouters, type BenchRoutersOptions } from './routers.ts';

interface ScrapeCounts {
  readonly scrapes: number;
  readonly failures: number;
  readonly longestMs: number;
  /** Of the last scrape, decompressed. */
  readonly bytes: number;
}

/** Scrapes as Prometheus does: at an interval, compressed, to the end of the body. */
class Scraper {
  counts: ScrapeCounts = { scrapes: 0, failures: 0, longestMs: 0, bytes: 0 };

  /** Until `signal` is aborted. Never rejects. */
  async run(url: string, intervalMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startedMs = clock.monotonic();
      try {
        const { body } = await fetch(url, { signal });
        let bytes = 0;
        for await (const chunk of body ?? []) bytes += chunk.length;
        const { scrapes, longestMs, failures } = this.counts;
        const tookMs = clock.monotonic() - startedMs;
        this.counts = { scrapes: scrapes + 1, failures, longestMs: Math.max(longestMs, tookMs), bytes };
      } catch {
        this.counts = { ...this.counts, failures: this.counts.failures + 1 };
      }
      const leftMs = intervalMs - (clock.monotonic() - startedMs);
      await clock.sleep(Math.max(0, leftMs), signal).catch(() => {});
    }
  }
}

type Order =
  | { readonly type: 'start'; readonly options: BenchRoutersOptions }
  /** Requests since the last count, and all scrapes. */
  | { readonly type: 'count' }
  /** Replaces the scraped URL; `scrapers`: number of clients. */
  | { readonly type: 'scrape'; readonly url: string; readonly scrapers: number; readonly intervalMs: number }
  | { readonly type: 'change'; readonly manners: BenchManners }
  /** `leave` disconnects all routers; `return` reconnects them, their logs rotated so often. */
  | { readonly type: 'leave' }
  | { readonly type: 'return'; readonly rotations: number }
  | { readonly type: 'read'; readonly url: string };

type Report =
  /** Router `i` has the URL `https://127.0.0.1:<port>/r<i>`. */
  | { readonly type: 'started'; readonly port: number; readonly caPem: string }
  | {
      readonly type: 'counted';
      readonly requests: Readonly<Record<string, number>>;
      readonly scrapes: readonly ScrapeCounts[];
    }
  | { readonly type: 'scraping' | 'changed' | 'left' | 'returned' }
  | { readonly type: 'read'; readonly text: string };

export class RoutersClient extends OtherProcess<Order, Report> {
  constructor(program: string, clock: Clock) {
    super({ program, command: 'bench-routers', role: 'simulated routers', clock });
  }
}

/** Below the time limit of an answer. */
const READ_MS_MAX = 30_000;

/** `bench-routers`: the routers of `bench`; takes orders from its parent process. */
export async function runBenchRouters(io: CommandIo): Promise<ExitCode> {
  const clock = createSystemClock();
  const stop = new AbortController();
  let scraping = new AbortController();
  let scrapers: readonly Scraper[] = [];
  let routers: BenchRouters | undefined;
  const carryOut = async (order: Order): Promise<Report> => {
    switch (order.type) {
      case 'start': {
        routers = await BenchRouters.start(order.options, clock);
        return { type: 'started', port: routers.port, caPem: routers.caPem };
      }
      case 'count': {
        return { type: 'counted', requests: routers?.count() ?? {}, scrapes: scrapers.map(({ counts }) => counts) };
      }
      case 'scrape': {
        scraping.abort();
        scraping = new AbortController();
        scrapers = Array.from({ length: order.scrapers }, () => new Scraper());
        const signal = AbortSignal.any([stop.signal, scraping.signal]);
        for (const scraper of scrapers) void scraper.run(order.url, order.intervalMs, clock, signal);
        return { type: 'scraping' };
      }
      case 'change': {
        await routers?.change(order.manners);
        return { type: 'changed' };
      }
      case 'leave': {
        await routers?.leave();
        return { type: 'left' };
      }
      case 'return': {
        await routers?.comeBack(order.rotations);
        return { type: 'returned' };
      }
      case 'read': {
        using deadline = openDeadline(clock, READ_MS_MAX, stop.signal);
        const response = await fetch(order.url, { signal: deadline.signal });
        return { type: 'read', text: await response.text() };
      }
    }
  };
  if (!(await takeOrders(io, carryOut))) {
    io.stderr.write('bench-routers is a part of the command bench, which starts it\n');
    return EXIT.usage;
  }
  stop.abort();
  await routers?.[Symbol.asyncDispose]();
  return EXIT.done;
}
