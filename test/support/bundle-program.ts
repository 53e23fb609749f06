import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'rolldown';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Every module keeps its own address: beside it lie the files that it reads, and the threads that it starts. */
const keepAddresses: Plugin = {
  name: 'keep-addresses',
  load: {
    filter: { id: /\/src\/[^?]*\.ts$/ },
    handler: (id) => ({
      code: readFileSync(id, 'utf8').replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
      moduleType: 'ts',
    }),
  },
};

/**
 * Bundles the program and its dependencies into `folder`, and returns the file to start. Node.js loads a few large
 * modules in half of the time that it takes for the 900 small ones of a checkout.
 */
export async function bundleProgram(folder: string): Promise<string> {
  await build({ input: MAIN, platform: 'node', plugins: [keepAddresses], output: { dir: folder, format: 'esm' } });
  return join(folder, 'main.js');
}
