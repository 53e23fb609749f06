/** Replaces control characters but tabs and, if `hasLines`, line feeds by `?`: words of others must not control a terminal. */
export function toPrintable(text: string, hasLines = false): string {
  return text.replaceAll(hasLines ? /[^\P{Cc}\t\n]/gu : /[^\P{Cc}\t]/gu, '?');
}

/** Escapes the control characters that JSON leaves as they are; terminals act on some of them. JSON stays the same value. */
export function escapeForTerminal(json: string): string {
  return json.replaceAll(/[\u007f-\u009f]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`);
}
