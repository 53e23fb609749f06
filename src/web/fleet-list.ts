import type { RouterSummary } from './api-types.ts';
import type { WebContent } from './content.ts';

/** Lists all routers sorted by name, so that a page changes only when its content does. */
export function listByName(content: WebContent): readonly RouterSummary[] {
  return content
    .listRouters()
    .map(withoutCredentials)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
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
