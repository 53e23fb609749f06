import { createSeededRandom } from '../../src/base/index.ts';
import { Bzip2Decoder, type Bzip2Limits } from '../../src/logs/archive/bzip2/decoder.ts';
import type { Bzip2Workspace } from '../../src/logs/archive/bzip2/stream-parser.ts';
import { ArchiveError } from '../../src/logs/reading/errors.ts';
import { encodeBzip2 } from '../../src/simulator/archives/encode.ts';

/** An archive from the simulator's encoder, which needs no program. `level` is the size of its blocks in units of 100 kB. */
export function compress(input: Uint8Array | string, level = 9): Buffer {
  return Buffer.from(encodeBzip2(Buffer.from(input), level));
}

/** `size` bytes of log lines, the same for the same seed. */
export function createLog(size: number, seed = 1): Buffer {
  const random = createSeededRandom(seed);
  const lines: string[] = [];
  for (let length = 0, second = 0; length < size; second++) {
    const time = new Date(1_790_000_000_000 + second * 1000).toISOString().slice(0, 19).replace('T', ' ');
    const tag = ['wan', 'lte1', 'firewall', 'dhcpd'][Math.floor(random() * 4)];
    const line = `${time} [${tag}] signal -${Math.floor(random() * 120)} dBm, peer 10.0.${Math.floor(random() * 65536)}\n`;
    lines.push(line);
    length += line.length;
  }
  return Buffer.from(lines.join('')).subarray(0, size);
}

/** `size` bytes without any order, the same for the same seed. */
export function createNoise(size: number, seed = 1): Buffer {
  const random = createSeededRandom(seed);
  return Buffer.from(Uint8Array.from({ length: size }, () => random() * 256));
}

export interface Decoded {
  readonly output: Buffer;
  /** All that is not bytes. */
  readonly markers: readonly unknown[];
  /** What the decoder threw, if it did. */
  readonly error: ArchiveError | undefined;
}

export interface DecodeSettings extends Partial<Bzip2Limits> {
  readonly chunkBytes?: number;
  readonly workspace?: Bzip2Workspace;
}

/** Feeds the plain decoder. What it throws is a part of the result, unless it is no {@link ArchiveError}. */
export function decodeBzip2(archive: Uint8Array, settings: DecodeSettings = {}): Decoded {
  const { chunkBytes = archive.length || 1, workspace, outputBytesMax = 2 ** 30, ...limits } = settings;
  const decoder = new Bzip2Decoder({ outputBytesMax, ...limits }, workspace);
  const output: Uint8Array[] = [];
  const markers: unknown[] = [];
  const drain = () => {
    for (let item = decoder.read(); item !== undefined; item = decoder.read()) {
      if (item instanceof Uint8Array) output.push(item.slice());
      else markers.push(item);
    }
  };
  let error: ArchiveError | undefined;
  try {
    for (let from = 0; from < archive.length; from += chunkBytes) {
      decoder.push(archive.subarray(from, from + chunkBytes));
      drain();
    }
    decoder.end();
    drain();
  } catch (thrown) {
    if (!(thrown instanceof ArchiveError)) throw thrown;
    error = thrown;
  }
  return { output: Buffer.concat(output), markers, error };
}

/** Where the magic numbers of blocks and of stream ends stand in an archive, in bits. */
export function findMarks(archive: Uint8Array): { blocks: number[]; ends: number[] } {
  const bits = Array.from(archive, (byte) => byte.toString(2).padStart(8, '0')).join('');
  const findAll = (magic: number) => {
    const text = magic.toString(2).padStart(48, '0');
    const found: number[] = [];
    for (let at = bits.indexOf(text); at >= 0; at = bits.indexOf(text, at + 1)) found.push(at);
    return found;
  };
  return { blocks: findAll(0x314159265359), ends: findAll(0x177245385090) };
}

/** A copy with one bit turned over. */
export function flipBit(bytes: Uint8Array, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(bit >> 3) ^ (0x80 >> (bit & 7)), bit >> 3);
  return copy;
}

/** A source that yields `bytes` in chunks. */
export async function* chunksOf(bytes: Uint8Array, chunkBytes = 16_384): AsyncGenerator<Uint8Array, void, undefined> {
  for (let from = 0; from < bytes.length; from += chunkBytes) yield bytes.subarray(from, from + chunkBytes);
}
