import { yieldToLoop } from '../../base/index.ts';
import type { Completion } from '../../model/index.ts';
import type { BlockLost, BlockRecovered } from '../position/gap.ts';
import { PrefixHash } from '../position/identity.ts';
import {
  copyFile,
  createStreamState,
  type LogFile,
  type LogFileDraft,
  type StreamState,
} from '../position/position.ts';
import { LineSplitter, type RawLine } from '../records/line-splitter.ts';
import { createBatch, type ReadingEnd, type RecordBatch } from '../records/record-batch.ts';
import { RecordBuilder, type RecordContext } from '../records/record-builder.ts';
import { type DateOrder, learnDateOrder, needsDateOrder } from '../time/stamp.ts';
import { createLogError } from './errors.ts';
import { FileHead, type Head } from './file-head.ts';
import { isBinary, TextFilter } from './text.ts';

/** Facts and callbacks for reading one file. All except the functions is plain data. */
export interface ReadingOptions {
  readonly name: string;
  readonly candidates: readonly LogFile[];
  /** True if a file that is none of the candidates is read from its start. */
  readonly acceptsNew: boolean;
  /** True if the file no longer grows: an unterminated last line then counts as a line. */
  readonly isClosed: boolean;
  readonly mediaType?: string | undefined;
  /** Short bodies without a time, which become logs only at the second read. Absent: at the first. */
  readonly texts?: SeenTexts | undefined;
  /** Approximate end of the file: its rotation or download. Milliseconds since the Unix epoch. */
  readonly endMs: number;
  readonly order?: DateOrder | undefined;
  readonly batchBytes: number;
  /** Called once the beginning is known. Returns `undefined` if the file may not be read yet. */
  readonly begin: (beginning: FileBeginning) => ReadingStart | undefined | Promise<ReadingStart | undefined>;
  /** Called for each `batchBytes` of lines. The rest is left for {@link Reading.takeBatch}. */
  readonly onBatch: (batch: RecordBatch) => Completion;
}

interface SeenText extends Pick<Head, 'key'> {
  readonly sha: string;
}

/** Short bodies without a time, of this log and of the router's other logs. */
export interface SeenTexts {
  readonly own: SeenText | undefined;
  readonly others: readonly SeenText[];
}

/** The beginning of a file. */
export interface FileBeginning extends Head {
  /** The candidate with the same key; `undefined` for a new file. */
  readonly known: LogFile | undefined;
}

/** The file to read, and the context of its records. */
export interface ReadingStart {
  readonly file: LogFile;
  readonly context: RecordContext;
}

/** Bytes, valid until the next item is requested, or a mark of damage in an archive. */
export type ReadingItem = Uint8Array | BlockLost | BlockRecovered;

/** One reading of one file. */
export interface Reading {
  readonly file: LogFile | undefined;
  /** Damage not followed by a readable line. */
  readonly lost: readonly BlockLost[];
  /** Context of the next lines, valid for the last batch taken. */
  readonly stream: StreamState | undefined;
  /**
   * Takes the complete lines not yet taken. {@link file} is then the state after them. Whether the last line is held
   * depends on how reading ended.
   */
  takeBatch(): RecordBatch;
}

/**
 * - `taken`: a candidate or an accepted new file; lines were emitted from its offset on.
 * - `unrelated`: none of the candidates. `candidate` is the one with the same key, if any.
 * - `damaged`: begins like `candidate`, but a part read before is damaged, so nothing proves where to continue.
 * - `deferred`: may not be read yet; with `text` if it may be an error text that other logs show, too.
 * - `nothing`: no complete line.
 * - `binary`: a new file of this many bytes without text.
 */
export type ReadingResult =
  | { readonly kind: 'taken'; readonly file: LogFile }
  | {
      readonly kind: 'unrelated';
      readonly candidate: LogFile | undefined;
      readonly firstWallAsUtcMs: number | undefined;
      /** True if the beginning is damaged: it may be any candidate. */
      readonly isHeadLost?: boolean | undefined;
    }
  | { readonly kind: 'damaged'; readonly candidate: LogFile }
  | { readonly kind: 'deferred'; readonly text?: SeenText | undefined }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'binary'; readonly bytes: number };

const LINE_FEED = 0x0a;
const NO_STREAM = createStreamState();
/** Work between two yields: a few milliseconds. Bytes. */
const STEP_BYTES = 96 * 1024;
/** A chunk takes as much time as so many bytes. */
const CHUNK_COST_BYTES = 256;
/** Bytes searched for the order of dates, independent of chunks. */
const ORDER_BYTES = 4096;
/** Longest stamp. Bytes. */
const STAMP_BYTES_MAX = 64;
/** Remembered ends of a file within one line. */
const TORN_MAX = 8;

