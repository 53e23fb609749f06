import { createHash, type Hash } from 'node:crypto';
import { yieldToLoop } from '../base/index.ts';
import type { BlockLost, BlockRecovered } from './archive/index.ts';
import { LogError } from './errors.ts';
import { findHead, type Head, looksForeign } from './file-head.ts';
import { LineSplitter } from './line-splitter.ts';
import { createInstance, type Instance } from './position.ts';
import { PrefixHash } from './prefix-proof.ts';
import { createBatch, type ReadingEnd, RecordBuilder, type RecordContext, type ScanBatch } from './record-builder.ts';
import { type DateOrder, learnDateOrder } from './stamp.ts';
import type { StreamState } from './stream-state.ts';

export interface ScanOptions {
  /** As the router lists it. */
  readonly file: string;
  /** What the records of this file share, once it is known which file it is. */
  readonly createContext: (instance: Instance) => RecordContext;
  /** Files read before, one of which this may be. */
  readonly candidates: readonly Instance[];
  /** Whether a file that is none of the candidates is read, from its start. */
  readonly acceptsNew: boolean;
  /** Whether the router writes no more to this file: then an unterminated last line is a line. */
  readonly isClosed: boolean;
  /** Whether a body without a single time stamp can be no log. */
  readonly isStampExpected: boolean;
  /** Whether a file whose first stamped line has this wall time may be read now; `known` is the candidate that begins alike. */
  readonly admits: (firstWallAsUtcMs: number, known: Instance | undefined) => boolean;
  /** The generation of a new file that begins with `key`. */
  readonly nextGen: (key: string) => number;
  /** About when the file ends: its rotation or its download. Milliseconds since the Unix epoch. */
  readonly endMs: number;
  /** In which order its dates are, when that is known. */
  readonly order?: DateOrder | undefined;
  /** Called during the reading each time `batchBytes` of lines have come together; the rest is for {@link FileScan.takeBatch}. */
  readonly onBatch: (instance: Instance, batch: ScanBatch) => void;
  /** Maximum size of one batch of lines, in bytes. */
  readonly batchBytes: number;
}

/**
 * `taken`: the file is a candidate, or new and accepted, and its lines were handed out from where `instance` stood.
 * `stranger`: it is none of the candidates; `suspect` is the one that begins alike, if there is one.
 * `withheld`: it was not admitted.
 * `nothing`: it holds no complete line.
 */
export type ScanResult =
  | { readonly kind: 'taken'; readonly instance: Instance }
  | {
      readonly kind: 'stranger';
      readonly suspect: Instance | undefined;
      /** Wall time of its first line. */
      readonly firstWallAsUtcMs: number | undefined;
    }
  | { readonly kind: 'withheld' }
  | { readonly kind: 'nothing' };

const LINE_FEED = 0x0a;
/** Lines of so many bytes are worked through at once, or the chunk that came: a few milliseconds. */
const STEP_BYTES = 96 * 1024;
/** Lines of a head that are looked at for the order of their dates. */
const ORDER_LINES_MAX = 200;
/** Ends of a file within one line that are remembered. */
const TORN_MAX = 8;

/** What the file turned out to be, and how far it has been checked and read. */
interface Track {
  readonly instance: Instance;
  readonly builder: RecordBuilder;
  readonly splitter: LineSplitter;
  /** Bytes of the file that were read before. */
  readonly knownBytes: number;
  isProven: boolean;
}

/**
 * One reading of one file. The beginning of the file names the candidate that it may be; the hash over everything that
 * was read before proves it; only then are lines handed out. Memory does not grow with the file.
 */
export class FileScan {
  readonly #options: ScanOptions;
  #head: Uint8Array[] = [];
  #headBytes = 0;
  #track: Track | undefined;
  #outcome: ScanResult | undefined;
  #firstWallAsUtcMs: number | undefined;
  #seenBytes = 0;
  #hash = new PrefixHash();
  /** Of a file whose proof is of version 1. */
  #plainHash: Hash | undefined;
  /** Damage that no batch tells yet. */
  #lost: BlockLost[] = [];

