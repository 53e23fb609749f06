import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { SAMPLES } from './support/sampled.ts';

const ROOT = join(import.meta.dirname, '..');
/** Of Debian's essential packages and of what README asks for; small-disk.ts tries whether it may mount. */
const ALWAYS_THERE =
  /^(ldd|sha256sum|bash|cp|env|find|mount|npm|nsenter|prlimit|rm|setpriv|sh|sleep|tar|umount|unshare|which)$/;

async function readSources(): Promise<Map<string, string>> {
  const files = await Array.fromAsync(glob('test/**/*.ts', { cwd: ROOT }));
  return new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
}

test('a short run leaves out nothing but what the list of samples names, which CONTRIBUTING points to', async () => {
  const sources = await readSources();
  sources.delete('test/support/sampled.ts');
  const [readers, named] = [[] as string[], new Set<string>()];
  for (const [file, source] of sources) {
    if (/process\.env(\.|\[')FULL\b/.test(source)) readers.push(file);
    if (/\bcountRuns\(/.test(source)) named.add('long properties');
    const samples = [...source.matchAll(/\bsampled\('([^']+)'/g)].flatMap(([, name = '']) => name);
    for (const name of samples) {
      named.add(name);
      // It says so for all of them, at the beginning of the run.
      if (file === 'test/support/prepare-run.ts') continue;
      expect(source, `${file} says in its titles what it leaves out`).toContain(`sampleNote('${name}')`);
    }
  }
  expect(readers).toEqual([]);
  expect([...named].toSorted()).toEqual(Object.keys(SAMPLES).toSorted());
  const contributing = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  expect(contributing).toContain('`test/support/sampled.ts`');
});

test('no module beside the test files registers hooks when it is imported: the next file in its process would be without', async () => {
  const sources = await readSources();
  const found = [...sources].filter(
    ([file, source]) => !file.endsWith('.test.ts') && /^(before|after)(All|Each)\(/m.test(source),
  );
  // It is a setup file, which runs for each file of tests.
  expect(found.map(([file]) => file)).toEqual(['test/support/leave-nothing.ts']);
});

test('no test replaces a module: Node.js imports them itself, and would go on with the real one', async () => {
  const found = [...(await readSources())].filter(([, source]) =>
    /\bvi\s*\.(mock|doMock|hoisted|importActual)\b/.test(source),
  );
  expect(found.map(([file]) => file)).toEqual([]);
});

test('a test starts no program that is missing on some Debian but through withPrograms(), which skips it by name there', async () => {
  const sources = await readSources();
  const found: string[] = [];
  for (const [file, source] of sources) {
    if (!file.endsWith('.test.ts')) continue;
    const imported = [...source.matchAll(/ from '(\.[^']+)'/g)].map(([, path = '']) => join(dirname(file), path));
    for (const text of [source, ...imported.map((path) => sources.get(path) ?? '')]) {
      for (const [, name = ''] of text.matchAll(/\b(?:startProgram|(?:spawn|execFile)(?:Sync)?)\(\s*'([^'/]+)'/g)) {
        const isNeeded = new RegExp(`(withPrograms\\(|,)\\s*\\[('[\\w-]+', )*'${name}'`).test(source);
        if (!isNeeded && !ALWAYS_THERE.test(name)) found.push(`${file}: ${name}`);
      }
    }
  }
  expect(found).toEqual([]);
});
