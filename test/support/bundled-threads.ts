import { syncBuiltinESMExports } from 'node:module';
import threads, { type WorkerOptions } from 'node:worker_threads';
import { expect } from 'vitest';

const BUNDLED = process.env['BUNDLED_THREADS'];
/** Files of tests whose threads start from their sources all the same. */
const FROM_SOURCES: readonly string[] = JSON.parse(process.env['THREADS_FROM_SOURCES'] ?? '[]');

/** Threads of the tests start from a bundle: from hundreds of sources it takes three times as long. */
if (BUNDLED !== undefined && !('isFromBundle' in threads.Worker)) {
  const addresses: Readonly<Record<string, string>> = JSON.parse(BUNDLED);
  threads.Worker = class extends threads.Worker {
    static readonly isFromBundle = true;

    constructor(file: string | URL, options?: WorkerOptions) {
      const { testPath = '' } = expect.getState();
      const bundled = FROM_SOURCES.some((path) => testPath.endsWith(path)) ? undefined : addresses[String(file)];
      super(bundled === undefined ? file : new URL(bundled), options);
    }
  };
  syncBuiltinESMExports();
}
