import type { MaskBook } from './placeholders.ts';

/** As long as the shortest name that is looked for. */
const START_LENGTH = 4;
/** Names with the same start that are looked for: bounds the work of a router that sends thousands. */
const SAME_START_MAX = 256;

/** Names, numbers and secrets that fields have given away, to be found wherever else they stand. */
export class KnownNames {
  /** Lower-case names by their first characters, longest first. */
  readonly #byStart = new Map<string, readonly string[]>();

  constructor(names: Iterable<string>) {
    const groups = Map.groupBy(names, (name) => name.slice(0, START_LENGTH));
    for (const [start, group] of groups) {
      this.#byStart.set(start, group.toSorted((a, b) => b.length - a.length).slice(0, SAME_START_MAX));
    }
  }

  /** Replaces every known name that is no part of a longer word. */
  mask(text: string, book: MaskBook): string {
    if (this.#byStart.size === 0 || text.length < START_LENGTH) return text;
    const lower = text.toLowerCase();
    // A few letters have another length in lower case; then places would not agree.
    const searched = lower.length === text.length ? lower : text;
    let masked = '';
    let from = 0;
    for (const { index } of searched.matchAll(/(?<![\p{L}\p{N}])\S/gu)) {
      if (index < from) continue;
      const name = this.#findAt(searched, index);
      if (name === undefined) continue;
      masked += text.slice(from, index) + book.replace('text', text.slice(index, index + name.length));
      from = index + name.length;
    }
    return masked + text.slice(from);
  }

  #findAt(text: string, index: number): string | undefined {
    const group = this.#byStart.get(text.slice(index, index + START_LENGTH)) ?? [];
    return group.find((name) => text.startsWith(name, index) && !isWordAt(text, index + name.length));
  }
}

function isWordAt(text: string, index: number): boolean {
  return /^[\p{L}\p{N}]/u.test(text.slice(index, index + 2));
}
