import { html } from 'hono/html';

/** A piece of a page in which everything is escaped that was put into it. */
export type Html = ReturnType<typeof html>;

export { html };

/** Text from a router is cut to this many characters; the rest is in the log and in the JSON. */
const TEXT_CHARS_MAX = 400;
/** Control characters, and those that change the direction of what stands around them. */
const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/gu;

/** Text that somebody else wrote, as it may be shown: on one line, cut, and without what cannot be seen. */
export function toShown(text: string, charsMax = TEXT_CHARS_MAX): string {
  const cut = text.length > charsMax ? `${text.slice(0, charsMax)}…` : text;
  return cut.replaceAll(/\s+/g, ' ').replaceAll(UNSEEN, '\ufffd').toWellFormed();
}
