import { createHash, type Hash } from 'node:crypto';
import { LogError } from './errors.ts';
import { LineSplitter, type RawLine } from './line-splitter.ts';
import { parseLine } from './parse-line.ts';
import type { Instance } from './position.ts';
import { RecordBuilder, type RecordContext } from './record-builder.ts';

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
  /** Whether a new file whose first stamped line has this wall time may be read now. */
  readonly admits: (firstWallAsUtcMs: number) => boolean;
  /** The generation of a new file that begins with `key`. */
  readonly nextGen: (key: string) => number;
  /** Called during the reading each time `batchBytes` of lines have come together; the rest is for {@link FileScan.takeBatch}. */
  readonly onBatch: (instance: Instance, batch: ScanBatch) => void;
  readonly batchBytes: number;
}

/** Lines read since the last batch, as records. */
export interface ScanBatch {
  readonly records: string[];
  bytes: number;
  unparsed: number;
}

/**
 * `taken`: the file is a candidate, or new and accepted, and its lines were handed out from where `instance` stood.
 * `stranger`: it is none of the candidates; `suspect` is the one that begins alike, if there is one.
 * `withheld`: it is new, and was not admitted.
 * `nothing`: it holds no complete line.
 */
export type ScanResult =
  | { readonly kind: 'taken'; readonly instance: Instance }
  | { readonly kind: 'stranger'; readonly suspect: Instance | undefined }
  | { readonly kind: 'withheld' }
  | { readonly kind: 'nothing' };

/** How far the first line with a stamp is looked for; a file's key covers no more than this. Bytes. */
const HEAD_BYTES_MAX = 16 * 1024;
/** Stamp and tag of a line stand within this many bytes. */
const STAMP_BYTES_MAX = 256;
const LINE_FEED = 0x0a;

/**
 * One reading of one file. The beginning of the file names the candidate that it may be; the hash over everything that
 * was read before proves it; only then are lines handed out. Memory does not grow with the file.
 */
export class FileScan {
  readonly #options: ScanOptions;
  #head: Uint8Array[] = [];
  #headBytes = 0;
  /** What the file turned out to be, and how far it has been checked and read. */
  #track: { instance: Instance; builder: RecordBuilder; splitter: LineSplitter; isProven: boolean } | undefined;
  #suspect: Instance | undefined;
  #isStranger = false;
  #isWithheld = false;
  #seenBytes = 0;
  readonly #hash: Hash = createHash('sha256');
  /** The hash up to the end of the last whole line. */
  #lineHash: Hash | undefined;
  #batch: ScanBatch = { records: [], bytes: 0, unparsed: 0 };

  constructor(options: ScanOptions) {
    this.#options = options;
  }

