import { yieldToLoop } from '../../base/index.ts';
import type { BlockLost, Bzip2Limits } from '../../bzip2/index.ts';
import type { Completion } from '../../model/index.ts';
import type { LogFile, StreamState } from '../position/position.ts';
import { ArchiveError, createLogError } from '../reading/errors.ts';
import type { FileBeginning, Reading, ReadingOptions, ReadingStart } from '../reading/file-reading.ts';
import { createBatch, type RecordBatch, RecordBuffer } from '../records/record-batch.ts';
import {
  type ArchiveThread,
  INPUT_WINDOW_BYTES,
  type Outcome,
  type PlainBatch,
  type PlainStart,
  type ReadingState,
  type Reply,
} from './archive-thread.ts';
import type { readDecoded } from './decode.ts';
import type { SourceReader } from './source-reader.ts';

/** Bytes of a file are posted in chunks of at most this size. */
const INPUT_CHUNK_BYTES = 64 * 1024;

/** The reading of one file in a worker thread: gives it the bytes, answers its question, and hands on its batches. */
export class RemoteReading implements Reading {
  readonly id: number;
  readonly #thread: ArchiveThread;
  readonly #options: ReadingOptions;
  readonly #limits: Bzip2Limits;
  /** The answer to the question which file it is. */
  #start: ReadingStart | undefined;
  #state: ReadingState | undefined;
  #batch: RecordBatch | undefined;
  #lost: readonly BlockLost[] = [];
  #outcome: Outcome | undefined;
  #failure: { readonly cause: unknown } | undefined;
  /** Replies that wait for the one before them. */
  readonly #replies: Reply[] = [];
  #isTaking = false;
  /** True while a batch becomes durable: the thread waits for that. */
  #isStoring = false;
  #isOver = false;
  #isEnded = false;
  /** Bytes posted and not worked through. */
  #inputBytes = 0;
  #changed = Promise.withResolvers<void>();

  constructor(id: number, thread: ArchiveThread, options: ReadingOptions, limits: Bzip2Limits) {
    this.id = id;
    this.#thread = thread;
    this.#options = options;
    this.#limits = limits;
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
    return !this.#isOver && !this.#isStoring && (this.#inputBytes > 0 || this.#isEnded);
  }

  takeBatch(): RecordBatch {
    const batch = this.#batch ?? createBatch();
    this.#batch = undefined;
    return batch;
  }

  /** Reads what `reader` gives. Throws what it throws, and what {@link ReadingOptions} throw. */
  async read(reader: SourceReader, signal: AbortSignal | undefined): ReturnType<typeof readDecoded> {
    // One listener for all waits: each of them would add and remove its own.
    const onAbort = () => this.fail(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await this.#run(reader);
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.#isOver = true;
      this.#thread.post({ kind: 'abandon', job: this.id });
    }
  }

  async #run(reader: SourceReader): ReturnType<typeof readDecoded> {
    const { begin: _, onBatch: __, ...plan } = this.#options;
    const { outputBytesMax, ratioMax, resync } = this.#limits;
    this.#thread.post({ kind: 'begin', job: this.id, plan, limits: { outputBytesMax, ratioMax, resync } });
    await this.#feed(reader);
    while (!this.#isOver) await this.#changed.promise;
    if (this.#failure) throw this.#failure.cause;
    const outcome = this.#outcome;
    if (outcome?.kind === 'read') return outcome;
    if (outcome?.kind === 'failed') throw new ArchiveError(outcome.code, outcome.message, { bit: outcome.bit });
    if (outcome?.kind === 'unshipped') throw createLogError(outcome.state, this.#options.name);
    reader.throwFailure();
    throw new ArchiveError('worker-lost', 'The thread that read the archive missed a part of it');
  }

  receive(reply: Reply): void {
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

  /** Posts the bytes of the file, no faster than they are worked through. */
  async #feed(reader: SourceReader): Promise<void> {
    for (let chunk = await this.#untilOver(reader); chunk; chunk = await this.#untilOver(reader)) {
      for (let from = 0; from < chunk.length; from += INPUT_CHUNK_BYTES) {
        while (!this.#isOver && this.#inputBytes >= INPUT_WINDOW_BYTES) await this.#changed.promise;
        if (this.#isOver) return;
        // A copy: the source's chunk may be a part of a buffer that is used for other things too.
        const bytes = new Uint8Array(chunk.subarray(from, from + INPUT_CHUNK_BYTES));
        this.#inputBytes += bytes.length;
        this.#thread.post({ kind: 'input', job: this.id, bytes, nowMs: this.#nowMs }, [bytes.buffer]);
      }
    }
    this.#isEnded = true;
    if (!this.#isOver) this.#thread.post({ kind: 'ended', job: this.id, isWhole: !reader.hasFailed });
  }

  /** The next bytes of the file; `undefined` at its end, and when nothing more is wanted of it. */
  async #untilOver(reader: SourceReader): Promise<Uint8Array | undefined> {
    if (this.#isOver) return undefined;
    const state = { isSettled: false };
    const next = reader.read().finally(() => {
      state.isSettled = true;
      this.#notify();
    });
    // Nobody hears of a failure when nothing more is wanted.
    next.catch(() => {});
    while (!state.isSettled && !this.#isOver) await this.#changed.promise;
    return this.#isOver ? undefined : next;
  }

  get #nowMs(): number | undefined {
    const { now, observedMs } = this.#start?.context ?? {};
    return now?.() ?? observedMs;
  }

  #take(reply: Reply): Completion {
    switch (reply.kind) {
      case 'consumed':
        this.#inputBytes -= reply.bytes;
        break;
      case 'head':
        void this.#answer(reply.beginning);
        break;
      case 'batch':
        this.#noteState(reply.state);
        return this.#takeBatch(reply.batch);
      case 'ended':
        this.#noteState(reply.state);
        this.#batch = toBatch(reply.batch);
        this.#lost = reply.lost;
        this.#outcome = reply.outcome;
        this.#isOver = true;
        break;
    }
  }

  /** Answers which file it is. */
  async #answer(beginning: FileBeginning): Promise<void> {
    try {
      const start = await this.#options.begin(beginning);
      this.#start = start;
      this.#thread.post({ kind: 'start', job: this.id, start: start && toPlain(start), nowMs: this.#nowMs ?? 0 });
    } catch (cause) {
      this.fail(cause);
    }
  }

  #noteState(state: ReadingState): void {
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

function toBatch({ memory, recordBytes, packed, records, ...batch }: PlainBatch): RecordBatch {
  return { ...batch, records: RecordBuffer.of(memory, recordBytes, records, packed) };
}

function toPlain({ file, context }: ReadingStart): PlainStart {
  const { zone, matcher, now: _, ...same } = context;
  return { file, context: { ...same, zone: zone.text, matcher: matcher?.text } };
}
