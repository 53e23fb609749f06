import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Mutex } from '../../base/index.ts';
import { SimulatorError } from '../simulator-error.ts';

/** Creates bzip2 files, one at a time, in a worker thread that is started for the first file. */
export class ArchiveCompressor {
  readonly #mutex = new Mutex();
  readonly #closed = new AbortController();
  #worker: Worker | undefined;

  /** Compresses `bytes`. Rejects with {@link SimulatorError} `compression-failed`, also if closed in the meantime. */
  compress(bytes: Buffer): Promise<Buffer> {
    return this.#mutex.run(async () => {
      try {
        return await this.#exchange(bytes);
      } catch (cause) {
        await this.#endWorker();
        throw new SimulatorError('compression-failed', 'A rotated log file could not be compressed', { cause });
      }
    });
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#endWorker();
  }

  async #exchange(bytes: Buffer): Promise<Buffer> {
    this.#closed.signal.throwIfAborted();
    this.#worker ??= startWorker();
    const answered = once(this.#worker, 'message', { signal: this.#closed.signal });
    this.#worker.postMessage(bytes, []);
    const [output] = (await answered) as [Uint8Array<ArrayBuffer>];
    return Buffer.from(output.buffer);
  }

  async #endWorker(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}

function startWorker(): Worker {
  const source = new URL('./encoder.worker.ts', import.meta.url);
  // The build renames source files but does not look inside URLs.
  const url = import.meta.url.endsWith('.js') ? new URL(source.href.replace(/\.ts$/, '.js')) : source;
  const thread = new Worker(url);
  thread.unref();
  return thread;
}
