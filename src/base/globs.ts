import { matchesGlob } from 'node:path';

/** Anything but `*` and `?` that a glob can have. */
const SPECIAL = /[[\](){}\\/]/;

/** Returns true if globs select a name; a leading `!` excludes. */
export function isSelected(name: string, globs: readonly string[]): boolean {
  // The general way takes a time that grows with a power of the length: seconds for six stars and a name that a router made up.
  const isMatch = (glob: string) => (SPECIAL.test(glob) ? matchesGlob(name, glob) : matchesStars(name, glob));
  return (
    globs.some((glob) => !glob.startsWith('!') && isMatch(glob)) &&
    !globs.some((glob) => glob.startsWith('!') && isMatch(glob.slice(1)))
  );
}

/**
 * Returns true if a glob matches a whole text: `*` stands for any characters, none included, and `?` for one. Everything else
 * stands for itself. The time grows with the product of both lengths at most, for any glob.
 */
export function matchesStars(text: string, glob: string): boolean {
  let [at, next] = [0, 0];
  let star: { readonly next: number; at: number } | undefined;
  while (at < text.length) {
    const wanted = glob[next];
    if (wanted === '*') {
      star = { next: next + 1, at };
      next++;
    } else if (wanted !== undefined && (wanted === '?' || wanted === text[at])) {
      at++;
      next++;
    } else if (star) {
      // The last star takes one more character; earlier ones never need to.
      at = ++star.at;
      next = star.next;
    } else return false;
  }
  while (glob[next] === '*') next++;
  return next === glob.length;
}
