/**
 * Builds dist/, which is what the package ships. `npm run build` and `npm pack` run it.
 *
 * The compiler writes `.js` into the imports of the code and leaves `.ts` in those of the declarations, where the files
 * that they name are not shipped; so that is done here.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** What stands behind `from` or in `import(…)` of a declaration. */
const RELATIVE_IMPORT = /((?:from |import\()(['"])\.\.?\/[^'"]*)\.ts\2/g;

rmSync('dist', { recursive: true, force: true });
const { status } = spawnSync('tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit' });
process.exitCode = status ?? 1;
// What the program reads beside its code.
cpSync('src/status/modules', 'dist/status/modules', { recursive: true });
for (const file of status === 0 ? globSync('dist/**/*.d.ts') : []) {
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(RELATIVE_IMPORT, '$1.js$2'));
}
