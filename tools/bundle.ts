/**
 * Bundles the program with everything that it uses of other packages: Node.js loads a few large modules in half of the time that it takes
 * for a thousand small ones, and they take 60 MiB less of memory.
 */
import { cpSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin, type RolldownOutput } from 'rolldown';

const SOURCES = fileURLToPath(new URL('../src/', import.meta.url));
/** Files that threads start with. Each finds its own beside the bundle. */
const THREADS = [
  'settings/source/yaml-worker.ts',
  'logs/archive/archive-worker.ts',
  'web/server/bcrypt-worker.ts',
  'simulator/archives/encoder.worker.ts',
];

/** Nothing here offers or asks for HTTP/2, and loading it takes 5.6 MiB of memory. This is what its users look at all the same. */
const withoutHttp2: Plugin = {
  name: 'without-http2',
  resolveId: { filter: { id: /^(node:)?http2$/ }, handler: () => '\0http2' },
  load: {
    filter: { id: /^\0http2$/ },
    handler: () => 'export class Http2ServerRequest {}\nexport const constants = {};\n',
  },
};

/** Writes what is not of Latin-1 as escapes: V8 keeps a module with one such character in two bytes for each, from its source on. */
const inOneByte: Plugin = {
  name: 'in-one-byte',
  generateBundle(_options, files) {
    for (const file of Object.values(files)) {
      if (file.type === 'chunk') file.code = file.code.replaceAll(/[\u0100-\uffff]/g, toEscape);
    }
  },
};

function toEscape(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The files that threads start with, by their names in the bundle. */
export const THREAD_SOURCES: Readonly<Record<string, string>> = Object.fromEntries(
  THREADS.map((path) => [basename(path, '.ts'), join(SOURCES, path)]),
);

/** Bundles the program, the library, threads and `more` entries, by name, into `folder`, in whose parent package.json is expected. */
export async function bundle(folder: string, more: Readonly<Record<string, string>> = {}): Promise<RolldownOutput> {
  const output = await build({
    input: {
      main: join(SOURCES, 'main.ts'),
      index: join(SOURCES, 'index.ts'),
      simulator: join(SOURCES, 'simulator/index.ts'),
      ...THREAD_SOURCES,
      ...more,
    },
    platform: 'node',
    transform: { target: 'esnext' },
    plugins: [withoutHttp2, inOneByte],
    logLevel: 'warn',
    // Otherwise each module is named by its path from here, which may show folders of this machine.
    experimental: { attachDebugInfo: 'none' },
    output: { dir: folder, format: 'esm', comments: false },
  });
  // What the program reads at run time.
  cpSync(join(SOURCES, 'status/modules'), join(folder, 'modules'), { recursive: true });
  cpSync(join(SOURCES, 'web/assets'), join(folder, 'assets'), { recursive: true });
  cpSync(join(SOURCES, '../dashboards/json'), join(folder, 'dashboards'), { recursive: true });
  return output;
}
