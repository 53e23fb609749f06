import { cpSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundle, THREAD_SOURCES } from '../../tools/bundle.ts';

const MANIFEST = fileURLToPath(new URL('../../package.json', import.meta.url));
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

/** Bundles the program as it is packaged, with programs of the tests, into `folder`. A thread starts in a third of the time. */
export async function bundleProgram(folder: string): Promise<BundledProgram> {
  const children = CHILDREN.map((path) => ({
    name: basename(path, '.ts'),
    source: fileURLToPath(new URL(path, import.meta.url)),
  }));
  await bundle(folder, Object.fromEntries(children.map(({ name, source }) => [name, source])));
  cpSync(MANIFEST, join(dirname(folder), 'package.json'));
  const fileOf = (name: string) => join(folder, `${name}.js`);
  return {
    main: fileOf('main'),
    threads: Object.fromEntries(
      Object.entries(THREAD_SOURCES).map(([name, source]) => [
        pathToFileURL(source).href,
        pathToFileURL(fileOf(name)).href,
      ]),
    ),
    children: Object.fromEntries(children.map(({ name, source }) => [source, fileOf(name)])),
  };
}
