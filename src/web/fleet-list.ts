import { Steps } from '../base/index.ts';
import type { RouterSummary } from './api/routers.ts';
import { answerText } from './cached-answer.ts';
import type { WebContent } from './content.ts';
import { sortPage } from './pages/sort-page.ts';
import type { WebContext } from './web-dependencies.ts';

/** Characters of a piece of a list. */
const PIECE_CHARS = 64 * 1024;

/** Describes all routers sorted by name, so that an answer changes only when its content does. Takes breaks. */
export async function listByName(content: Pick<WebContent, 'listRouters'>): Promise<readonly RouterSummary[]> {
  const steps = new Steps();
  const routers: RouterSummary[] = [];
  for (const router of content.listRouters()) {
    routers.push(withoutCredentials(router));
    if (steps.isDue) await steps.next();
  }
  return sortPage(routers, (a, b) => (a.name < b.name ? -1 : 1), 0, routers.length);
}

/**
 * Renders one value for each item as a JSON array, each on a line of its own. Takes breaks, and returns pieces: together they
 * may have megabytes.
 */
export async function renderList<Item>(
  items: Iterable<Item>,
  toValue: (item: Item) => unknown,
): Promise<readonly string[]> {
  const steps = new Steps();
  const pieces: string[] = [];
  let piece = '[\n';
  let separator = '';
  for (const item of items) {
    piece += separator + JSON.stringify(toValue(item));
    separator = ',\n';
    if (piece.length >= PIECE_CHARS) {
      pieces.push(piece);
      piece = '';
    }
    if (steps.isDue) await steps.next();
  }
  return [...pieces, `${piece}${separator === '' ? '' : '\n'}]`];
}

/**
 * Answers with a list under `key`, each row on a line of its own, as other processes of the fleet read it, and with other keys
 * behind it.
 */
export async function answerList<Row>(
  context: WebContext,
  key: string,
  rows: Iterable<Row>,
  more: object = {},
): Promise<Response> {
  const list = await renderList(rows, (row) => row);
  const end = JSON.stringify(more).slice(1);
  return answerText(context, 'application/json', [`{"${key}":`, ...list, `${end === '}' ? '' : ','}${end}\n`]);
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
