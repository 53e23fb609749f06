import { readFileSync } from 'node:fs';

/** Reads the version from package.json, two folders above this file both in a checkout and in an installed package. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const version: unknown = typeof manifest === 'object' && manifest !== null ? Reflect.get(manifest, 'version') : '';
  return typeof version === 'string' ? version : 'unknown';
}
