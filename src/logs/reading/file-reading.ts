import { yieldToLoop } from '../../base/index.ts';
import type { BlockLost, BlockRecovered } from '../../bzip2/index.ts';
import type { Completion } from '../../model/index.ts';
import { PrefixHash } from '../position/identity.ts';
import {
  copyFile,
  createStreamState,
  type LogFile,
  type LogFileDraft,
  type StreamState,
} from '../position/position.ts';
import type { ReadingEnd } from '../records/entry.ts';
import { LineSplitter, type RawLine } from '../records/line-splitter.ts';
import { createBatch, type RecordBatch } from '../records/record-batch.ts';
import { RecordBuilder, type RecordContext } from '../records/record-builder.ts';
import { type DateOrder, learnDateOrder, needsDateOrder } from '../time/stamp.ts';
import { createLogError } from './errors.ts';
import { FileHead, type Head } from './file-head.ts';
import { isBinary, TextFilter } from './text.ts';

/** Facts about a file before it is read, and who takes its lines. All but the functions is plain data. */
export interface ReadingOptions {
  /** As the router lists it. */
  readonly name: string;
  /** Files read before, one of which this may be. */
  readonly candidates: readonly LogFile[];
  /** True if a file that is none of the candidates is read, from its start. */
  readonly acceptsNew: boolean;
  /** True if the router writes no more to this file: then an unterminated last line is a line. */
  readonly isClosed: boolean;
  /** The media type of the response, as the router says it. */
  readonly mediaType?: string | undefined;
  /** Short bodies without a time that the logs of the router have had: one is a log at the second look only. Absent: at the first. */
  readonly texts?: SeenTexts | undefined;
  /** About when the file ends: its rotation or its download. Milliseconds since the Unix epoch. */
  readonly endMs: number;
  /** In which order its dates are, when that is known. */
  readonly order?: DateOrder | undefined;
  /** Maximum size of one batch of lines, in bytes. */
  readonly batchBytes: number;
  /** Called once the beginning of the file is known. Returns `undefined` if the file may not be read yet. */
  readonly begin: (beginning: FileBeginning) => ReadingStart | undefined | Promise<ReadingStart | undefined>;
  /** Called during the reading each time `batchBytes` of lines have come together; the rest is for {@link Reading.takeBatch}. */
  readonly onBatch: (batch: RecordBatch) => Completion;
}

/** A short body without a time. */
interface SeenText extends Pick<Head, 'key'> {
  /** SHA-256 of all of it. */
  readonly sha: string;
}

/** Short bodies without a time: of the log that is read, and of the other logs of its router. */
export interface SeenTexts {
  readonly own: SeenText | undefined;
  readonly others: readonly SeenText[];
}

/** The beginning of a file. */
export interface FileBeginning extends Head {
  /** The candidate that begins alike; `undefined` for a new file. */
  readonly known: LogFile | undefined;
}

/** The file that is read, as it stands now, and what its records share. */
export interface ReadingStart {
  readonly file: LogFile;
  readonly context: RecordContext;
}

/** Bytes of a file, valid until the next item is asked for; what was lost of it, and the places where it goes on. */
export type ReadingItem = Uint8Array | BlockLost | BlockRecovered;

/** One reading of one file. */
export interface Reading {
  /** The file that is being read, once it is known and proven. */
  readonly file: LogFile | undefined;
  /** Damage of a file in which no line could be read. */
  readonly lost: readonly BlockLost[];
  /** State that the next reading of the log needs; belongs to the batch that was taken last. */
  readonly stream: StreamState | undefined;
  /**
   * Takes the whole lines that were read and not yet taken; from here on {@link file} stands behind them. What the last
   * line waits for depends on how {@link read} ended.
   */
  takeBatch(): RecordBatch;
}

/**
 * `taken`: the file is a candidate, or new and accepted, and its lines were handed out from where `file` stood.
 * `unrelated`: it is none of the candidates; `candidate` is the one that begins alike, if there is one.
 * `damaged`: it begins like `candidate`, and a part of it is lost that was read before, so that nothing proves where it goes on.
 * `deferred`: it may not be read yet; `text` if it may be the text of an error, which other logs would show, too.
 * `nothing`: it holds no complete line.
 * `binary`: it is a new file that holds so many bytes, and no text.
 */
export type ReadingResult =
  | { readonly kind: 'taken'; readonly file: LogFile }
  | {
      readonly kind: 'unrelated';
      readonly candidate: LogFile | undefined;
      /** Wall time of its first line. */
      readonly firstWallAsUtcMs: number | undefined;
      /** True if its beginning is lost: it may be any of the candidates. */
      readonly isHeadLost?: boolean | undefined;
    }
  | { readonly kind: 'damaged'; readonly candidate: LogFile }
  | { readonly kind: 'deferred'; readonly text?: SeenText | undefined }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'binary'; readonly bytes: number };

