import type { WebContext, WebDependencies } from './web-dependencies.ts';

/**
 * Detects requests that a browser sends on behalf of a foreign page: it adds the user's credentials by itself, and reaches
 * networks that the page cannot. Programs send none of these headers and are let through.
 */
export function isCrossSite({ externalUrl }: Pick<WebDependencies, 'externalUrl'>, context: WebContext): boolean {
  const site = context.req.header('sec-fetch-site');
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  // Browsers send Sec-Fetch-Site only to trusted origins, which plain HTTP is not.
  const origin = context.req.header('origin') ?? context.req.header('referer');
  if (origin === undefined) return false;
  const host = URL.parse(origin)?.host;
  return host === undefined || (host !== context.req.header('host')?.toLowerCase() && host !== externalUrl?.host);
}

/**
 * Like {@link isCrossSite}, for a GET that costs something: a foreign page can have it sent without any of those headers,
 * as an image or by a script, over plain HTTP. Then only a browser that asks for a page is let through: somebody opened it.
 */
export function isCrossSiteGet(dependencies: Pick<WebDependencies, 'externalUrl'>, context: WebContext): boolean {
  if (isCrossSite(dependencies, context)) return true;
  const says = ['sec-fetch-site', 'origin', 'referer'].some((name) => context.req.header(name) !== undefined);
  const isBrowser = (context.req.header('user-agent') ?? '').startsWith('Mozilla/');
  return isBrowser && !says && !(context.req.header('accept') ?? '').includes('text/html');
}