  constructor(options: ScanOptions) {
    this.#options = options;
  }

  /** Goes on in `instance`, without the bytes before the `base` of its proof: the next byte is that one. */
  resume(instance: Instance, base: number, baseSha: string): void {
    this.#seenBytes = base;
    this.#hash = new PrefixHash({ base, baseSha });
    this.#begin(instance);
  }

  /** Reads `body` to its end or until the file is known to be a stranger. Throws what `body` throws, and `LogError`. */
  async read(body: AsyncIterable<Uint8Array | BlockLost | BlockRecovered>): Promise<ScanResult> {
    let stepBytes = 0;
    for await (const item of body) {
      if (item instanceof Uint8Array) {
        this.#push(item);
        stepBytes += item.length;
      } else if (item.kind === 'block-lost') this.#lost.push(item);
      else this.#recover(item);
      if (this.#outcome) return this.#outcome;
      // Chunks that have come already would be worked through in one go, and what is due meanwhile would wait for all.
      if (stepBytes >= STEP_BYTES) {
        stepBytes = 0;
        await yieldToLoop();
      }
      if (this.#track && this.#track.builder.batchBytes >= this.#options.batchBytes) {
        this.#options.onBatch(this.#track.instance, this.takeBatch('more'));
      }
    }
    return this.#finish();
  }

  /** The file that is being read, once it is known and proven. */
  get instance(): Instance | undefined {
    return this.#track?.isProven ? this.#track.instance : undefined;
  }

  /** Damage of a file in which no line could be read. */
  get lost(): readonly BlockLost[] {
    return this.#lost;
  }

  /** What the next reading of the log needs; belongs to the batch that was taken last. */
  get stream(): StreamState | undefined {
    return this.#track?.builder.state;
  }

  /** Takes the whole lines that were read and not yet taken; from here on `instance` stands behind them. */
  takeBatch(end: ReadingEnd): ScanBatch {
    return this.instance && this.#track ? this.#track.builder.take(end) : createBatch();
  }

  #finish(): ScanResult {
    if (!this.#track) this.#identify(true);
    if (this.#outcome) return this.#outcome;
    const track = this.#track;
    if (track?.isProven) {
      const { instance, splitter, builder } = track;
      if (this.#options.isClosed) {
        splitter.finish((line) => (this.#lost.length > 0 ? builder.pushHalf(line) : builder.push(line)));
        instance.off = splitter.offset;
        this.#lose(track);
        instance.proof = this.#hash.prove();
        instance.tornAt = [];
      } else this.#noteEnd(track);
      return { kind: 'taken', instance };
    }
    if (track) return this.#toStranger(track.instance);
    const head = Buffer.concat(this.#head);
    if (looksForeign(head)) throw this.#toForeignError();
    return head.length > 0 && this.#options.candidates.length > 0 ? this.#toStranger(undefined) : { kind: 'nothing' };
  }

  /** Where the file ends now: a crash of the log daemon glues its next line to what stands there. */
  #noteEnd({ instance, splitter, builder }: Track): void {
    if (splitter.unfinishedBytes === 0) {
      instance.tornAt = [];
      return;
    }
    builder.state.isBuffered = true;
    const end = splitter.offset + splitter.unfinishedBytes;
    if (!instance.tornAt.includes(end)) instance.tornAt = [...instance.tornAt, end].slice(-TORN_MAX);
  }

  #push(chunk: Uint8Array): void {
    if (this.#track) {
      this.#advance(this.#track, chunk);
      return;
    }
    this.#head.push(chunk);
    this.#headBytes += chunk.length;
    this.#identify(false);
  }

  /** What follows stands behind a damaged stretch. */
  #recover({ block, outputOffset }: BlockRecovered): void {
    if (!this.#track) this.#identify(true);
    const track = this.#track;
    if (!track?.isProven) return;
    const { splitter, builder, instance } = track;
    // Half a line before the stretch, and behind it half a line again.
    splitter.finish((line) => builder.pushHalf(line));
    instance.off = splitter.offset;
    instance.proof = this.#hash.prove();
    this.#lose(track);
    builder.recover({ block, offset: outputOffset });
  }

  /** Hands on what was lost here, as far as an earlier reading has not told it. */
  #lose({ builder, instance }: Track): void {
    const fresh = this.#lost.filter(({ startBit }) => startBit >= (instance.damageToldBit ?? 0));
    this.#lost = [];
    if (fresh.length > 0) builder.lose(fresh);
  }

  /** Decides what the file is, once its head says so; `isWhole` when no more of it will come. */
  #identify(isWhole: boolean): void {
    const { candidates, acceptsNew, isClosed, nextGen, admits, isStampExpected, order, endMs } = this.#options;
    const bytes = Buffer.concat(this.#head, this.#headBytes);
    const lines = bytes.toString('latin1').split('\n', ORDER_LINES_MAX);
    const learnt = order ?? learnDateOrder(lines, endMs);
    const head: Head | undefined = findHead(bytes, isWhole && isClosed, { order: learnt ?? 'dmy', nearMs: endMs });
    if (!head) return;
    this.#firstWallAsUtcMs = head.firstWallAsUtcMs;
    if (head.firstWallAsUtcMs === undefined && (isStampExpected || looksForeign(bytes))) throw this.#toForeignError();
    const alike = candidates.filter(({ key }) => key === head.key).toSorted((a, b) => b.off - a.off)[0];
    if (!alike && !acceptsNew) this.#outcome = this.#toStranger(undefined);
    else if (head.firstWallAsUtcMs !== undefined && !admits(head.firstWallAsUtcMs, alike)) {
      this.#outcome = { kind: 'withheld' };
    }
    if (this.#outcome) return;
    const track = this.#begin(alike ?? createInstance(head.key, nextGen(head.key)));
    track.builder.state.order ??= learnt;
    const chunks = this.#head;
    this.#head = [];
    for (const chunk of chunks) if (!this.#outcome) this.#advance(track, chunk);
  }

  #begin(instance: Instance): Track {
    const track = {
      instance,
      builder: new RecordBuilder(this.#options.createContext(instance), instance),
      splitter: new LineSplitter(instance.off),
      knownBytes: instance.off,
      isProven: instance.off === 0,
    };
    if ('plainSha' in instance.proof) this.#plainHash = createHash('sha256');
    this.#track = track;
    // Damage at the beginning of a file lies before its first line.
    if (track.isProven) this.#lose(track);
    return track;
  }

  #toStranger(suspect: Instance | undefined): ScanResult {
    return { kind: 'stranger', suspect, firstWallAsUtcMs: this.#firstWallAsUtcMs };
  }

  #toForeignError(): LogError {
    return new LogError('foreign', `${this.#options.file} holds no log lines`, {
      disposition: 'retry',
      hint: 'The router may have answered with an error page',
    });
  }

  #advance(track: Track, chunk: Uint8Array): void {
    const { instance, builder, splitter } = track;
    const skipped = Math.min(chunk.length, Math.max(0, track.knownBytes - this.#seenBytes));
    this.#seenBytes += skipped;
    if (!track.isProven) {
      const known = chunk.subarray(0, skipped);
      this.#hash.update(known);
      this.#plainHash?.update(known);
      if (this.#seenBytes < track.knownBytes) return;
      if (!this.#isSame(instance)) {
        this.#outcome = this.#toStranger(instance);
        return;
      }
      track.isProven = true;
    }
    const fresh = chunk.subarray(skipped);
    const lineEnd = fresh.lastIndexOf(LINE_FEED) + 1;
    this.#hash.update(fresh.subarray(0, lineEnd));
    if (lineEnd > 0) instance.proof = this.#hash.prove();
    this.#hash.update(fresh.subarray(lineEnd));
    this.#seenBytes += fresh.length;
    splitter.push(fresh, (line) => builder.push(line));
    instance.off = splitter.offset;
  }

  /** Whether the bytes so far are those that were read before. */
  #isSame({ proof }: Instance): boolean {
    if (!('plainSha' in proof)) return this.#hash.prove().sha === proof.sha;
    return this.#plainHash?.digest('hex') === proof.plainSha;
  }
}