const LINE_FEED = 0x0a;
/** The state of lines that are read out of the order of their log. */
const NO_STREAM = createStreamState();
/** Lines of so many bytes are worked through at once, or the chunk that came: a few milliseconds. */
const STEP_BYTES = 96 * 1024;
/** A chunk takes as long as so many bytes, however short it is. */
const CHUNK_COST_BYTES = 256;
/** The beginning of a file that is looked at for the order of its dates, however the bytes arrive. */
const ORDER_BYTES = 4096;
/** No stamp is longer. */
const STAMP_BYTES_MAX = 64;
/** Ends of a file within one line that are remembered. */
const TORN_MAX = 8;

/** The lines in the first bytes of a file, each cut where no stamp reaches; with the last one only if it `isEnded`. */
function* beginningsOfLines(bytes: Buffer, isEnded: boolean): Generator<string> {
  const head = bytes.subarray(0, ORDER_BYTES);
  let from = 0;
  for (let end = head.indexOf(LINE_FEED); end >= 0; end = head.indexOf(LINE_FEED, from)) {
    yield head.toString('latin1', from, Math.min(end, from + STAMP_BYTES_MAX));
    from = end + 1;
  }
  if (isEnded) yield head.toString('latin1', from, from + STAMP_BYTES_MAX);
}

/** The file as it turned out, and how far it has been checked and read. */
class Progress {
  readonly file: LogFileDraft;
  /** Bytes of the file that were read before. */
  readonly knownBytes: number;
  isProven: boolean;
  readonly #context: RecordContext;
  readonly #endMs: number;
  /** True if it was seen to end within a line. */
  readonly #wasTorn: boolean;
  #builder: RecordBuilder | undefined;
  #splitter: LineSplitter | undefined;
  readonly #filter = new TextFilter({
    onLine: (line) => this.builder.push(line),
    onBinary: (offset, bytes) => this.builder.loseBytes(offset, bytes),
  });

  /** `endMs`: about when the file ends. */
  constructor({ file, context }: ReadingStart, endMs: number) {
    this.file = copyFile(file);
    this.#context = context;
    this.#endMs = endMs;
    this.#wasTorn = file.tornAt.length > 0;
    this.knownBytes = file.off;
    this.isProven = file.off === 0;
  }

  /** Made for the first bytes that are new: nearly all readings of a fleet find none. */
  get builder(): RecordBuilder {
    this.#builder ??= new RecordBuilder({ ...this.#context, endMs: this.#endMs }, this.file);
    return this.#builder;
  }

  get splitter(): LineSplitter {
    this.#splitter ??= new LineSplitter(this.file.off);
    return this.#splitter;
  }

  /** Takes the next line, or a part of bytes that are no text. */
  push(line: RawLine): void {
    this.#filter.push(line);
  }

  /** Takes usual lines: see {@link RecordBuilder.takeRun}. */
  takeRun(bytes: Buffer, from: number, start: number): number {
    if (!this.#filter.isIdle) return from;
    const to = this.builder.takeRun(bytes, from, start);
    if (to > from) this.#filter.noteText();
    return to;
  }

  /** Hands on what was kept back because the next line might say what it is. */
  settle(): void {
    this.#filter.settle();
  }

  /** True within bytes that are no text. */
  get isInBinary(): boolean {
    return this.#filter.binaryBytes > 0;
  }

  /** Bytes of a file that was not known and holds no text; `undefined` for any other. */
  get binaryBytes(): number | undefined {
    const { isAllBinary, binaryBytes } = this.#filter;
    return this.knownBytes === 0 && isAllBinary ? binaryBytes : undefined;
  }

  /** True if all bytes were known, and no line of an earlier reading has waited for this one. */
  get isUnchanged(): boolean {
    const { held, joins } = this.#context.stream ?? NO_STREAM;
    return !this.#builder && this.isProven && !this.#wasTorn && (held === undefined || joins);
  }

  /** Bytes of the lines that wait for {@link FileReading.takeBatch}. */
  get batchBytes(): number {
    return this.#builder?.batchBytes ?? 0;
  }

  /** Bytes of the line that has no end yet. */
  get unfinishedBytes(): number {
    return this.#splitter?.unfinishedBytes ?? 0;
  }
}

