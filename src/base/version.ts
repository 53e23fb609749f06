import { readFileSync } from 'node:fs';

/** In a package it is above the bundle. */
const MANIFEST = new URL(import.meta.url.endsWith('.ts') ? '../../package.json' : '../package.json', import.meta.url);
let known: string | undefined;

/** Reads the version from package.json. */
export function readVersion(): string {
  if (known !== undefined) return known;
  const manifest: unknown = JSON.parse(readFileSync(MANIFEST, 'utf8'));
  const version: unknown = typeof manifest === 'object' && manifest !== null ? Reflect.get(manifest, 'version') : '';
  known = typeof version === 'string' ? version : 'unknown';
  return known;
}