/** Cuts each line after the longest stamp. Includes the last line only if it `isEnded`. */
function* beginningsOfLines(bytes: Buffer, isEnded: boolean): Generator<string> {
  const head = bytes.subarray(0, ORDER_BYTES);
  let from = 0;
  for (let end = head.indexOf(LINE_FEED); end >= 0; end = head.indexOf(LINE_FEED, from)) {
    yield head.toString('latin1', from, Math.min(end, from + STAMP_BYTES_MAX));
    from = end + 1;
  }
  if (isEnded) yield head.toString('latin1', from, from + STAMP_BYTES_MAX);
}

class Progress {
  readonly file: LogFileDraft;
  readonly knownBytes: number;
  isProven: boolean;
  readonly #context: RecordContext;
  readonly #endMs: number;
  readonly #wasTorn: boolean;
  #builder: RecordBuilder | undefined;
  #splitter: LineSplitter | undefined;
  readonly #filter = new TextFilter({
    onLine: (line) => this.builder.push(line),
    onBinary: (offset, bytes) => this.builder.loseBytes(offset, bytes),
  });

  constructor({ file, context }: ReadingStart, endMs: number) {
    this.file = copyFile(file);
    this.#context = context;
    this.#endMs = endMs;
    this.#wasTorn = file.tornAt.length > 0;
    this.knownBytes = file.off;
    this.isProven = file.off === 0;
  }

  /** Created with the first new bytes, because most readings find none. */
  get builder(): RecordBuilder {
    this.#builder ??= new RecordBuilder({ ...this.#context, endMs: this.#endMs }, this.file);
    return this.#builder;
  }

  get splitter(): LineSplitter {
    this.#splitter ??= new LineSplitter(this.file.off);
    return this.#splitter;
  }

  push(line: RawLine): void {
    this.#filter.push(line);
  }

  takeRun(bytes: Buffer, from: number, start: number): number {
    if (!this.#filter.isIdle) return from;
    const to = this.builder.takeRun(bytes, from, start);
    if (to > from) this.#filter.markText();
    return to;
  }

  settle(): void {
    this.#filter.settle();
  }

  get isInBinary(): boolean {
    return this.#filter.binaryBytes > 0;
  }

  get binaryBytes(): number | undefined {
    const { isAllBinary, binaryBytes } = this.#filter;
    return this.knownBytes === 0 && isAllBinary ? binaryBytes : undefined;
  }

  get isUnchanged(): boolean {
    const { held, joins } = this.#context.stream ?? NO_STREAM;
    return !this.#builder && this.isProven && !this.#wasTorn && (held === undefined || joins);
  }

  get batchBytes(): number {
    return this.#builder?.batchBytes ?? 0;
  }

  get unfinishedBytes(): number {
    return this.#splitter?.unfinishedBytes ?? 0;
  }
}

/**
 * Reads one file. Its key selects a candidate, the hash of the known bytes proves it, and only then lines are emitted.
 * Memory does not grow with the file.
 */
export class FileReading implements Reading {
  readonly #options: ReadingOptions;
  readonly #head = new FileHead();
  #reading: Progress | undefined;
  #outcome: ReadingResult | undefined;
  #end: ReadingEnd = 'more';
  #firstWallAsUtcMs: number | undefined;
  #seenBytes = 0;
  #hash = new PrefixHash();
  #lost: BlockLost[] = [];
  #isHeadLost = false;
  #firstBlock: BlockRecovered | undefined;

  constructor(options: ReadingOptions) {
    this.#options = options;
  }

  resume(start: ReadingStart, base: number, baseSha: string): void {
    this.#seenBytes = base;
    this.#hash[Symbol.dispose]();
    this.#hash = new PrefixHash({ base, baseSha });
    this.#begin(start);
  }

  /** Reads `body` to its end or until the file is unrelated. Throws errors of `body` and `LogError`. */
  async read(body: AsyncIterable<ReadingItem>): Promise<ReadingResult> {
    try {
      return await this.#read(body);
    } finally {
      this.#hash[Symbol.dispose]();
    }
  }

