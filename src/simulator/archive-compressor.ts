import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Mutex } from '../base/index.ts';
import { SimulatorError } from './simulator-error.ts';

/**
 * The library never frees its input, so its worker is replaced after this many bytes. Bounds the memory of a simulator
 * that runs for days.
 */
const WORKER_INPUT_BYTES_MAX = 64 * 1024 * 1024;

type Answer = { readonly output: Uint8Array } | { readonly error: number };

/** Makes real bzip2 files, one at a time, in a worker thread that starts with the first of them. */
export class ArchiveCompressor {
  readonly #turn = new Mutex();
  readonly #closed = new AbortController();
  #worker: { readonly thread: Worker; inputBytes: number } | undefined;

  /** Compresses `bytes`. Rejects with {@link SimulatorError} `compression-failed`, also when closed meanwhile. */
  compress(bytes: Buffer): Promise<Buffer> {
    return this.#turn.run(async () => {
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
    if (this.#worker && this.#worker.inputBytes > WORKER_INPUT_BYTES_MAX) await this.#endWorker();
    this.#worker ??= { thread: startWorker(), inputBytes: 0 };
    this.#worker.inputBytes += bytes.length;
    const answered = once(this.#worker.thread, 'message', { signal: this.#closed.signal });
    this.#worker.thread.postMessage(bytes, []);
    const [answer] = (await answered) as [Answer];
    if ('output' in answer) return Buffer.from(answer.output.buffer);
    throw new SimulatorError('compression-failed', `libbz2 answered with error ${answer.error}`);
  }

  async #endWorker(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.thread.terminate();
  }
}

function startWorker(): Worker {
  const source = new URL('./bzip2.worker.ts', import.meta.url);
  // The build renames source files but does not look inside URLs.
  const url = import.meta.url.endsWith('.js') ? new URL(source.href.replace(/\.ts$/, '.js')) : source;
  const thread = new Worker(url);
  thread.unref();
  return thread;
}
