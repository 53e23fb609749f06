import { packBytes } from '../../base/index.ts';
import { LogError } from '../errors.ts';
import {
  type FileBeginning,
  FileScan,
  type ScanItem,
  type ScanPlan,
  type ScanResult,
  type ScanStart,
} from '../file-scan.ts';
import type { RecordContext } from '../lines/record-builder.ts';
import type { ScanBatch } from '../lines/scan-batch.ts';
import { LineMatcher } from '../matching/line-matcher.ts';
import type { SkewBounds } from '../time/log-clock.ts';
import { Zone } from '../time/zone.ts';
import {
  type PlainBatch,
  type PlainContext,
  type PlainStart,
  RECORDS_WINDOW_BYTES,
  type ScanReply,
  type ScanRequest,
  type ScanState,
  TEXT_WINDOW_BYTES,
} from './scan-protocol.ts';

/** So much text is worked through before the other side hears of it, if there is more: each message costs time. */
const CONSUMED_BYTES = TEXT_WINDOW_BYTES / 4;

/** Ends the reading of a body that has failed, or that nobody wants. */
class BodyEnded extends RangeError {
  override readonly name = 'BodyEnded';
}

interface Arrived {
  readonly item: ScanItem;
  readonly nowMs: number | undefined;
}

/** The reading of one file in the worker: messages in, batches of records out. */
export class ScanJob {
  readonly id: number;
  readonly #plan: ScanPlan;
  readonly #post: (reply: ScanReply, transfer?: ArrayBuffer[]) => void;
  readonly #items: Arrived[] = [];
  readonly #start = Promise.withResolvers<PlainStart>();
  #skew: SkewBounds | undefined;
  /** The agent's clock when the text arrived that is being read. */
  #nowMs = 0;
  /** True if the body came to its end, false if it failed. */
  #isWhole: boolean | undefined;
  #isAbandoned = false;
  /** Text that was worked through, and of which the other side does not know yet. */
  #consumedBytes = 0;
  #untakenBytes = 0;
  #changed = Promise.withResolvers<void>();

  constructor(id: number, plan: ScanPlan, post: (reply: ScanReply, transfer?: ArrayBuffer[]) => void) {
    this.id = id;
    this.#plan = plan;
    this.#post = post;
    // Nobody asks where the body has ended before its beginning was known.
    this.#start.promise.catch(() => {});
  }

  handle(request: ScanRequest): void {
    switch (request.kind) {
      case 'begin':
        break;
      case 'start':
        this.#nowMs = request.nowMs;
        this.#start.resolve(request.start);
        break;
      case 'text':
        this.#items.push({ item: request.bytes, nowMs: request.nowMs });
        break;
      case 'marker':
        this.#items.push({ item: request.marker, nowMs: undefined });
        break;
      case 'ended':
        this.#isWhole = request.isWhole;
        break;
      case 'taken':
        this.#untakenBytes -= request.bytes;
        break;
      case 'abandon':
        this.#isAbandoned = true;
        this.#start.reject(new BodyEnded());
        break;
    }
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  /** Reads the file. Rejects with an error that nobody expects. */
  async run(): Promise<void> {
    const scan: FileScan = new FileScan({
      ...this.#plan,
      begin: (beginning) => this.#ask(beginning),
      onBatch: (batch) => this.#postBatch(batch, this.#toState(scan)),
    });
    let result: ScanResult | undefined;
    try {
      result = await scan.read(this.#read());
    } catch (error) {
      if (this.#isAbandoned) return;
      if (error instanceof LogError) {
        this.#post({ kind: 'unshipped', job: this.id, state: error.code, lost: scan.lost });
        return;
      }
      if (!(error instanceof BodyEnded)) throw error;
    }
    const batch = toPlainBatch(scan.takeBatch());
    const state = this.#toState(scan);
    const { lost } = scan;
    this.#post({ kind: 'result', job: this.id, result, batch, state, lost }, memoryOf(batch));
  }

  /** Yields the body as it arrives, and no more of it while too many records are under way. */
  async *#read(): AsyncGenerator<ScanItem, void, undefined> {
    for (;;) {
      if (this.#consumedBytes >= CONSUMED_BYTES || this.#items.length === 0) this.#postConsumed();
      while (!this.#isAbandoned && !this.#isReady) await this.#changed.promise;
      if (this.#isAbandoned) throw new BodyEnded();
      const next = this.#items.shift();
      if (!next && this.#isWhole === false) throw new BodyEnded();
      if (!next) return;
      this.#nowMs = next.nowMs ?? this.#nowMs;
      yield next.item;
      if (next.item instanceof Uint8Array) this.#consumedBytes += next.item.length;
    }
  }

  #postConsumed(): void {
    if (this.#consumedBytes > 0) this.#post({ kind: 'consumed', job: this.id, bytes: this.#consumedBytes });
    this.#consumedBytes = 0;
  }

  get #isReady(): boolean {
    if (this.#untakenBytes >= RECORDS_WINDOW_BYTES) return false;
    return this.#items.length > 0 || this.#isWhole !== undefined;
  }

  async #ask(beginning: FileBeginning): Promise<ScanStart | undefined> {
    this.#post({ kind: 'head', job: this.id, beginning });
    const start = await this.#start.promise;
    if (!start) return undefined;
    this.#skew = start.context.skew;
    return { file: start.file, context: toContext(start.context, () => this.#nowMs) };
  }

  #toState({ file, stream }: FileScan): ScanState {
    return { file, stream, skew: this.#skew };
  }

  #postBatch(batch: ScanBatch, state: ScanState): void {
    const plain = toPlainBatch(batch);
    this.#untakenBytes += plain.recordBytes;
    this.#post({ kind: 'batch', job: this.id, batch: plain, state }, memoryOf(plain));
  }
}

function toPlainBatch(batch: ScanBatch): PlainBatch {
  const { bytes, length, memory } = batch.records;
  const packed = packBytes(bytes);
  return { ...batch, recordBytes: bytes.length, records: length, packed, memory };
}

function memoryOf({ memory, packed }: PlainBatch): ArrayBuffer[] {
  return [memory.buffer, packed.buffer];
}

/** Files of one log follow each other, and zones and patterns take long to make ready. */
let lastZone: Zone | undefined;
let lastMatcher: { readonly text: string; readonly matcher: LineMatcher } | undefined;

function toContext({ zone, matcher, ...same }: PlainContext, now: () => number): RecordContext {
  if (lastZone?.text !== zone) lastZone = Zone.parse(zone);
  if (matcher !== undefined && lastMatcher?.text !== matcher) {
    lastMatcher = { text: matcher, matcher: LineMatcher.parse(matcher) };
  }
  const own = matcher === undefined ? undefined : lastMatcher?.matcher.of(same.component);
  return { ...same, zone: lastZone, matcher: own, now };
}
