import { readFileSync } from 'node:fs';

let known: string | undefined;

/** Reads the version from package.json, two folders above this file both in a checkout and in an installed package. */
export function readVersion(): string {
  if (known !== undefined) return known;
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const version: unknown = typeof manifest === 'object' && manifest !== null ? Reflect.get(manifest, 'version') : '';
  known = typeof version === 'string' ? version : 'unknown';
  return known;
}
