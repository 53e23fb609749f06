import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Mutex } from '../../base/index.ts';
import { SimulatorError } from '../simulator-error.ts';
import { encodeBzip2 } from './encode.ts';

/** Compressing this much takes a few milliseconds, less than the start of a thread. Bytes. */
const AT_ONCE_BYTES_MAX = 32 * 1024;

/** Creates bzip2 files, one at a time; long ones in a worker thread that is started for the first of them. */
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
    if (bytes.length <= AT_ONCE_BYTES_MAX) return Buffer.from(encodeBzip2(bytes));
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
