import { createHash } from 'node:crypto';

const HASH = /^\$6\$([^$]{1,16})\$[A-Za-z0-9+.]{86}$/;

/**
 * A password as the device exports it: in the outer form of SHA-512 crypt, 106 characters at most. The digest is a plain
 * salted one, because nothing here guards a secret and logins have to be cheap.
 */
export function renderPasswordHash(password: string, salt: string): string {
  if (HASH.test(password)) return password;
  const digest = createHash('sha512').update(`${salt}$${password}`).digest('base64');
  return `$6$${salt}$${digest.replaceAll('/', '.').slice(0, 86)}`;
}

/** Returns true if `given` is the password; a stored value may also be a hash that was exported before. */
export function isPassword(given: string, stored: string): boolean {
  const salt = HASH.exec(stored)?.[1];
  return salt === undefined ? given === stored : renderPasswordHash(given, salt) === stored && !HASH.test(given);
}