  /** Reads `body` to its end or until the file is known to be a stranger. Throws what `body` throws, and `LogError`. */
  async read(body: AsyncIterable<Uint8Array>): Promise<ScanResult> {
    for await (const chunk of body) {
      this.#push(chunk);
      if (this.#isStranger) return { kind: 'stranger', suspect: this.#suspect };
      if (this.#isWithheld) return { kind: 'withheld' };
      if (this.#track && this.#batch.bytes >= this.#options.batchBytes) {
        this.#options.onBatch(this.#track.instance, this.takeBatch());
      }
    }
    return this.#finish();
  }

  /** The file that is being read, once it is known and proven. */
  get instance(): Instance | undefined {
    return this.#track?.isProven ? this.#track.instance : undefined;
  }

  /** Takes the whole lines that were read and not yet taken; from here on `instance` stands behind them. */
  takeBatch(): ScanBatch {
    if (this.#track?.isProven && this.#lineHash) this.#track.instance.prefixSha = this.#lineHash.copy().digest('hex');
    const batch = this.#batch;
    this.#batch = { records: [], bytes: 0, unparsed: 0 };
    return batch;
  }

  #finish(): ScanResult {
    if (!this.#track) this.#identify(true);
    if (this.#isWithheld) return { kind: 'withheld' };
    if (this.#track?.isProven) {
      const { instance, splitter } = this.#track;
      if (this.#options.isClosed) {
        splitter.finish((line) => this.#take(line));
        instance.off = splitter.offset;
        this.#lineHash = this.#hash;
      }
      return { kind: 'taken', instance };
    }
    if (this.#track) return { kind: 'stranger', suspect: this.#track.instance };
    const head = Buffer.concat(this.#head);
    if (looksForeign(head)) throw this.#toForeignError();
    if (this.#isStranger || this.#options.candidates.length > 0) return { kind: 'stranger', suspect: this.#suspect };
    return { kind: 'nothing' };
  }

  #push(chunk: Uint8Array): void {
    if (this.#track) {
      this.#advance(chunk);
      return;
    }
    this.#head.push(chunk);
    this.#headBytes += chunk.length;
    this.#identify(false);
  }

  /** Decides what the file is, once its head says so; `isWhole` when no more of it will come. */
  #identify(isWhole: boolean): void {
    const { candidates, acceptsNew, isClosed, nextGen, admits } = this.#options;
    const head = Buffer.concat(this.#head, this.#headBytes);
    const keyBytes = findKeyBytes(head, isWhole && isClosed);
    if (keyBytes === undefined) return;
    if (keyBytes.firstWallAsUtcMs === undefined && (this.#options.isStampExpected || looksForeign(head)))
      throw this.#toForeignError();
    const key = createHash('sha256').update(head.subarray(0, keyBytes.length)).digest('hex');
    const alike = candidates.filter((candidate) => candidate.key === key).toSorted((a, b) => b.off - a.off)[0];
    if (!alike && !acceptsNew) {
      this.#isStranger = true;
      return;
    }
    if (!alike && keyBytes.firstWallAsUtcMs !== undefined && !admits(keyBytes.firstWallAsUtcMs)) {
      this.#isWithheld = true;
      return;
    }
    const instance = alike ?? createInstance(key, nextGen(key));
    this.#track = {
      instance,
      builder: new RecordBuilder(this.#options.createContext(instance), instance),
      splitter: new LineSplitter(instance.off),
      isProven: instance.off === 0,
    };
    const chunks = this.#head;
    this.#head = [];
    for (const chunk of chunks) if (!this.#isStranger) this.#advance(chunk);
  }

  #toForeignError(): LogError {
    return new LogError('foreign', `${this.#options.file} holds no log lines`, {
      disposition: 'retry',
      hint: 'The router may have answered with an error page',
    });
  }

  #advance(chunk: Uint8Array): void {
    const track = this.#track;
    if (!track) return;
    const skipped = Math.min(chunk.length, Math.max(0, track.instance.off - this.#seenBytes));
    this.#seenBytes += skipped;
    if (!track.isProven) {
      this.#hash.update(chunk.subarray(0, skipped));
      if (this.#seenBytes < track.instance.off) return;
      if (this.#hash.copy().digest('hex') !== track.instance.prefixSha) {
        this.#suspect = track.instance;
        this.#isStranger = true;
        return;
      }
      track.isProven = true;
    }
    const fresh = chunk.subarray(skipped);
    const lineEnd = fresh.lastIndexOf(LINE_FEED) + 1;
    if (lineEnd > 0) {
      this.#hash.update(fresh.subarray(0, lineEnd));
      this.#lineHash = this.#hash.copy();
    }
    this.#hash.update(fresh.subarray(lineEnd));
    this.#seenBytes += fresh.length;
    track.splitter.push(fresh, (line) => this.#take(line));
    track.instance.off = track.splitter.offset;
  }

  #take(line: RawLine): void {
    if (!this.#track || (line.bytes.length === 0 && !line.isTruncated)) return;
    const { json, isParsed } = this.#track.builder.render(line);
    this.#batch.records.push(json);
    this.#batch.bytes += line.bytes.length + 1;
    if (!isParsed) this.#batch.unparsed++;
  }
}

/** The beginning of a page or of a JSON body, which some devices send with status 200 when they mean an error. */
function looksForeign(head: Buffer): boolean {
  return /^\s*[<{]/.test(head.toString('latin1', 0, 64));
}

function createInstance(key: string, gen: number): Instance {
  return {
    key,
    gen,
    off: 0,
    prefixSha: '',
    firstUtcMs: undefined,
    lastUtcMs: undefined,
    lastStart: 0,
  };
}

/** The bytes that identify a file, and the wall time in the line that ends them. */
interface KeyBytes {
  readonly length: number;
  /** `undefined` when no line of the head carries a stamp. */
  readonly firstWallAsUtcMs: number | undefined;
}

/** Finds the end of the first line with a stamp. `undefined` while more of the file is needed; `isWhole` when there is none. */
function findKeyBytes(head: Buffer, isWhole: boolean): KeyBytes | undefined {
  let from = 0;
  while (from < HEAD_BYTES_MAX) {
    const end = head.indexOf(LINE_FEED, from);
    const isUnterminated = end < 0;
    // Of a line that is longer than the head, the beginning is enough; but as much of it as any chunk would have brought.
    if (isUnterminated && !isWhole && head.length < HEAD_BYTES_MAX + STAMP_BYTES_MAX) return undefined;
    const stop = isUnterminated ? head.length : end;
    const { time } = parseLine(head.toString('utf8', from, Math.min(stop, from + STAMP_BYTES_MAX)));
    if (time) {
      const length = Math.min(isUnterminated ? stop : stop + 1, HEAD_BYTES_MAX);
      return { length, firstWallAsUtcMs: time.asUtcMs };
    }
    if (isUnterminated) break;
    from = end + 1;
  }
  if (head.length >= HEAD_BYTES_MAX) return { length: HEAD_BYTES_MAX, firstWallAsUtcMs: undefined };
  return isWhole && head.length > 0 ? { length: head.length, firstWallAsUtcMs: undefined } : undefined;
}
