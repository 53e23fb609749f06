import { Worker } from 'node:worker_threads';
import { yieldToLoop } from '../../base/index.ts';
import type { BlockLost } from '../../bzip2/index.ts';
import type { Completion } from '../../model/index.ts';
import { createLogError } from '../errors.ts';
import type { FileBeginning, Scan, ScanItem, ScanOptions, ScanResult, ScanStart } from '../file-scan.ts';
import { RecordBuffer } from '../lines/record-buffer.ts';
import { createBatch, type ScanBatch } from '../lines/scan-batch.ts';
import type { LogFile, StreamState } from '../position/position.ts';
import type { ItemReader } from './item-reader.ts';
import { isOwn } from './own-chunks.ts';
import {
  type PlainBatch,
  type PlainContext,
  type ScanReply,
  type ScanRequest,
  type ScanState,
  TEXT_WINDOW_BYTES,
} from './scan-protocol.ts';
import type { ThreadJob, WorkerThread } from './worker-thread.ts';

/** A worker thread in which files are read. */
export type ScanThread = WorkerThread<ScanRequest, ScanReply>;

/** The worker's file stands beside this one, as a source in a checkout and compiled in a package. */
const WORKER_URL = new URL(import.meta.url.endsWith('.ts') ? './scan-worker.ts' : './scan-worker.js', import.meta.url);
/** Mostly it is a few: a chunk of text, and the compiled patterns. A thousand lines of 64 KiB may wait for a clock to be set. */
const WORKER_HEAP_MB_MAX = 512;

/** Starts the thread that reads files. It needs nothing of the environment and of the flags of this process. */
export function startScanWorker(): Worker {
  return new Worker(WORKER_URL, {
    name: 'lines',
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB_MAX },
  });
}

/** The reading of one file in a worker thread: gives it the body, answers its question, and hands on its batches. */
export class RemoteScan implements Omit<Scan, 'read'>, ThreadJob<ScanReply> {
  readonly id: number;
  readonly #thread: ScanThread;
  readonly #options: ScanOptions;
  /** The answer to the question which file it is. */
  #start: ScanStart | undefined;
  #state: ScanState | undefined;
  #batch: ScanBatch | undefined;
  #lost: readonly BlockLost[] = [];
  #result: ScanResult | undefined;
  #failure: { readonly cause: unknown } | undefined;
  /** Replies that wait for the one before them. */
  readonly #replies: ScanReply[] = [];
  #isTaking = false;
  /** True while a batch becomes durable: the thread waits for that. */
  #isStoring = false;
  #isOver = false;
  #isEnded = false;
  /** Text posted and not worked through. */
  #textBytes = 0;
  #changed = Promise.withResolvers<void>();

  constructor(id: number, thread: ScanThread, options: ScanOptions) {
    this.id = id;
    this.#thread = thread;
    this.#options = options;
  }

  get file(): LogFile | undefined {
    return this.#state?.file;
  }

  get stream(): StreamState | undefined {
    return this.#state?.stream;
  }

  get lost(): readonly BlockLost[] {
    return this.#lost;
  }

  get isOwed(): boolean {
    return !this.#isOver && !this.#isStoring && (this.#textBytes > 0 || this.#isEnded);
  }

  takeBatch(): ScanBatch {
    const batch = this.#batch ?? createBatch();
    this.#batch = undefined;
    return batch;
  }

