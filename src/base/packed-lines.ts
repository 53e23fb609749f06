import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { LineTable } from './byte-line.ts';

interface NumbersClass<Numbers> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer, byteOffset: number, length: number): Numbers;
}

/** Small, so that an array that stays in use keeps little other memory. Bytes. */
const SHARED_BYTES = 16 * 1024;
const ALIGNED_BYTES = Float64Array.BYTES_PER_ELEMENT;

let shared = new ArrayBuffer(0);
let used = 0;

/**
 * Creates a small zeroed array in memory shared with arrays created before and after it. Memory of its own would be external to the heap:
 * while much external memory is in use, as for a large file, V8 marks the heap for 5 to 10 ms on each allocation, and an event-loop
 * iteration creates dozens of these arrays.
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

/** The fastest level already shrinks JSON lines about eightfold; higher levels cost more time than the space is worth. */
const ZSTD_LEVEL = 1;
/** Similar records are close together: a smaller window is faster and finds as much. log2 of bytes. */
const WINDOW_LOG = 17;
const PARAMETERS = {
  [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL,
  [constants.ZSTD_c_windowLog]: WINDOW_LOG,
  [constants.ZSTD_c_checksumFlag]: 1,
};
/** First byte of an uncompressed body, followed by the CRC-32 of the lines. zstd frames start with another byte. */
const VERBATIM = 1;
const VERBATIM_HEAD_BYTES = 1 + Uint32Array.BYTES_PER_ELEMENT;
/** Setting up zstd takes longer than packing so few bytes; a row with more of them would need another SQLite page. */
const VERBATIM_BYTES_MAX = 900;
/** Below this, zstd needs a little more. */
const SMALL_BYTES = 128 * 1024;
/** The smallest chunk that the zstd binding allows. */
const CHUNK_BYTES_MIN = 64;
/** Fits the body of an ordinary batch of a long log; allocating more triggers slower garbage collections. */
const CHUNK_BYTES_MAX = 256 * 1024;
/** By default zstd returns 16 KiB at a time: a hundred pieces of an ordinary batch, each allocated and copied. */
const UNPACKED_CHUNK_BYTES_MIN = 16 * 1024;
/** A body expands about tenfold. */
const EXPANSION = 16;
/** Limit of the decompressed size: this program writes the batches, but the disk may damage them. */
const BATCH_BYTES_MAX = 256 * 1024 * 1024;
/** Magic number of a zstd frame, and bytes of the dictionary ID by its flag: RFC 8878, section 3.1.1.1. */
const ZSTD_MAGIC = 0xfd2fb528;
const DICTIONARY_BYTES = [0, 1, 2, 4];

interface PackableLines extends Iterable<string> {
  /** All lines in UTF-8, separated by line feeds. */
  readonly bytes?: Uint8Array | undefined;
  readonly packed?: Uint8Array | undefined;
}

/** Packs lines into one body. */
export function packLines(lines: PackableLines): Uint8Array {
  return lines.packed ?? packBytes(lines.bytes ?? Buffer.from([...lines].join('\n')));
}

/** Packs lines separated by line feeds: a few uncompressed, more with zstd. The body has memory of its own. */
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
  // A copy: otherwise a body would keep the whole chunk.
  return new Uint8Array(zstdCompressSync(bytes, { chunkSize, params: PARAMETERS }));
}

/** The longest body of so many bytes, as zstd defines it (`ZSTD_compressBound`). */
function boundOf(bytes: number): number {
  return bytes + (bytes >>> 8) + Math.max(0, (SMALL_BYTES - bytes) >>> 11) + CHUNK_BYTES_MIN;
}

/** Returns the decompressed size that a zstd frame declares, if any. */
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

/** Returns the lines of a body, maybe in its memory. Throws a zstd error or `RangeError` if it is damaged or exceeds `bytesMax`. */
export function unpackLines(body: Uint8Array, bytesMax = BATCH_BYTES_MAX): LineTable {
  if (body[0] === VERBATIM) return new LineTable(readVerbatim(body));
  const bytes = readPackedSize(body) ?? 0;
  if (bytes > bytesMax) throw new RangeError(`The batch expands to ${bytes} bytes; the limit is ${bytesMax}`);
  const chunkSize = Math.min(Math.max(body.length * EXPANSION, UNPACKED_CHUNK_BYTES_MIN), CHUNK_BYTES_MAX);
  return new LineTable(zstdDecompressSync(body, { chunkSize, maxOutputLength: bytesMax }));
}

function readVerbatim({ buffer, byteOffset, length }: Uint8Array): Buffer {
  const body = Buffer.from(buffer, byteOffset, length);
  const bytes = body.subarray(VERBATIM_HEAD_BYTES);
  if (length < VERBATIM_HEAD_BYTES || body.readUInt32LE(1) !== crc32(bytes)) {
    throw new RangeError('The batch has a wrong checksum');
  }
  return bytes;
}
