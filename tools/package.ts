/**
 * Makes the npm package: `npm run package` writes router-exporter-VERSION.tgz into the current folder and prints its name.
 *
 * `npm pack` alone would also publish what only a checkout needs: its scripts, its development dependencies and `private`.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Keys of package.json that mean something in a checkout only. */
const OF_CHECKOUT = ['private', 'scripts', 'devDependencies', 'overrides'] as const;

/** Runs a program and returns its output. Throws if it fails. */
export function run(program: string, args: readonly string[], cwd = '.'): string {
  const { status, stdout, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new RangeError(`${program} ${args.join(' ')} failed: ${error?.message ?? stdout}`);
  return stdout;
}

/** Packs a folder without running its scripts, and returns the name of the file in `target`. */
function pack(folder: string, target: string): string {
  const options = ['--ignore-scripts', '--loglevel=error', `--pack-destination=${target}`];
  return run('npm', ['pack', ...options], folder).trim();
}

/** Compiles, and lays out the content of the npm package in `folder`, which is created. */
export function stagePackage(folder: string): void {
  run(process.execPath, ['tools/build.ts']);
  mkdirSync(folder, { recursive: true });
  const tarball = join(folder, pack('.', folder));
  run('tar', ['-xzf', tarball, '--strip-components=1', '-C', folder]);
  rmSync(tarball);
  const file = join(folder, 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  for (const key of OF_CHECKOUT) delete manifest[key];
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

if (import.meta.main) {
  const folder = mkdtempSync(join(tmpdir(), 'router-exporter-package-'));
  try {
    stagePackage(folder);
    process.stdout.write(`${pack(folder, process.cwd())}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