  async #read(body: AsyncIterable<ReadingItem>): Promise<ReadingResult> {
    let stepBytes = 0;
    for await (const item of body) {
      if (item instanceof Uint8Array) {
        await this.#push(item);
        stepBytes += item.length + CHUNK_COST_BYTES;
      } else if (item.kind === 'block-lost') this.#recordLost(item);
      else await this.#recover(item);
      if (this.#outcome) return this.#outcome;
      // Buffered chunks would otherwise block the event loop.
      if (stepBytes >= STEP_BYTES) {
        stepBytes = 0;
        await yieldToLoop();
      }
      if (this.#reading && !this.#reading.isInBinary && this.#reading.batchBytes >= this.#options.batchBytes) {
        await this.#options.onBatch(this.takeBatch());
      }
    }
    return this.#finish();
  }

  get file(): LogFile | undefined {
    return this.#reading?.isProven ? copyFile(this.#reading.file) : undefined;
  }

  get isUnchanged(): boolean {
    return this.#reading?.isUnchanged ?? false;
  }

  get hasNewLines(): boolean {
    const { isProven = false, file, knownBytes = 0 } = this.#reading ?? {};
    return isProven && (file?.off ?? 0) > knownBytes;
  }

  get lost(): readonly BlockLost[] {
    return this.#lost;
  }

  get stream(): StreamState | undefined {
    return this.#reading?.builder.stream;
  }

