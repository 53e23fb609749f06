/**
 * What the program consists of: `npm run sbom` prints the run-time dependencies as CycloneDX, `npm run licences` their
 * licences as a table. Both fail at a licence that {@link LICENCES} does not know.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installDependencies, run } from './package.ts';

/** Licences that may be part of the program; all permit to pass it on with a notice. */
export const LICENCES: readonly string[] = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'Unlicense',
];

/** The parts of a CycloneDX document that are used here. */
export interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly licenses?: readonly { readonly license?: { readonly id?: string }; readonly expression?: string }[];
    readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  }[];
}

/** Describes the run-time dependencies of the lock file. */
export function createSbom(): Sbom {
  const top = mkdtempSync(join(tmpdir(), 'router-exporter-sbom-'));
  // npm takes the name of the folder.
  const folder = join(top, 'router-exporter');
  try {
    installDependencies(folder);
    // npm would leave out what serves the program and its development.
    run('npm', ['pkg', 'delete', 'devDependencies', 'private'], folder);
    return JSON.parse(run('npm', ['sbom', '--sbom-format=cyclonedx'], folder)) as Sbom;
  } finally {
    rmSync(top, { recursive: true, force: true });
  }
}

/** Returns the licence of a dependency as an SPDX expression; empty if it states none. */
function readLicence({ licenses = [] }: Sbom['components'][number]): string {
  return licenses.map(({ license, expression }) => license?.id ?? expression ?? '').join(' AND ');
}

/** Returns the dependencies whose licence is missing or has a part that is not in {@link LICENCES}. */
export function findUnknownLicences(sbom: Sbom): readonly string[] {
  return sbom.components.flatMap((component) => {
    const licence = readLicence(component);
    const parts = licence.replaceAll(/[()]/g, '').split(/ AND | OR /);
    if (parts.every((part) => LICENCES.includes(part))) return [];
    return [`${component.name} ${component.version}: ${licence || 'no licence'}`];
  });
}

/** Renders the licences as a table in Markdown. */
export function renderLicences(sbom: Sbom): string {
  const rows = sbom.components.map((one) => `| ${one.name} | ${one.version} | ${readLicence(one)} |\n`);
  return `| Package | Version | Licence |\n|---|---|---|\n${rows.join('')}`;
}

if (import.meta.main) {
  const sbom = createSbom();
  const unknown = findUnknownLicences(sbom);
  process.stdout.write(
    process.argv.includes('--licences') ? renderLicences(sbom) : `${JSON.stringify(sbom, null, 2)}\n`,
  );
  if (unknown.length > 0) {
    process.stderr.write(`Not in the list of tools/sbom.ts:\n${unknown.join('\n')}\n`);
    process.exitCode = 1;
  }
}
