/**
 * Builds dist/, the program of the packages: the bundle, the declarations of the library, and the licences of what is in the bundle.
 * `npm run build` runs it.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bundle } from './bundle.ts';

const DECLARATIONS = 'dist/types';
/** A relative `.ts` path after `from` or in `import(…)` of a declaration, which the compiler leaves as it is. */
const RELATIVE_IMPORT = /((?:from |import\()(['"])\.\.?\/[^'"]*)\.ts\2/g;

rmSync('dist', { recursive: true, force: true });
const { output } = await bundle('dist');
const packages = new Set(
  output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : [])).flatMap((id) => findPackage(id) ?? []),
);
writeFileSync('dist/third-party.txt', [...packages].toSorted().map(renderLicence).join('\n'));
const { status } = spawnSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit' });
process.exitCode = status ?? 1;
keepReached();

/** Finds the folder of the package that a module is of, if it is not this one. */
function findPackage(id: string): string | undefined {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0];
}

/** Renders the licence of a package, which is passed on with the bundle. */
function renderLicence(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly [key: string]: string;
  };
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return `${name} ${version}, ${license}\n\n${texts.join('\n\n')}\n`;
}

/** Removes the declarations that those of the library do not lead to. */
function keepReached(): void {
  const reached = new Set<string>();
  const pending = ['index', 'simulator/index'].map((name) => join(DECLARATIONS, `${name}.d.ts`));
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    const text = readFileSync(file, 'utf8').replaceAll(RELATIVE_IMPORT, '$1.js$2');
    writeFileSync(file, text);
    for (const [, path = ''] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.js['"]/g)) {
      pending.push(join(dirname(file), `${path}.d.ts`));
    }
  }
  for (const file of globSync(`${DECLARATIONS}/**/*.d.ts`)) if (!reached.has(file)) rmSync(file);
}
