import type { RouterSummary } from './api-types.ts';
import type { WebContent } from './content.ts';

/** All routers in the order of their names, so that a page changes only when something in it does. */
export function listByName(content: WebContent): readonly RouterSummary[] {
  return content
    .listRouters()
    .map(withoutCredentials)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The router with an address that may be shown. The configuration refuses credentials there; this is the last net. */
export function withoutCredentials<T extends RouterSummary>(router: T): T {
  if (!router.url.includes('@')) return router;
  const url = URL.parse(router.url);
  if (!url) return { ...router, url: '' };
  url.username = '';
  url.password = '';
  return { ...router, url: url.href };
}
