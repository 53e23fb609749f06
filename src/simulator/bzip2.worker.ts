/**
 * Compresses one buffer per message with libbz2. Runs in a worker thread not only for the time it takes: the library's
 * loader installs handlers for uncaught exceptions on whatever process object it finds.
 */
import { parentPort } from 'node:worker_threads';
import load from 'libbzip2-wasm';

/** The compression program's default, and what the device uses: blocks of 900 kB. */
const BLOCK_SIZE_100K = 9;
const WORK_FACTOR_DEFAULT = 0;

type Library = Omit<ReturnType<typeof load>, 'then'>;

const loading = new Promise<Library>((resolve) => load().then?.((library) => resolve(withoutThen(library))));

parentPort?.on('message', (input: Uint8Array) => void answer(input));

async function answer(input: Uint8Array): Promise<void> {
  const library = await loading;
  const { output, error } = library.compressBZ2(input, BLOCK_SIZE_100K, WORK_FACTOR_DEFAULT);
  // The output is a view of the library's whole memory, so it is copied out before it is sent.
  const copy = Uint8Array.from(output);
  parentPort?.postMessage(error === 0 ? { output: copy } : { error }, [copy.buffer]);
}

/** The library passes for a promise that never ends; this is what makes it safe to resolve with. */
function withoutThen(library: ReturnType<typeof load>): Library {
  delete library.then;
  return library;
}
