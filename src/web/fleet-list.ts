import { isPlainObject, Steps } from '../base/index.ts';
import type { RouterSummary } from './api/routers.ts';
import type { WebContent } from './content.ts';
import { sortPage } from './pages/sort-page.ts';

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
  let piece = '[';
  let separator = '\n';
  for (const item of items) {
    piece += separator + JSON.stringify(toValue(item));
    separator = ',\n';
    if (piece.length >= PIECE_CHARS) {
      pieces.push(piece);
      piece = '';
    }
    if (steps.isDue) await steps.next();
  }
  return [...pieces, `${piece}${separator === '\n' ? '' : '\n'}]`];
}

/** Characters that are parsed at once of a list of another process: a line, or a list in another form. */
const PARSED_CHARS_MAX = 256 * 1024;
/** Items of such a list: 10,000 routers have some logs each. */
const ITEMS_MAX = 200_000;

/**
 * Reads the items of the list `name` of an answer; `undefined` without a list. What {@link renderList} wrote is parsed line by
 * line, with breaks; anything else at once, if it is short. Throws `SyntaxError`.
 */
export async function parseList<T>(
  text: string,
  name: string,
  decode: (value: unknown) => T | undefined,
): Promise<readonly T[] | undefined> {
  const steps = new Steps();
  const items: T[] = [];
  const add = (value: unknown) => {
    const item = decode(value);
    if (item !== undefined) items.push(item);
  };
  const head = `{"${name}":[\n`;
  if (!text.startsWith(head)) {
    const answer: unknown = parseShort(text);
    const list = isPlainObject(answer) ? answer[name] : undefined;
    if (!Array.isArray(list)) return undefined;
    for (const value of list) add(value);
    return items;
  }
  for (let start = head.length; text[start] !== ']'; ) {
    const end = text.indexOf('\n', start);
    if (end === -1) throw new SyntaxError('The list has no end');
    if (items.length >= ITEMS_MAX) throw new SyntaxError(`The list has more than ${ITEMS_MAX} items`);
    add(parseShort(text.slice(start, text[end - 1] === ',' ? end - 1 : end)));
    start = end + 1;
    if (steps.isDue) await steps.next();
  }
  return items;
}

function parseShort(text: string): unknown {
  if (text.length > PARSED_CHARS_MAX) throw new SyntaxError('A line of the list is too long');
  return JSON.parse(text);
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