/**
 * Reads one file. The beginning of the file names the candidate that it may be; the hash over everything that
 * was read before proves it; only then are lines handed out. Memory does not grow with the file.
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
  /** Damage that no batch tells yet. */
  #lost: BlockLost[] = [];
  /** True if the beginning of the file is lost. */
  #isHeadLost = false;
  /** The block with which the file begins when what stood before it is lost. */
  #firstBlock: BlockRecovered | undefined;

  constructor(options: ReadingOptions) {
    this.#options = options;
  }

  /** Goes on in a known file, without the bytes before the `base` of its proof: the next byte is that one. */
  resume(start: ReadingStart, base: number, baseSha: string): void {
    this.#seenBytes = base;
    this.#hash[Symbol.dispose]();
    this.#hash = new PrefixHash({ base, baseSha });
    this.#begin(start);
  }

  /** Reads `body` to its end or until the file is known to be unrelated. Throws what `body` throws, and `LogError`. */
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
      } else if (item.kind === 'block-lost') this.#noteLost(item);
      else await this.#recover(item);
      if (this.#outcome) return this.#outcome;
      // Chunks that have come already would be worked through in one go, and what is due meanwhile would wait for all.
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

  /** True if the file is the candidate, every byte of it was read before, and nothing has to be noted. */
  get isUnchanged(): boolean {
    return this.#reading?.isUnchanged ?? false;
  }

  /** True if lines were read that no earlier reading has read. */
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
      } else this.#noteEnd(reading);
      const { binaryBytes } = reading;
      if (binaryBytes !== undefined) return { kind: 'binary', bytes: binaryBytes + reading.unfinishedBytes };
      return { kind: 'taken', file: copyFile(file) };
    }
    if (reading) return this.#toUnrelated(reading.file);
    const head = this.#head.bytes;
    if (this.#options.acceptsNew && isBinary(head)) return { kind: 'binary', bytes: head.length };
    return head.length > 0 && this.#options.candidates.length > 0 ? this.#toUnrelated(undefined) : { kind: 'nothing' };
  }

  /** Remembers the end of the file: after a crash, the log daemon appends its next line to a torn one there. */
  #noteEnd(reading: Progress): void {
    const { file, unfinishedBytes } = reading;
    if (unfinishedBytes === 0) {
      if (file.tornAt.length > 0) file.tornAt = [];
      return;
    }
    reading.builder.noteBuffered();
    const end = reading.splitter.offset + unfinishedBytes;
    if (!file.tornAt.includes(end)) file.tornAt = [...file.tornAt, end].slice(-TORN_MAX);
  }

  async #push(chunk: Uint8Array): Promise<void> {
    if (this.#reading) {
      this.#advance(this.#reading, chunk);
      return;
    }
    this.#head.push(chunk);
    if (this.#head.isWorthALook) await this.#identify(false);
  }

  #noteLost(lost: BlockLost): void {
    this.#lost.push(lost);
    const reading = this.#reading;
    if (!reading) this.#isHeadLost ||= this.#head.bytes.length === 0;
    else if (!reading.isProven) this.#outcome = { kind: 'damaged', candidate: copyFile(reading.file) };
  }

  /** The next bytes stand behind a damaged stretch. */
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
    // Half a line before the stretch, and behind it half a line again.
    reading.settle();
    splitter.finish((line) => builder.pushHalf(line));
    file.off = splitter.offset;
    file.proof = this.#hash.prove();
    this.#lose(reading);
    builder.recover({ block, offset: outputOffset });
  }

  /** Hands on what was lost here, as far as an earlier reading has not told it. */
  #lose(reading: Progress): void {
    if (this.#lost.length === 0) return;
    const { builder, file } = reading;
    const fresh = this.#lost.filter(({ startBit }) => startBit >= (file.damageToldBit ?? 0));
    this.#lost = [];
    if (fresh.length > 0) builder.lose(fresh);
  }

  /** Decides what the file is if no more of its head will come: as if all of it had come at once. */
  async #identifyWhole(): Promise<void> {
    if (!this.#reading && this.#head.hasUnseen) await this.#identify(false);
    if (!this.#reading && !this.#outcome) await this.#identify(true);
  }

  /** Decides what the file is, once its head says so; `isWhole` when no more of it will come. Throws `LogError` if it is no log. */
  async #identify(isWhole: boolean): Promise<void> {
    const { name, candidates, acceptsNew, isClosed, mediaType, order, endMs, begin } = this.#options;
    const { bytes, nulBytes } = this.#head.look();
    // A power cut leaves NUL bytes before the first line.
    const text = bytes.subarray(nulBytes);
    const needsOrder = order === undefined && needsDateOrder(beginningsOfLines(text, isWhole), endMs);
    // The first chunk may hold one line or fifty: what is learnt from it must not depend on that.
    if (needsOrder && !isWhole && text.length < ORDER_BYTES) return;
    const learnt = needsOrder ? learnDateOrder([...beginningsOfLines(text, true)], endMs) : order;
    const context = { order: learnt ?? 'dmy', lineBeforeMs: undefined, endMs };
    const end = !isWhole ? 'more' : isClosed ? 'closed' : 'open';
    const head = this.#head.find(end, context);
    if (!head && !isWhole) return;
    const known = candidates.filter(({ key }) => key === head?.key).toSorted((a, b) => b.off - a.off)[0];
    // What was read before is a log, whatever it begins with, and behind bytes that are no text there may be some.
    const isLog = known !== undefined || isBinary(bytes);
    const state = isLog ? undefined : this.#head.findUnshippedState(end, context, mediaType);
    if (state === 'more') return;
    if (state) throw createLogError(state, name);
    if (!head) return;
    this.#firstWallAsUtcMs = head.firstWallAsUtcMs;
    if (!isLog && this.#isDoubtful(head)) return;
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

  /** Ends the reading if the body may be the text of an error: at the first look, and if another log has the same one. */
  #isDoubtful({ key, textSha: sha }: Head): boolean {
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
    // Damage at the beginning of a file lies before its first line.
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
