import { yieldToLoop } from '../../base/index.ts';
import type { Completion } from '../../model/index.ts';
import type { BlockLost } from '../position/gap.ts';
import type { LogFile, StreamState } from '../position/position.ts';
import { ArchiveError, createLogError, type LogError } from '../reading/errors.ts';
import type { FileBeginning, Reading, ReadingOptions, ReadingResult, ReadingStart } from '../reading/file-reading.ts';
import { createBatch, type RecordBatch, RecordBuffer } from '../records/record-batch.ts';
import type { RecordContext } from '../records/record-builder.ts';
import type { SkewBounds } from '../time/log-clock.ts';
import type { Bzip2Limits } from './bzip2/decoder.ts';
import type { ChunkReader } from './chunk-reader.ts';
import type { readDecoded, Trailing } from './decode.ts';

/** Bytes in flight to the worker, enough while the main thread is busy. */
export const INPUT_WINDOW_BYTES = 512 * 1024;
/**
 * Records in flight from the worker, plus at most one batch. A batch is about 2 MiB of JSON, so the worker continues
 * while one batch is committed and another waits. Bytes.
 */
export const RECORDS_WINDOW_BYTES = 4 * 1024 * 1024;

interface PlainContext extends Omit<RecordContext, 'zone' | 'matcher' | 'now'> {
  readonly zone: string;
  readonly matcher: string | undefined;
}

/** A {@link ReadingStart} that can be sent between threads. */
export interface PlainStart {
  readonly file: LogFile;
  readonly context: PlainContext;
}

/** Messages to the worker. A job is one file; messages of earlier jobs are ignored. */
export type Request =
  | {
      readonly kind: 'begin';
      readonly job: number;
      readonly plan: Omit<ReadingOptions, 'begin' | 'onBatch'>;
      readonly limits: Bzip2Limits;
    }
  /** Answer to `head`: the identified file; without `start` if it may not be read yet. */
  | { readonly kind: 'start'; readonly job: number; readonly start: PlainStart | undefined; readonly nowMs: number }
  /** `nowMs`: the agent's clock; absent until the file is identified. */
  | { readonly kind: 'input'; readonly job: number; readonly bytes: Uint8Array; readonly nowMs: number | undefined }
  /** `isWhole`: false if the source failed. */
  | { readonly kind: 'ended'; readonly job: number; readonly isWhole: boolean }
  | { readonly kind: 'taken'; readonly job: number; readonly bytes: number }
  | { readonly kind: 'abandon'; readonly job: number }
  /** The thread ends by itself. */
  | { readonly kind: 'exit' };

type PostRequest = (request: Request, transfer?: readonly ArrayBuffer[]) => void;

/** A {@link RecordBatch} that can be sent between threads. */
export interface PlainBatch extends Omit<RecordBatch, 'records'> {
  /** Transferred. */
  readonly memory: Uint8Array<ArrayBuffer>;
  readonly recordBytes: number;
  readonly packed: Uint8Array<ArrayBuffer>;
  readonly records: number;
}

/** File and log after a batch. */
export interface ReadingState {
  readonly file: LogFile | undefined;
  readonly stream: StreamState | undefined;
  readonly skew: SkewBounds | undefined;
}

export type Outcome =
  | { readonly kind: 'read'; readonly result: ReadingResult; readonly trailing: Trailing | undefined }
  | {
      readonly kind: 'failed';
      readonly code: ArchiveError['code'];
      readonly message: string;
      readonly bit: number | undefined;
    }
  | { readonly kind: 'source-failed' }
  | { readonly kind: 'unshipped'; readonly state: LogError['code'] };

/** Messages from the worker. */
export type Reply =
  | { readonly kind: 'consumed'; readonly job: number; readonly bytes: number }
  | { readonly kind: 'head'; readonly job: number; readonly beginning: FileBeginning }
  | { readonly kind: 'batch'; readonly job: number; readonly batch: PlainBatch; readonly state: ReadingState }
  | {
      readonly kind: 'ended';
      readonly job: number;
      readonly outcome: Outcome;
      readonly batch: PlainBatch;
      readonly state: ReadingState;
      readonly lost: readonly BlockLost[];
    };

/** Maximum chunk posted to the worker. */
const INPUT_CHUNK_BYTES = 64 * 1024;

