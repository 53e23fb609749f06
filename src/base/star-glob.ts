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
