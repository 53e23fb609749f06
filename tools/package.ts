/**
 * Makes the npm package: `npm run package` writes router-exporter-VERSION.tgz into the current folder and prints its name.
 *
 * `npm pack` alone would also publish what only a checkout needs: its scripts, its development dependencies and `private`.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Keys of package.json that mean something in a checkout only. */
const OF_CHECKOUT = ['private', 'scripts', 'devDependencies', 'overrides'] as const;

interface Lock {
  readonly version: string;
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>;
}
/** The lock file of the checkout. */
export const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock;

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

/** Lists the packages that declarations below `folder` name. All that the program itself uses of others is in the bundle. */
function listTypePackages(folder: string): ReadonlySet<string> {
  const texts = globSync(join(folder, '**/*.d.ts')).map((file) => readFileSync(file, 'utf8'));
  const named = texts.flatMap((text) => [...text.matchAll(/(?:from |import\()['"]((?:@[^/'"]+\/)?[^./'"][^/'"]*)/g)]);
  return new Set(named.map(([, name = '']) => name));
}

/** Bundles, and lays out the content of the npm package in `folder`, which is created. */
export function stagePackage(folder: string): void {
  run(process.execPath, ['tools/build.ts']);
  mkdirSync(folder, { recursive: true });
  const tarball = join(folder, pack('.', folder));
  run('tar', ['-xzf', tarball, '--strip-components=1', '-C', folder]);
  rmSync(tarball);
  const file = join(folder, 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  for (const key of OF_CHECKOUT) delete manifest[key];
  const named = listTypePackages(join(folder, 'dist/types'));
  const used = Object.entries(manifest['dependencies'] as object).filter(([name]) => named.has(name));
  manifest['dependencies'] = Object.fromEntries(used);
  Object.assign(manifest, describeSource());
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

/**
 * Returns what `--version` shows: revision and date of the commit, or what REVISION and SOURCE_DATE_EPOCH say. What is unknown
 * is left out.
 */
function describeSource(): { readonly revision?: string; readonly date?: string } {
  const ask = (...args: readonly string[]) => {
    const { status, stdout } = spawnSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return status === 0 ? stdout.trim() : '';
  };
  const { REVISION = '', SOURCE_DATE_EPOCH: seconds = ask('log', '-1', '--format=%ct') } = process.env;
  const revision = /^(unknown)?$/.test(REVISION)
    ? ask('describe', '--always', '--dirty', '--abbrev=40', '--exclude=*')
    : REVISION;
  return {
    ...(revision !== '' && { revision }),
    ...(seconds !== '' && { date: new Date(Number(seconds) * 1000).toISOString().slice(0, 10) }),
  };
}

/** Installs the run-time dependencies of the lock file into `folder`, which is created: package.json and node_modules. */
export function installDependencies(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) cpSync(name, join(folder, name));
  run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--prefer-offline', '--loglevel=error'], folder);
}

/**
 * Returns the folder of the Node.js of the lock file, for this or another architecture. The latter is fetched into `work`, and
 * checked against the lock file.
 */
export function fetchRuntime(architecture: 'x64' | 'arm64', work: string): string {
  const name = `node-linux-${architecture}`;
  if (architecture === process.arch) return join('node_modules', name);
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {};
  const options = ['--json', '--prefer-offline', '--loglevel=error', `--pack-destination=${work}`];
  const [packed] = JSON.parse(run('npm', ['pack', `${name}@${version}`, ...options])) as {
    filename: string;
    integrity: string;
  }[];
  if (packed === undefined || packed.integrity !== integrity) {
    throw new RangeError(`${name} ${version} is not what package-lock.json has`);
  }
  const folder = join(work, name);
  mkdirSync(folder);
  run('tar', ['-xzf', join(work, packed.filename), '--strip-components=1', '-C', folder]);
  return folder;
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
