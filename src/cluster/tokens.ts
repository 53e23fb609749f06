const PLAIN = /^[A-Za-z0-9_-]$/;
const TOKEN = /^(?:[A-Za-z0-9_-]|=[0-9A-F]{2})+$/;

/**
 * Writes a name as one token of a subject and of a key, one to one: letters, digits, `_` and `-` stay, any other byte of
 * its UTF-8 becomes `=` and two hexadecimal digits.
 */
export function toToken(name: string): string {
  let token = '';
  for (const byte of Buffer.from(name)) {
    const sign = String.fromCharCode(byte);
    token += PLAIN.test(sign) ? sign : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return token;
}

/** Returns the name of a token; `undefined` if {@link toToken} makes no such token. */
export function parseToken(token: string): string | undefined {
  if (!TOKEN.test(token)) return undefined;
  const name = Buffer.from(
    token.replaceAll(/=([0-9A-F]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    'latin1',
  ).toString();
  return toToken(name) === token ? name : undefined;
}
