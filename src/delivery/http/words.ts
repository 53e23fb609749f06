/** How much of what a sink says is repeated. Characters. */
const WORDS_MAX = 500;

/** What a sink said, to be repeated in a message: bounded, on one line, without control characters. */
export function toWords(text: string): string {
  return (
    text
      // Twice the bound is enough to look at: white space shrinks.
      .slice(0, 2 * WORDS_MAX)
      // Control, format and private characters, halves of pairs, and separators of lines.
      .replaceAll(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
      .trim()
      .slice(0, WORDS_MAX)
      .replace(/[\ud800-\udbff]$/, '')
  );
}
