import { createHash } from 'node:crypto';

/** Everything but letters, digits, underscore and dash, which no file system interprets. */
const UNSAFE = /[^A-Za-z0-9_-]+/g;
/** Number of characters of a name shown in its folder name. */
const SHOWN_LENGTH_MAX = 40;
/** Number of hexadecimal digits of the checksum: 64 bits, so that no second name for a folder can be found by trial. */
const HASH_LENGTH = 16;
/** Names that can be used as folder names unchanged. A leading dot would hide them. */
const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;

/**
 * Returns a folder name for any name: its harmless characters, for people, and a checksum of the whole name, for
 * uniqueness on case-insensitive file systems too. The result never leads to another folder, is never a reserved name
 * and has at most 57 characters.
 */
export function toFolderName(name: string): string {
  const shown = name.replaceAll(UNSAFE, '_').slice(0, SHOWN_LENGTH_MAX);
  // As JSON, because all lone surrogates have the same UTF-8 encoding.
  const hash = createHash('sha256').update(JSON.stringify(name)).digest('hex').slice(0, HASH_LENGTH);
  return `${shown || '_'}-${hash}`;
}

/** Returns the folder name for a configured name: unchanged if it is harmless, otherwise as for any other name. */
export function toRouterFolderName(router: string): string {
  return PLAIN.test(router) ? router : toFolderName(router);
}
