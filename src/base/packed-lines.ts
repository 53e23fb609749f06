import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { LineTable } from './byte-line.ts';

/** A class of arrays of numbers. */
interface NumbersClass<Numbers> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer, byteOffset: number, length: number): Numbers;
}

/** Small enough that one array that stays keeps little of what left. Bytes. */
const SHARED_BYTES = 16 * 1024;
const ALIGNED_BYTES = Float64Array.BYTES_PER_ELEMENT;

let shared = new ArrayBuffer(0);
let used = 0;

/**
 * Creates a small array of zeros in memory that it shares with those that are created before and after it. Memory of its own is
 * outside of the heap: while much of that is in use, as for a large file, V8 marks the heap for 5 to 10 ms each time more is
 * allocated, however little; and a turn of the event loop creates dozens of these.
 */
export function createNumbers<Numbers>(kind: NumbersClass<Numbers>, length: number): Numbers {
  const bytes = length * kind.BYTES_PER_ELEMENT;
  if (bytes > SHARED_BYTES) return new kind(new ArrayBuffer(bytes), 0, length);
  if (used + bytes > shared.byteLength) {
    shared = new ArrayBuffer(SHARED_BYTES);
    used = 0;
  }
  const numbers = new kind(shared, used, length);
  used += Math.ceil(bytes / ALIGNED_BYTES) * ALIGNED_BYTES;
  return numbers;
}

/**
 * The fastest level already shrinks JSON lines about eightfold; higher levels cost more time than the space is worth.
 */
const ZSTD_LEVEL = 1;
/** Records that are alike are close to each other: a smaller window takes less time and finds no less. A power of two, of bytes. */
const WINDOW_LOG = 17;
const PARAMETERS = {
  [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL,
  [constants.ZSTD_c_windowLog]: WINDOW_LOG,
  [constants.ZSTD_c_checksumFlag]: 1,
};
/** First byte of a body of lines as they are, behind their CRC-32. What the codec gives begins with another one. */
const VERBATIM = 1;
const VERBATIM_HEAD_BYTES = 1 + Uint32Array.BYTES_PER_ELEMENT;
/** The codec takes longer to set up than to pack so few bytes; a row with more of them would need another page of SQLite's. */
const VERBATIM_BYTES_MAX = 900;
/** Less than this takes the codec a little more. */
const SMALL_BYTES = 128 * 1024;
/** The smallest chunk that the codec's binding allows. */
const CHUNK_BYTES_MIN = 64;
/**
 * Room for the body of a usual batch of a long log. With more the codec would spare a copy, but memory that comes and goes
 * has the heap searched for garbage, which takes longer.
 */
const CHUNK_BYTES_MAX = 256 * 1024;
/** By default the codec gives 16 KiB at a time: a hundred pieces of a usual batch, each of which is allocated and copied. */
const UNPACKED_CHUNK_BYTES_MIN = 16 * 1024;
/** A body expands about tenfold. */
const EXPANSION = 16;
/** Limits the decompressed size of a batch: this program writes the batches, but the disk may damage them. */
const BATCH_BYTES_MAX = 256 * 1024 * 1024;
/** First bytes of what the codec gives, and the bytes of a dictionary's number, as RFC 8878 (section 3.1.1.1) has them. */
const ZSTD_MAGIC = 0xfd2fb528;
const DICTIONARY_BYTES = [0, 1, 2, 4];

/** Lines without line feeds, with the forms in which they exist already. */
export interface PackableLines extends Iterable<string> {
  /** All lines in UTF-8, separated by line feeds. */
  readonly bytes?: Uint8Array | undefined;
  /** All lines as {@link packLines} packs them. */
  readonly packed?: Uint8Array | undefined;
}

/** Packs lines into one body: a few of them as they are, more with the codec. */
export function packLines(lines: PackableLines): Uint8Array {
  return lines.packed ?? packBytes(lines.bytes ?? Buffer.from([...lines].join('\n')));
}

/** Packs lines that are separated by line feeds. The body is in memory of its own. */
export function packBytes(lines: Uint8Array): Uint8Array<ArrayBuffer> {
  if (lines.length > VERBATIM_BYTES_MAX) return compress(lines);
  const body = new Uint8Array(VERBATIM_HEAD_BYTES + lines.length);
  body[0] = VERBATIM;
  Buffer.from(body.buffer).writeUInt32LE(crc32(lines), 1);
  body.set(lines, VERBATIM_HEAD_BYTES);
  return body;
}

function compress(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const chunkSize = Math.min(boundOf(bytes.length), CHUNK_BYTES_MAX);
  // A copy: otherwise a body would keep all of the chunk.
  return new Uint8Array(zstdCompressSync(bytes, { chunkSize, params: PARAMETERS }));
}

/** The longest body of so many bytes, as the codec defines it (`ZSTD_compressBound`). */
function boundOf(bytes: number): number {
  return bytes + (bytes >>> 8) + Math.max(0, (SMALL_BYTES - bytes) >>> 11) + CHUNK_BYTES_MIN;
}

/** Returns the size of what the codec packed, as its bytes tell; `undefined` if they do not. */
export function readPackedSize({ buffer, byteOffset, length }: Uint8Array): number | undefined {
  const frame = Buffer.from(buffer, byteOffset, length);
  const [descriptor = 0] = frame.subarray(4);
  const isSingle = (descriptor & 0x20) !== 0;
  const at = 5 + (isSingle ? 0 : 1) + (DICTIONARY_BYTES[descriptor & 3] ?? 0);
  const width = 1 << (descriptor >> 6);
  if (length < at + width || frame.readUInt32LE(0) !== ZSTD_MAGIC) return undefined;
  if (width === 1) return isSingle ? frame[at] : undefined;
  if (width === 2) return frame.readUInt16LE(at) + 256;
  return width === 4 ? frame.readUInt32LE(at) : Number(frame.readBigUInt64LE(at));
}

/**
 * Returns the lines of a body, in memory that may be its own. Throws, what the codec does or a `RangeError`, if it is damaged, or
 * expands to more than `bytesMax`.
 */
export function unpackLines(body: Uint8Array, bytesMax = BATCH_BYTES_MAX): LineTable {
  if (body[0] === VERBATIM) return new LineTable(readVerbatim(body));
  const bytes = readPackedSize(body) ?? 0;
  if (bytes > bytesMax) throw new RangeError(`The lines have ${bytes} bytes, and ${bytesMax} are allowed`);
  const chunkSize = Math.min(Math.max(body.length * EXPANSION, UNPACKED_CHUNK_BYTES_MIN), CHUNK_BYTES_MAX);
  return new LineTable(zstdDecompressSync(body, { chunkSize, maxOutputLength: bytesMax }));
}

function readVerbatim({ buffer, byteOffset, length }: Uint8Array): Buffer {
  const body = Buffer.from(buffer, byteOffset, length);
  const bytes = body.subarray(VERBATIM_HEAD_BYTES);
  if (length < VERBATIM_HEAD_BYTES || body.readUInt32LE(1) !== crc32(bytes)) {
    throw new RangeError('The checksum of these lines is wrong');
  }
  return bytes;
}
