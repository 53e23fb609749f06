import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'rolldown';

const SOURCES = new URL('../../src/', import.meta.url);
/** Files that threads start with. */
const THREADS = [
  'settings/source/yaml-worker.ts',
  'logs/archive/archive-worker.ts',
  'web/bcrypt-worker.ts',
  'simulator/bzip2/encoder.worker.ts',
];
/** Programs of the tests that start often, or kill themselves before Node.js keeps what it has compiled of them. */
const CHILDREN = ['killed-workers.child.ts', 'killed-agent.child.ts'];

/** The program, its threads and programs of the tests, in a few large modules. */
export interface BundledProgram {
  /** File to start. */
  readonly main: string;
  /** Addresses of the files that threads start with, by those of their sources. */
  readonly threads: Readonly<Record<string, string>>;
  /** Programs of the tests, by the files of their sources. */
  readonly children: Readonly<Record<string, string>>;
}

/**
 * Bundles the program, its threads, programs of the tests and their dependencies into `folder`. Node.js loads a few large modules in half of the time
 * that it takes for the 900 small ones of a checkout; a thread starts in a third.
 */
export async function bundleProgram(folder: string): Promise<BundledProgram> {
  const entries = THREADS.map((path) => ({ name: basename(path, '.ts'), source: new URL(path, SOURCES).href }));
  const children = CHILDREN.map((path) => ({
    name: basename(path, '.ts'),
    source: fileURLToPath(new URL(path, import.meta.url)),
  }));
  const toBundled = (name: string) => pathToFileURL(join(folder, `${name}.js`)).href;
  /** Every module keeps its own address, beside which lie the files that it reads; threads start from the bundle. */
  const keepAddresses: Plugin = {
    name: 'keep-addresses',
    load: {
      filter: { id: /\/src\/[^?]*\.ts$/ },
      handler: (id) => {
        let code = readFileSync(id, 'utf8').replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href));
        for (const { name } of entries) code = code.replaceAll(`'./${name}.ts'`, JSON.stringify(toBundled(name)));
        return { code, moduleType: 'ts' };
      },
    },
  };
  const input = {
    main: fileURLToPath(new URL('main.ts', SOURCES)),
    ...Object.fromEntries(entries.map(({ name, source }) => [name, fileURLToPath(source)])),
    ...Object.fromEntries(children.map(({ name, source }) => [name, source])),
  };
  await build({ input, platform: 'node', plugins: [keepAddresses], output: { dir: folder, format: 'esm' } });
  return {
    main: join(folder, 'main.js'),
    threads: Object.fromEntries(entries.map(({ name, source }) => [source, toBundled(name)])),
    children: Object.fromEntries(children.map(({ name, source }) => [source, join(folder, `${name}.js`)])),
  };
}
