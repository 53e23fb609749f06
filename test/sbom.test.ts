import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createSbom, findUnknownLicences, LICENCES, renderLicences, type Sbom } from '../tools/sbom.ts';
import { sampled, sampleNote } from './support/sampled.ts';

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly version: string; readonly dev?: boolean; readonly link?: boolean }>
  >;
}

/** A document with one dependency of this licence. */
function sbomWith(...licenses: NonNullable<Sbom['components'][number]['licenses']>): Sbom {
  const component = { name: 'thing', version: '1.0.0' };
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    metadata: { component },
    components: [{ ...component, purl: '', licenses }],
  };
}

test.skipIf(sampled('list of dependencies', false, true))(
  `npm run sbom lists every run-time dependency of the lock file, with hash and known licence${sampleNote('list of dependencies')}`,
  { timeout: 5 * 60_000 },
  () => {
    const sbom = createSbom();
    const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as Lock;
    const expected = Object.entries(lock.packages).flatMap(([path, { version, dev, link }]) =>
      path.startsWith('node_modules/') && !dev && !link ? [`${path.replace(/^.*node_modules\//, '')} ${version}`] : [],
    );
    expect(expected.length).toBeGreaterThan(20);
    expect(sbom.components.map(({ name, version }) => `${name} ${version}`).toSorted()).toEqual(expected.toSorted());
    expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'router-exporter' } } });
    expect(sbom.components.filter(({ hashes, purl }) => !hashes?.length || !purl.startsWith('pkg:npm/'))).toEqual([]);
    expect(findUnknownLicences(sbom)).toEqual([]);
    expect(renderLicences(sbom)).toMatch(/^\| undici \| [\d.]+ \| MIT \|$/m);
  },
);

test.for([
  ['a licence that is not in the list', [{ license: { id: 'GPL-3.0-only' } }], ['thing 1.0.0: GPL-3.0-only']],
  ['no licence', [], ['thing 1.0.0: no licence']],
  ['an expression with an unknown part', [{ expression: '(MIT AND SSPL-1.0)' }], ['thing 1.0.0: (MIT AND SSPL-1.0)']],
  ['a known licence', [{ license: { id: LICENCES[0] ?? '' } }], []],
  ['an expression of known ones', [{ expression: '(Apache-2.0 AND BSD-3-Clause)' }], []],
] as const)('npm run licences judges %s', ([, licenses, unknown]) => {
  expect(findUnknownLicences(sbomWith(...licenses))).toEqual(unknown);
});
