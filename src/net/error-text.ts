/** Maximum length of a quoted error text. Characters. */
const ERROR_TEXT_CHARS_MAX = 500;

/** Prepares the error text of another side for a message: truncated, on one line, without control characters. */
export function sanitizeErrorText(text: string): string {
  return (
    text
      // Runs of white space become one space, so read twice the bound.
      .slice(0, 2 * ERROR_TEXT_CHARS_MAX)
      // Control, format and private-use characters, lone surrogates and line separators.
      .replaceAll(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
      .trim()
      .slice(0, ERROR_TEXT_CHARS_MAX)
      .replace(/[\ud800-\udbff]$/, '')
  );
}
