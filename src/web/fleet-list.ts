import { Steps } from '../base/index.ts';
import type { RouterSummary } from './api/routers.ts';
import type { WebContent } from './content.ts';

/** Describes all routers sorted by name, so that an answer changes only when its content does. Takes breaks. */
export async function listByName(content: Pick<WebContent, 'listRouters'>): Promise<readonly RouterSummary[]> {
  const steps = new Steps();
  const routers: RouterSummary[] = [];
  for (const router of content.listRouters()) {
    routers.push(withoutCredentials(router));
    if (steps.isDue) await steps.next();
  }
  return routers.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Renders one value for each item as a JSON array. Takes breaks: it may have megabytes. */
export async function renderList<Item>(items: Iterable<Item>, toValue: (item: Item) => unknown): Promise<string> {
  const steps = new Steps();
  const pieces: string[] = [];
  for (const item of items) {
    pieces.push(JSON.stringify(toValue(item)));
    if (steps.isDue) await steps.next();
  }
  return `[${pieces.join(',')}]`;
}

/** Removes credentials from the router's URL. The configuration already rejects them; this is the safety net. */
export function withoutCredentials<T extends RouterSummary>(router: T): T {
  if (!router.url.includes('@')) return router;
  const url = URL.parse(router.url);
  if (!url) return { ...router, url: '' };
  url.username = '';
  url.password = '';
  return { ...router, url: url.href };
}
