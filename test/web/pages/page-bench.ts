import type { PollStep } from '../../../src/model/index.ts';
import type { ListedRouter, RouterSummary, WebContent } from '../../../src/web/index.ts';
import { ask, ROUTER } from '../bench.ts';

/** What a router, a sink or a file could hold to become part of a page. */
export const EVIL = `"><script>alert('1')</script>&amp;\u202e\u0007`;

/** Routers `r-0001`, `r-0002`, …, each with what `change` says. */
export function createRouters(count: number, change: (index: number) => Partial<ListedRouter> = () => ({})) {
  return Array.from(
    { length: count },
    (_, index): ListedRouter => ({
      ...ROUTER,
      availability: '',
      name: `r-${String(index + 1).padStart(4, '0')}`,
      ...change(index),
    }),
  );
}

export function createDown(step: PollStep, error: string, reason = 'auth'): Partial<RouterSummary> {
  const resource = step === 'http' || step === 'parse' ? 'lte2' : null;
  return {
    state: 'down',
    failure: { reason: step === 'auth' ? reason : step, step, error },
    fault: { step, resource, error },
    consecutiveFailures: 3,
  };
}

/** The page at `path`, as one text. */
export async function read(path: string, content: Partial<WebContent> = {}): Promise<string> {
  return (await ask(path, { content })).text;
}

/** The texts of the cells of all rows of the first table, without tags. */
export function readRows(page: string): string[][] {
  const all = /<tbody[^>]*>(.*?)<\/tbody>/s.exec(page)?.[1] ?? '';
  // What is behind a name, and drawings.
  const body = all.replaceAll(/<details.*?<\/details>|<svg.*?<\/svg>/gs, '');
  return [...body.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => cell.replaceAll(/<[^>]*>/g, '')),
  );
}

/** The first cells of those rows. */
export function readNames(page: string): (string | undefined)[] {
  return readRows(page).map(([name]) => name);
}

export function readCaption(page: string): string | undefined {
  return /<caption>(.*?)<\/caption>/s.exec(page)?.[1];
}
