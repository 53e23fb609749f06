import { readFileSync } from 'node:fs';

/** In the package, package.json is above the bundle. */
const MANIFEST = new URL(import.meta.url.endsWith('.ts') ? '../../package.json' : '../package.json', import.meta.url);

interface Manifest {
  readonly version: string;
  /** Of the commit that a package was made of, as far as they were known there. */
  readonly revision?: string;
  readonly date?: string;
}

let known: Manifest | undefined;

function readManifest(): Manifest {
  known ??= JSON.parse(readFileSync(MANIFEST, 'utf8')) as Manifest;
  return known;
}

/** Returns the commit that the package was made of; empty in a checkout, and where it was not known. */
export function readRevision(): string {
  return readManifest().revision ?? '';
}

/** Reads the version from package.json. */
export function readVersion(): string {
  return readManifest().version;
}

/** Renders the version, in a package with the revision and the date of its commit. */
export function describeVersion(): string {
  const { version, revision, date } = readManifest();
  const from = [...(revision === undefined ? [] : [`revision ${revision}`]), ...(date === undefined ? [] : [date])];
  return from.length === 0 ? version : `${version} (${from.join(', ')})`;
}
