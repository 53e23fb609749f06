import { syncBuiltinESMExports } from 'node:module';
import threads, { type WorkerOptions } from 'node:worker_threads';

const BUNDLED = process.env['BUNDLED_THREADS'];

/** In a short run, threads of the tests start from a bundle, too: from hundreds of sources it takes three times as long. */
if (BUNDLED !== undefined && !('isFromBundle' in threads.Worker)) {
  const addresses: Readonly<Record<string, string>> = JSON.parse(BUNDLED);
  threads.Worker = class extends threads.Worker {
    static readonly isFromBundle = true;

    constructor(file: string | URL, options?: WorkerOptions) {
      const bundled = addresses[String(file)];
      super(bundled === undefined ? file : new URL(bundled), options);
    }
  };
  syncBuiltinESMExports();
}
