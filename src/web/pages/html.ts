import { html } from 'hono/html';

/** A piece of a page. Inserted values are escaped. */
export type Html = ReturnType<typeof html>;

export { html };

/** Text from a router is truncated to this many characters; the full text is in the log and in the JSON. */
const TEXT_CHARS_MAX = 400;
/** Control characters, including those that change the text direction. */
const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/gu;

/** Makes foreign text safe to show: on one line, truncated, and without invisible characters. */
export function toShown(text: string, charsMax = TEXT_CHARS_MAX): string {
  const cut = text.length > charsMax ? `${text.slice(0, charsMax)}…` : text;
  return cut.replaceAll(/\s+/g, ' ').replaceAll(UNSEEN, '\ufffd').toWellFormed();
}

/** Writes the first letter large. */
export function toSentence(text: string): string {
  return text.replace(/^./u, (letter) => letter.toUpperCase());
}

/** Shortens a name in its middle, where names of a fleet differ least. Text of up to `charsMax` characters stays as it is. */
export function cutMiddle(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const tail = Math.floor((charsMax - 1) / 2);
  return `${text.slice(0, charsMax - 1 - tail)}…${text.slice(-tail)}`.toWellFormed();
}
