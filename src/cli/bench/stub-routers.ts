import { type Clock, createSystemClock, openDeadline, systemRandom } from '../../base/index.ts';
import {
  readUrl,
  type ScrapeCounts,
  Scraper,
  type StubCounts,
  type StubManners,
  type StubRouters,
  type StubRoutersOptions,
  startStubRouters,
} from '../../simulator/index.ts';
import { OtherProcess, takeOrders } from '../other-process.ts';
import { type CommandIo, EXIT, type ExitCode } from '../terminal/io.ts';

/** Orders to the process of the stub routers. */
export type Order =
  | { readonly type: 'start'; readonly options: Omit<StubRoutersOptions, 'clock' | 'random'> }
  /** Requests since the last time, and all scrapes. */
  | { readonly type: 'count' }
  /** Scrapes a URL from now on, by so many clients, and no other one. */
  | { readonly type: 'scrape'; readonly url: string; readonly scrapers: number; readonly intervalMs: number }
  /** Routers answer in another way from now on. */
  | { readonly type: 'change'; readonly manners: StubManners }
  /** All routers are gone from now on; with `rotations` they are back, their logs rotated so often. */
  | { readonly type: 'leave' }
  | { readonly type: 'return'; readonly rotations: number }
  /** Reads a text of this machine. */
  | { readonly type: 'read'; readonly url: string };

/** Its answer, one to each order and in their order. */
export type Report =
  | { readonly type: 'started'; readonly port: number; readonly caPem: string }
  | { readonly type: 'counted'; readonly counts: StubCounts; readonly scrapes: readonly ScrapeCounts[] }
  | { readonly type: 'scraping' }
  | { readonly type: 'changed' }
  | { readonly type: 'left' }
  | { readonly type: 'returned' }
  | { readonly type: 'read'; readonly text: string }
  | { readonly type: 'failed'; readonly error: string };

/** The process of the stub routers, seen from the one that measures. */
export class RoutersClient extends OtherProcess<Order, Report> {
  /** `program`: the main file of this program. */
  constructor(program: string, clock: Clock) {
    super({ program, command: 'bench-routers', role: 'stub routers', clock });
  }
}

/** Limit of reading a text, below that of an answer. Milliseconds. */
const READ_MS_MAX = 30_000;

/** `bench-routers`: the stub routers of `bench`, in a process of their own; takes orders from the process that started it. */
export async function runBenchRouters(io: CommandIo): Promise<ExitCode> {
  if (!process.send) {
    io.stderr.write('bench-routers is a part of the command bench, which starts it\n');
    return EXIT.usage;
  }
  const clock = createSystemClock();
  const stop = new AbortController();
  let scraping = new AbortController();
  let scrapers: readonly Scraper[] = [];
  let routers: StubRouters | undefined;
  const carryOut = async (order: Order): Promise<Report> => {
    switch (order.type) {
      case 'start': {
        routers = await startStubRouters({ ...order.options, clock, random: systemRandom });
        const { port, caPem } = routers;
        return { type: 'started', port, caPem };
      }
      case 'count': {
        const counts = routers?.count() ?? { requests: {}, bareRequests: 0 };
        return { type: 'counted', counts, scrapes: scrapers.map((scraper) => scraper.counts) };
      }
      case 'scrape': {
        scraping.abort();
        scraping = new AbortController();
        scrapers = Array.from({ length: order.scrapers }, () => new Scraper(order.url, order.intervalMs, clock));
        for (const scraper of scrapers) void scraper.run(AbortSignal.any([stop.signal, scraping.signal]));
        return { type: 'scraping' };
      }
      case 'change': {
        routers?.change(order.manners);
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
        return { type: 'read', text: await readUrl(order.url, deadline.signal) };
      }
    }
  };
  await takeOrders(io, carryOut);
  stop.abort();
  await routers?.[Symbol.asyncDispose]();
  return EXIT.done;
}
