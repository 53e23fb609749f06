import { readFileSync } from 'node:fs';

/** The version in package.json, which lies two folders above this file in a checkout and in an installed package. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const version: unknown = typeof manifest === 'object' && manifest !== null ? Reflect.get(manifest, 'version') : '';
  return typeof version === 'string' ? version : 'unknown';
}
