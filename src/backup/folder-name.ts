import { createHash } from 'node:crypto';

/** Letters, digits, underscore and dash: nothing that a file system takes for more than a letter. */
const UNSAFE = /[^A-Za-z0-9_-]+/g;
/** Of a name, how much is shown in the name of its folder. */
const SHOWN_LENGTH_MAX = 40;
/** Of the checksum, in hexadecimal digits: 64 bits, so that nobody finds a second name for a folder by trying. */
const HASH_LENGTH = 16;
/** Names that can be folders as they are. A leading dot would hide them. */
const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;

/**
 * The folder for any name at all: what is harmless of it, for people, and a checksum of the whole, for uniqueness, also
 * where letters of both cases are one. It never leads anywhere, is never a reserved name and is at most 57 characters long.
 */
export function toFolderName(name: string): string {
  const shown = name.replaceAll(UNSAFE, '_').slice(0, SHOWN_LENGTH_MAX);
  // As JSON, because halves of characters that stand alone are all the same in UTF-8.
  const hash = createHash('sha256').update(JSON.stringify(name)).digest('hex').slice(0, HASH_LENGTH);
  return `${shown || '_'}-${hash}`;
}

/** The folder for a configured name, which is harmless as it is; what is not gets the folder of any other name. */
export function toRouterFolderName(router: string): string {
  return PLAIN.test(router) ? router : toFolderName(router);
}
