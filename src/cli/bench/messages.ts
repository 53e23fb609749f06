import type { ScrapeCounts, StubCounts, StubManners, StubRoutersOptions } from '../../simulator/index.ts';

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
