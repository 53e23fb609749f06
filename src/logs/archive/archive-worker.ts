import { parentPort } from 'node:worker_threads';
import { packBytes } from '../../base/index.ts';
import { ArchiveError, LogError } from '../reading/errors.ts';
import { type FileBeginning, FileReading, type ReadingStart } from '../reading/file-reading.ts';
import type { RecordBatch } from '../records/record-batch.ts';
import type { RecordContext } from '../records/record-builder.ts';
import { LineMatcher } from '../rules/line-matcher.ts';
import type { SkewBounds } from '../time/log-clock.ts';
import { Zone } from '../time/zone.ts';
import type { Bzip2Limits } from './bzip2/decoder.ts';
import { ChunkReader } from './chunk-reader.ts';
import { readDecoded } from './decode.ts';
import {
  INPUT_WINDOW_BYTES,
  type Outcome,
  type PlainBatch,
  type PlainStart,
  RECORDS_WINDOW_BYTES,
  type ReadingState,
  type Reply,
  type Request,
} from './remote-reading.ts';

/** Consumed bytes are reported in steps of this size, because each message costs time. */
const CONSUMED_BYTES = INPUT_WINDOW_BYTES / 4;

class InputEnded extends RangeError {
  override readonly name = 'InputEnded';
}

type Begin = Extract<Request, { readonly kind: 'begin' }>;
type Exit = Extract<Request, { readonly kind: 'exit' }>;

interface Arrived {
  readonly bytes: Uint8Array;
  readonly nowMs: number | undefined;
}

class ArchiveJob {
  readonly id: number;
  readonly #plan: Begin['plan'];
  readonly #limits: Bzip2Limits;
  readonly #post: (reply: Reply, transfer?: ArrayBuffer[]) => void;
  readonly #input: Arrived[] = [];
  readonly #start = Promise.withResolvers<PlainStart | undefined>();
  #skew: SkewBounds | undefined;
  /** The agent's clock at the arrival of the bytes being read. Milliseconds since the Unix epoch. */
  #nowMs = 0;
  #isWhole: boolean | undefined;
  #isAbandoned = false;
  #consumedBytes = 0;
  #untakenBytes = 0;
  #changed = Promise.withResolvers<void>();

  constructor({ job, plan, limits }: Begin, post: (reply: Reply, transfer?: ArrayBuffer[]) => void) {
    this.id = job;
    this.#plan = plan;
    this.#limits = limits;
    this.#post = post;
    // Prevents an unhandled rejection if the file ends before it is identified.
    this.#start.promise.catch(() => {});
  }

  handle(request: Exclude<Request, Begin | Exit>): void {
    switch (request.kind) {
      case 'start':
        this.#nowMs = request.nowMs;
        this.#start.resolve(request.start);
        break;
      case 'input':
        this.#input.push(request);
        break;
      case 'ended':
        this.#isWhole = request.isWhole;
        break;
      case 'taken':
        this.#untakenBytes -= request.bytes;
        break;
      case 'abandon':
        this.abandon();
        return;
    }
    this.#wake();
  }

  abandon(): void {
    this.#isAbandoned = true;
    this.#start.reject(new InputEnded());
    this.#wake();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  async run(): Promise<void> {
    const reading: FileReading = new FileReading({
      ...this.#plan,
      begin: (beginning) => this.#ask(beginning),
      onBatch: (batch) => this.#postBatch(batch, this.#toState(reading)),
    });
    const outcome = await this.#read(reading);
    if (this.#isAbandoned) return;
    const batch = toPlainBatch(reading.takeBatch());
    const [state, { lost }] = [this.#toState(reading), reading];
    this.#post({ kind: 'ended', job: this.id, outcome, batch, state, lost }, memoryOf(batch));
  }

  async #read(reading: FileReading): Promise<Outcome> {
    try {
      return { kind: 'read', ...(await readDecoded(new ChunkReader(this.#takeInput()), this.#limits, reading)) };
    } catch (error) {
      if (error instanceof InputEnded) return { kind: 'source-failed' };
      if (error instanceof LogError) return { kind: 'unshipped', state: error.code };
      if (!(error instanceof ArchiveError)) throw error;
      const { code, message, bit } = error;
      return { kind: 'failed', code, message, bit };
    }
  }

  async *#takeInput(): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      if (this.#consumedBytes >= CONSUMED_BYTES || this.#input.length === 0) this.#postConsumed();
      while (!this.#isAbandoned && this.#input.length === 0 && this.#isWhole === undefined) await this.#changed.promise;
      const next = this.#input.shift();
      if (this.#isAbandoned || (!next && this.#isWhole === false)) throw new InputEnded();
      if (!next) return;
      this.#nowMs = next.nowMs ?? this.#nowMs;
      yield next.bytes;
      this.#consumedBytes += next.bytes.length;
    }
  }

  #postConsumed(): void {
    if (this.#consumedBytes > 0) this.#post({ kind: 'consumed', job: this.id, bytes: this.#consumedBytes });
    this.#consumedBytes = 0;
  }

  async #ask(beginning: FileBeginning): Promise<ReadingStart | undefined> {
    this.#post({ kind: 'head', job: this.id, beginning });
    const start = await this.#start.promise;
    if (!start) return undefined;
    this.#skew = start.context.skew;
    return { file: start.file, context: toContext(start.context, () => this.#nowMs) };
  }

  #toState({ file, stream }: FileReading): ReadingState {
    return { file, stream, skew: this.#skew };
  }

  async #postBatch(batch: RecordBatch, state: ReadingState): Promise<void> {
    const plain = toPlainBatch(batch);
    this.#untakenBytes += plain.recordBytes;
    this.#post({ kind: 'batch', job: this.id, batch: plain, state }, memoryOf(plain));
    while (!this.#isAbandoned && this.#untakenBytes >= RECORDS_WINDOW_BYTES) await this.#changed.promise;
    if (this.#isAbandoned) throw new InputEnded();
  }
}

function toPlainBatch(batch: RecordBatch): PlainBatch {
  const { bytes, length, memory } = batch.records;
  return { ...batch, recordBytes: bytes.length, records: length, packed: packBytes(bytes), memory };
}

function memoryOf({ memory, packed }: PlainBatch): ArrayBuffer[] {
  return [memory.buffer, packed.buffer];
}

/** Cached, because zones and patterns are slow to create and files of one log follow each other. */
let lastZone: Zone | undefined;
let lastMatcher: { readonly text: string; readonly matcher: LineMatcher } | undefined;

function toContext({ zone, matcher, ...same }: PlainStart['context'], now: () => number): RecordContext {
  if (lastZone?.text !== zone) lastZone = Zone.parse(zone);
  if (matcher !== undefined && lastMatcher?.text !== matcher) {
    lastMatcher = { text: matcher, matcher: LineMatcher.parse(matcher) };
  }
  const own = matcher === undefined ? undefined : lastMatcher?.matcher.of(same.component);
  return { ...same, zone: lastZone, matcher: own, now };
}

let job: ArchiveJob | undefined;
const port = parentPort;
port?.on('message', (request: Request) => {
  if (request.kind === 'begin') {
    job = new ArchiveJob(request, (reply, transfer) => port.postMessage(reply, transfer));
    // A rejection ends the thread, which the main thread detects.
    void job.run();
  } else if (request.kind === 'exit') {
    job?.abandon();
    port.close();
  } else if (request.job === job?.id) job.handle(request);
});