  /** Reads what `reader` gives. Throws what it throws, and what {@link ScanOptions} throw. */
  async read(reader: ItemReader, signal: AbortSignal | undefined): Promise<ScanResult> {
    // One listener for all waits: each of them would add and remove its own.
    const onAbort = () => this.fail(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await this.#run(reader);
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async #run(reader: ItemReader): Promise<ScanResult> {
    const { begin: _, onBatch: __, ...plan } = this.#options;
    this.#thread.post({ kind: 'begin', job: this.id, plan });
    let fault: { readonly cause: unknown } | undefined;
    try {
      await this.#feed(reader);
    } catch (cause) {
      fault = { cause };
    }
    this.#isEnded = true;
    if (!this.#isOver) this.#thread.post({ kind: 'ended', job: this.id, isWhole: !fault });
    while (!this.#isOver) await this.#changed.promise;
    if (this.#failure) throw this.#failure.cause;
    if (this.#result) return this.#result;
    throw fault?.cause;
  }

  /** Nobody wants the rest. */
  leave(): void {
    this.#isOver = true;
    this.#thread.post({ kind: 'abandon', job: this.id });
  }

  receive(reply: ScanReply): void {
    if (this.#isOver) return;
    this.#replies.push(reply);
    if (!this.#isTaking) void this.#takeAll();
  }

  /** Takes the replies one after the other: the lines of a batch are durable before anything later counts. */
  async #takeAll(): Promise<void> {
    this.#isTaking = true;
    try {
      for (let reply = this.#replies.shift(); reply && !this.#isOver; reply = this.#replies.shift()) {
        const taking = this.#take(reply);
        if (taking) await taking;
        this.#notify();
      }
    } catch (cause) {
      this.fail(cause);
    } finally {
      this.#isTaking = false;
    }
  }

  /** Lines that the thread has not sent are lost here, and read again another time. */
  fail(cause: unknown): void {
    this.#failure ??= { cause };
    this.#state = undefined;
    this.#batch = undefined;
    this.#isOver = true;
    this.#notify();
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  /** Posts the body, no faster than it is worked through. */
  async #feed(reader: ItemReader): Promise<void> {
    for (;;) {
      while (!this.#isOver && this.#textBytes >= TEXT_WINDOW_BYTES) await this.#changed.promise;
      const item = await this.#untilOver(reader);
      if (!item || this.#isOver) return;
      if (item instanceof Uint8Array) this.#postText(item);
      else this.#thread.post({ kind: 'marker', job: this.id, marker: item });
    }
  }

  /** The next item of the body; `undefined` at its end, and when nothing more is wanted of it. */
  async #untilOver(reader: ItemReader): Promise<ScanItem | undefined> {
    if (this.#isOver) return undefined;
    const state = { isSettled: false };
    const next = reader.next().finally(() => {
      state.isSettled = true;
      this.#notify();
    });
    // Nobody hears of a failure when nothing more is wanted.
    next.catch(() => {});
    while (!state.isSettled && !this.#isOver) await this.#changed.promise;
    return this.#isOver ? undefined : next;
  }

  #postText(text: Uint8Array): void {
    // What is not from a decoding thread may be a part of a buffer that is used for other things too.
    const bytes = isOwn(text) ? text : new Uint8Array(text);
    this.#textBytes += text.length;
    const transfer = bytes.buffer instanceof ArrayBuffer ? [bytes.buffer] : [];
    this.#thread.post({ kind: 'text', job: this.id, bytes, nowMs: this.#nowMs }, transfer);
  }

  get #nowMs(): number | undefined {
    const { now, observedMs } = this.#start?.context ?? {};
    return now?.() ?? observedMs;
  }

  #take(reply: ScanReply): Completion {
    switch (reply.kind) {
      case 'head':
        void this.#answer(reply.beginning);
        break;
      case 'consumed':
        this.#textBytes -= reply.bytes;
        break;
      case 'batch':
        this.#noteState(reply.state);
        return this.#takeBatch(reply.batch);
      case 'result':
        this.#noteState(reply.state);
        this.#batch = toBatch(reply.batch);
        this.#lost = reply.lost;
        this.#result = reply.result;
        this.#isOver = true;
        break;
      case 'unshipped':
        this.#lost = reply.lost;
        throw createLogError(reply.state, this.#options.name);
    }
  }

  /** Answers which file it is. */
  async #answer(beginning: FileBeginning): Promise<void> {
    try {
      const start = await this.#options.begin(beginning);
      this.#start = start;
      const plain = start && { file: start.file, context: toPlainContext(start) };
      this.#thread.post({ kind: 'start', job: this.id, start: plain, nowMs: this.#nowMs ?? 0 });
    } catch (cause) {
      this.fail(cause);
    }
  }

  #noteState(state: ScanState): void {
    this.#state = state;
    const skew = this.#start?.context.skew;
    if (skew) Object.assign(skew, state.skew);
  }

  /** Hands on a batch, then tells the thread that it may send more. */
  async #takeBatch(batch: PlainBatch): Promise<void> {
    this.#isStoring = true;
    try {
      await this.#options.onBatch(toBatch(batch));
    } finally {
      this.#isStoring = false;
    }
    this.#thread.post({ kind: 'taken', job: this.id, bytes: batch.recordBytes });
    // Batches that have come already would be stored in one go, and what is due meanwhile would wait for all.
    await yieldToLoop();
  }
}

function toBatch({ memory, recordBytes, packed, records, ...batch }: PlainBatch): ScanBatch {
  return { ...batch, records: RecordBuffer.of(memory, recordBytes, records, packed) };
}

function toPlainContext({ context }: ScanStart): PlainContext {
  const { zone, matcher, now: _, ...same } = context;
  return { ...same, zone: zone.text, matcher: matcher?.text };
}