  takeBatch(): RecordBatch {
    if (!this.#reading?.isProven) return createBatch();
    this.#reading.settle();
    return this.#reading.builder.take(this.#end);
  }

  async #finish(): Promise<ReadingResult> {
    await this.#identifyWhole();
    if (this.#outcome) return this.#outcome;
    const reading = this.#reading;
    if (reading?.isProven) {
      const { file } = reading;
      this.#end = this.#options.isClosed ? 'closed' : 'open';
      if (this.#options.isClosed) {
        const { splitter, builder } = reading;
        if (this.#lost.length > 0) reading.settle();
        splitter.finish((line) => (this.#lost.length > 0 ? builder.pushHalf(line) : reading.push(line)));
        file.off = splitter.offset;
        this.#lose(reading);
        file.proof = this.#hash.prove();
        file.tornAt = [];
      } else this.#recordEnd(reading);
      const { binaryBytes } = reading;
      if (binaryBytes !== undefined) return { kind: 'binary', bytes: binaryBytes + reading.unfinishedBytes };
      return { kind: 'taken', file: copyFile(file) };
    }
    if (reading) return this.#toUnrelated(reading.file);
    const head = this.#head.bytes;
    if (this.#options.acceptsNew && isBinary(head)) return { kind: 'binary', bytes: head.length };
    return head.length > 0 && this.#options.candidates.length > 0 ? this.#toUnrelated(undefined) : { kind: 'nothing' };
  }

  /** Remembers where the file ends within a line: after a crash, the log daemon appends its next line there. */
  #recordEnd(reading: Progress): void {
    const { file, unfinishedBytes } = reading;
    if (unfinishedBytes === 0) {
      if (file.tornAt.length > 0) file.tornAt = [];
      return;
    }
    reading.builder.markBuffered();
    const end = reading.splitter.offset + unfinishedBytes;
    if (!file.tornAt.includes(end)) file.tornAt = [...file.tornAt, end].slice(-TORN_MAX);
  }

  async #push(chunk: Uint8Array): Promise<void> {
    if (this.#reading) {
      this.#advance(this.#reading, chunk);
      return;
    }
    this.#head.push(chunk);
    if (this.#head.isWorthACheck) await this.#identify(false);
  }

  #recordLost(lost: BlockLost): void {
    this.#lost.push(lost);
    const reading = this.#reading;
    if (!reading) this.#isHeadLost ||= this.#head.bytes.length === 0;
    else if (!reading.isProven) this.#outcome = { kind: 'damaged', candidate: copyFile(reading.file) };
  }

  async #recover(recovered: BlockRecovered): Promise<void> {
    const { block, outputOffset } = recovered;
    if (!this.#reading && this.#head.bytes.length === 0) {
      this.#firstBlock = recovered;
      return;
    }
    await this.#identifyWhole();
    const reading = this.#reading;
    if (!reading?.isProven) return;
    const { splitter, builder, file } = reading;
    // Half a line ends before the damage, and half a line begins after it.
    reading.settle();
    splitter.finish((line) => builder.pushHalf(line));
    file.off = splitter.offset;
    file.proof = this.#hash.prove();
    this.#lose(reading);
    builder.recover({ block, offset: outputOffset });
  }

  #lose(reading: Progress): void {
    if (this.#lost.length === 0) return;
    const { builder, file } = reading;
    const fresh = this.#lost.filter(({ startBit }) => startBit >= (file.damageToldBit ?? 0));
    this.#lost = [];
    if (fresh.length > 0) builder.lose(fresh);
  }

  async #identifyWhole(): Promise<void> {
    if (!this.#reading && this.#head.hasUnseen) await this.#identify(false);
    if (!this.#reading && !this.#outcome) await this.#identify(true);
  }

  /** Identifies the file. `isWhole`: no more bytes will come. Throws `LogError` if it is not a log. */
  async #identify(isWhole: boolean): Promise<void> {
    const { name, candidates, acceptsNew, isClosed, mediaType, order, endMs, begin } = this.#options;
    const { bytes, nulBytes } = this.#head.read();
    // A power cut leaves NUL bytes before the first line.
    const text = bytes.subarray(nulBytes);
    const needsOrder = order === undefined && needsDateOrder(beginningsOfLines(text, isWhole), endMs);
    // The result must not depend on the size of the first chunk.
    if (needsOrder && !isWhole && text.length < ORDER_BYTES) return;
    const learnt = needsOrder ? learnDateOrder([...beginningsOfLines(text, true)], endMs) : order;
    const context = { order: learnt ?? 'dmy', lineBeforeMs: undefined, endMs };
    const end = !isWhole ? 'more' : isClosed ? 'closed' : 'open';
    const head = this.#head.find(end, context);
    if (!head && !isWhole) return;
    const known = candidates.filter(({ key }) => key === head?.key).toSorted((a, b) => b.off - a.off)[0];
    // A known file is a log in any case, and text may follow binary bytes.
    const isLog = known !== undefined || isBinary(bytes);
    const state = isLog ? undefined : this.#head.findUnshippedState(end, context, mediaType);
    if (state === 'more') return;
    if (state) throw createLogError(state, name);
    if (!head) return;
    this.#firstWallAsUtcMs = head.firstWallAsUtcMs;
    if (!isLog && this.#isUnconfirmed(head)) return;
    const start = known || acceptsNew ? await begin({ ...head, known }) : undefined;
    if (!start) {
      this.#outcome = known || acceptsNew ? { kind: 'deferred' } : this.#toUnrelated(undefined);
      return;
    }
    const reading = this.#begin(start);
    if (learnt && start.context.stream?.order === undefined) reading.builder.learnOrder(learnt);
    this.#head.clear();
    if (bytes.length > 0) this.#advance(reading, bytes);
  }

  /** Defers a body that may be an error text to the next run, and rejects it if another log has the same one. */
  #isUnconfirmed({ key, textSha: sha }: Head): boolean {
    const { name, texts } = this.#options;
    if (!texts || sha === undefined) return false;
    if (texts.own?.key === key) {
      if (texts.others.some((other) => other.sha === sha)) throw createLogError('error_page', name);
      return false;
    }
    this.#outcome = { kind: 'deferred', text: { key, sha } };
    return true;
  }

  #begin(start: ReadingStart): Progress {
    const reading = new Progress(start, this.#options.endMs);
    this.#reading = reading;
    // Damage at the beginning is before the first line.
    if (reading.isProven) this.#lose(reading);
    if (reading.isProven && this.#firstBlock) {
      const { block, outputOffset } = this.#firstBlock;
      reading.builder.recover({ block, offset: outputOffset });
    }
    return reading;
  }

  #toUnrelated(candidate: LogFile | undefined): ReadingResult {
    const isHeadLost = this.#isHeadLost || undefined;
    return { kind: 'unrelated', candidate, firstWallAsUtcMs: this.#firstWallAsUtcMs, isHeadLost };
  }

  #advance(reading: Progress, chunk: Uint8Array): void {
    const { file } = reading;
    const skipped = Math.min(chunk.length, Math.max(0, reading.knownBytes - this.#seenBytes));
    this.#seenBytes += skipped;
    if (!reading.isProven) {
      this.#hash.update(chunk.subarray(0, skipped));
      if (this.#seenBytes < reading.knownBytes) return;
      if (this.#hash.prove().sha !== file.proof.sha) {
        this.#outcome = this.#toUnrelated(file);
        return;
      }
      reading.isProven = true;
    }
    if (skipped === chunk.length) return;
    const { splitter } = reading;
    const fresh = chunk.subarray(skipped);
    const lineEnd = fresh.lastIndexOf(LINE_FEED) + 1;
    this.#hash.update(fresh.subarray(0, lineEnd));
    if (lineEnd > 0) file.proof = this.#hash.prove();
    this.#hash.update(fresh.subarray(lineEnd));
    this.#seenBytes += fresh.length;
    splitter.push(
      fresh,
      (line) => reading.push(line),
      (bytes, from, start) => reading.takeRun(bytes, from, start),
    );
    file.off = splitter.offset;
  }
}