/** Reads one file in a worker thread: sends the bytes, identifies the file, and forwards its batches. */
export class RemoteReading implements Reading {
  readonly id: number;
  readonly #post: PostRequest;
  readonly #options: ReadingOptions;
  readonly #limits: Bzip2Limits;
  #start: ReadingStart | undefined;
  #state: ReadingState | undefined;
  #batch: RecordBatch | undefined;
  #lost: readonly BlockLost[] = [];
  #outcome: Outcome | undefined;
  #failure: { readonly cause: unknown } | undefined;
  readonly #replies: Reply[] = [];
  #isTaking = false;
  /** True during a commit, for which the thread waits. */
  #isStoring = false;
  #isOver = false;
  #isEnded = false;
  #inputBytes = 0;
  #changed = Promise.withResolvers<void>();

  constructor(id: number, post: PostRequest, options: ReadingOptions, limits: Bzip2Limits) {
    this.id = id;
    this.#post = post;
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

  /** Reads the bytes of `reader`. Throws errors of the reader and of {@link ReadingOptions}. */
  async read(reader: ChunkReader, signal: AbortSignal | undefined): ReturnType<typeof readDecoded> {
    // One listener for all waits.
    const onAbort = () => this.fail(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await this.#run(reader);
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.#isOver = true;
      this.#post({ kind: 'abandon', job: this.id });
    }
  }

  async #run(reader: ChunkReader): ReturnType<typeof readDecoded> {
    const { begin: _, onBatch: __, ...plan } = this.#options;
    const { outputBytesMax, ratioMax, resync } = this.#limits;
    this.#post({ kind: 'begin', job: this.id, plan, limits: { outputBytesMax, ratioMax, resync } });
    await this.#feed(reader);
    while (!this.#isOver) await this.#changed.promise;
    if (this.#failure) throw this.#failure.cause;
    const outcome = this.#outcome;
    if (outcome?.kind === 'read') return outcome;
    if (outcome?.kind === 'failed') throw new ArchiveError(outcome.code, outcome.message, { bit: outcome.bit });
    if (outcome?.kind === 'unshipped') throw createLogError(outcome.state, this.#options.name);
    reader.throwFailure();
    throw new ArchiveError('worker-lost', 'The thread that read the archive lost part of it');
  }

  receive(reply: Reply): void {
    if (this.#isOver) return;
    this.#replies.push(reply);
    if (!this.#isTaking) void this.#takeAll();
  }

  /** One after another: a batch is durable before anything later counts. */
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

  /** Drops lines that were not delivered. They are read again. */
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

  async #feed(reader: ChunkReader): Promise<void> {
    for (let chunk = await this.#untilOver(reader); chunk; chunk = await this.#untilOver(reader)) {
      for (let from = 0; from < chunk.length; from += INPUT_CHUNK_BYTES) {
        while (!this.#isOver && this.#inputBytes >= INPUT_WINDOW_BYTES) await this.#changed.promise;
        if (this.#isOver) return;
        // A copy, because the chunk may be part of a shared buffer and is transferred.
        const bytes = new Uint8Array(chunk.subarray(from, from + INPUT_CHUNK_BYTES));
        this.#inputBytes += bytes.length;
        this.#post({ kind: 'input', job: this.id, bytes, nowMs: this.#nowMs }, [bytes.buffer]);
      }
    }
    this.#isEnded = true;
    if (!this.#isOver) this.#post({ kind: 'ended', job: this.id, isWhole: !reader.hasFailed });
  }

  /** Returns `undefined` at the end, and when the rest is not wanted. */
  async #untilOver(reader: ChunkReader): Promise<Uint8Array | undefined> {
    if (this.#isOver) return undefined;
    const state = { isSettled: false };
    const next = reader.read().finally(() => {
      state.isSettled = true;
      this.#notify();
    });
    // Prevents an unhandled rejection when the rest is not wanted.
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
        this.#recordState(reply.state);
        return this.#takeBatch(reply.batch);
      case 'ended':
        this.#recordState(reply.state);
        this.#batch = toBatch(reply.batch);
        this.#lost = reply.lost;
        this.#outcome = reply.outcome;
        this.#isOver = true;
        break;
    }
  }

  async #answer(beginning: FileBeginning): Promise<void> {
    try {
      const start = await this.#options.begin(beginning);
      this.#start = start;
      this.#post({ kind: 'start', job: this.id, start: start && toPlain(start), nowMs: this.#nowMs ?? 0 });
    } catch (cause) {
      this.fail(cause);
    }
  }

  #recordState(state: ReadingState): void {
    this.#state = state;
    const skew = this.#start?.context.skew;
    if (skew) Object.assign(skew, state.skew);
  }

  async #takeBatch(batch: PlainBatch): Promise<void> {
    this.#isStoring = true;
    try {
      await this.#options.onBatch(toBatch(batch));
    } finally {
      this.#isStoring = false;
    }
    this.#post({ kind: 'taken', job: this.id, bytes: batch.recordBytes });
    // Several buffered batches would otherwise block the event loop.
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
