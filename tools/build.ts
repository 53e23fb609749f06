/**
 * Builds dist/, the compiled program of the packages. `npm run build` runs it.
 *
 * The compiler changes `.ts` imports to `.js` in the code but not in the declarations, so this script does.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** A relative `.ts` path after `from` or in `import(…)` of a declaration. */
const RELATIVE_IMPORT = /((?:from |import\()(['"])\.\.?\/[^'"]*)\.ts\2/g;

rmSync('dist', { recursive: true, force: true });
const { status } = spawnSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit' });
process.exitCode = status ?? 1;
// Files that the program reads at run time.
cpSync('src/status/modules', 'dist/status/modules', { recursive: true });
for (const file of status === 0 ? globSync('dist/**/*.d.ts') : []) {
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(RELATIVE_IMPORT, '$1.js$2'));
}
