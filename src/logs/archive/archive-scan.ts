import type { BlockLost } from '../../bzip2/index.ts';
import { FileScan, type Scan, type ScanItem, type ScanOptions, type ScanResult } from '../file-scan.ts';
import { createBatch, type ScanBatch } from '../lines/scan-batch.ts';
import type { LogFile, StreamState } from '../position/position.ts';
import { ItemReader } from './item-reader.ts';
import { RemoteScan, type ScanThread } from './remote-scan.ts';
import type { ResourcePool } from './resource-pool.ts';

export interface ArchiveScanOptions {
  /** Threads in which files are read. */
  readonly threads: ResourcePool<ScanThread>;
  /** A file with no more decoded text is read on this thread. Bytes. */
  readonly inlineBytesMax: number;
  /** Ends the reading with the signal's reason. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Reads a file in a worker thread, or on this one; both come to the same. On this one if the file is too small for the way
 * to the thread, or its text comes straight from the network: slow routers would occupy all threads.
 */
export class ArchiveScan implements Scan {
  readonly #file: ScanOptions;
  readonly #options: ArchiveScanOptions;
  #scan: FileScan | RemoteScan | undefined;

  constructor(file: ScanOptions, options: ArchiveScanOptions) {
    this.#file = file;
    this.#options = options;
  }

  get file(): LogFile | undefined {
    return this.#scan?.file;
  }

  get stream(): StreamState | undefined {
    return this.#scan?.stream;
  }

  get lost(): readonly BlockLost[] {
    return this.#scan?.lost ?? [];
  }

  takeBatch(): ScanBatch {
    return this.#scan?.takeBatch() ?? createBatch();
  }

  async read(body: AsyncIterable<ScanItem>): Promise<ScanResult> {
    const reader = new ItemReader(body);
    try {
      if (await reader.gather(this.#options.inlineBytesMax)) return await this.#readInThread(reader);
      const scan = new FileScan(this.#file);
      this.#scan = scan;
      return await scan.read(reader);
    } finally {
      await reader.close();
    }
  }

  async #readInThread(reader: ItemReader): Promise<ScanResult> {
    const { threads, signal } = this.#options;
    const thread = await threads.acquire(signal);
    try {
      const scan = thread.begin((id) => new RemoteScan(id, thread, this.#file));
      this.#scan = scan;
      try {
        return await scan.read(reader, signal);
      } finally {
        scan.leave();
        thread.end();
      }
    } finally {
      threads.release(thread);
    }
  }
}
