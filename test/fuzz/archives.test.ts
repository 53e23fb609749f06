import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Bzip2Workspace } from '../../src/logs/archive/bzip2/stream-parser.ts';
import { type BlockFields, writeArchive } from '../logs/archive/bzip2/block-writer.ts';
import { compress, createLog, createNoise, type Decoded, decodeBzip2 } from '../support/archives.ts';
import { type ProgramPart, withPrograms } from '../support/tools.ts';
import { Choices, countCases, describeCases, limitMs } from './random-cases.ts';

const SHARE = 0.4;
const BATCH = 500;
/** At least so many cases are also given to the program itself. */
const PROGRAM_CASES = 40;
/** Symbols that one selector is for. */
const GROUP_SYMBOLS = 50;
/** What libbz2.py needs. */
const libbz2: ProgramPart = {
  name: 'libbz2 for python3',
  isInstalled: () => spawnSync('python3', ['-c', 'import ctypes; ctypes.CDLL("libbz2.so.1.0")']).status === 0,
};

/** What `bzip2 -dc` makes of an archive. Its output holds bytes of a block that later turns out to be wrong. */
interface Reference {
  readonly isGood: boolean;
  readonly output: Buffer;
}

/** libbz2 in a process of its own: to start bzip2 for each case would take longer than all the rest. */
class ReferenceProcess implements AsyncDisposable {
  readonly #child = spawn('python3', [join(import.meta.dirname, 'libbz2.py')], { stdio: ['pipe', 'pipe', 'inherit'] });
  #held = Buffer.alloc(0);
  readonly #chunks = this.#child.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;

  async decode(archives: readonly Buffer[]): Promise<Reference[]> {
    const sizes = archives.map(({ length }) => {
      const size = Buffer.alloc(4);
      size.writeUInt32LE(length);
      return size;
    });
    this.#child.stdin.write(Buffer.concat(archives.flatMap((archive, index) => [sizes[index] ?? archive, archive])));
    const references: Reference[] = [];
    for (let index = 0; index < archives.length; index++) {
      const head = await this.#take(5);
      references.push({ isGood: head[0] === 'k'.charCodeAt(0), output: await this.#take(head.readUInt32LE(1)) });
    }
    return references;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'close');
    this.#child.stdin.end();
    await ended;
  }

  async #take(bytes: number): Promise<Buffer> {
    while (this.#held.length < bytes) {
      const { done, value } = await this.#chunks.next();
      if (done === true) throw new RangeError('The reference ended');
      this.#held = Buffer.concat([this.#held, value]);
    }
    const taken = this.#held.subarray(0, bytes);
    this.#held = this.#held.subarray(bytes);
    return taken;
  }
}

const workspace = new Bzip2Workspace();

function describeDifference(archive: Buffer, reference: Reference, own: Decoded): string | undefined {
  const describe = (why: string) =>
    `${why}: bzip2 ${reference.isGood ? 'ends well' : 'fails'} with ${reference.output.length} bytes, the decoder ` +
    `${own.error ? `fails (${own.error.code}: ${own.error.message})` : 'ends well'} with ${own.output.length}; ${archive.toString('base64')}`;
  // Blocks that were randomised have not been written since 1999; they are refused, and not decoded.
  if (own.error?.code === 'unsupported') return undefined;
  if (!own.output.equals(reference.output.subarray(0, own.output.length))) return describe('Other bytes');
  if (own.error && own.error.code !== 'truncated' && own.error.code !== 'corrupt') return describe('Other reason');
  // What follows the last stream is ignored by bzip2; for a log it is damage, and all before it was delivered.
  const isTrailing = reference.isGood && own.output.length === reference.output.length;
  if (own.error) return reference.isGood && !isTrailing ? describe('Refused') : undefined;
  if (!reference.isGood) return describe('Accepted');
  return own.output.length === reference.output.length ? undefined : describe('Less');
}

function decode(archive: Buffer, choices: Choices): Decoded {
  return decodeBzip2(archive, {
    workspace,
    chunkBytes: 1 + choices.below(archive.length + 1),
    outputBytesMax: 1 << 20,
  });
}

function createOriginals(): Buffer[] {
  const texts = [
    Buffer.alloc(0),
    Buffer.from('a'),
    Buffer.alloc(3000, 'x'),
    createLog(700),
    createNoise(300),
    createLog(2500, 3),
  ];
  return texts.flatMap((text) => [1, 9].map((level) => compress(text, level)));
}

withPrograms(['bzip2', 'python3', libbz2], test)(
  `damaged archives become what bzip2 makes of them, or less and an error: ${describeCases(SHARE * 0.8)}`,
  { timeout: limitMs(SHARE, 20) },
  async () => {
    await using reference = new ReferenceProcess();
    const originals = createOriginals();
    const count = countCases(SHARE * 0.8);
    let good = 0;
    for (let from = 0; from < count; from += BATCH) {
      const cases = Array.from({ length: Math.min(BATCH, count - from) }, (_, index) => {
        const choices = new Choices('archives', from + index);
        return { choices, archive: choices.mutate(choices.of(originals), originals) };
      });
      const references = await reference.decode(cases.map(({ archive }) => archive));
      for (const [index, { choices, archive }] of cases.entries()) {
        const theirs = references[index];
        if (!theirs) throw new RangeError('An answer is missing');
        if (theirs.isGood) good++;
        const difference = describeDifference(archive, theirs, decode(archive, choices));
        expect(difference, `case ${from + index}`).toBeUndefined();
        if (from + index >= PROGRAM_CASES) continue;
        const program = runProgram(archive);
        expect(program.isGood, `case ${from + index}`).toBe(theirs.isGood);
        // Where it fails, what it holds of its last read is not written.
        expect(program.output.equals(theirs.output.subarray(0, program.output.length))).toBe(true);
        if (program.isGood) expect(program.output).toHaveLength(theirs.output.length);
      }
    }
    // Both sides of the comparison are met.
    expect(good).toBeGreaterThan(0);
    expect(good).toBeLessThan(count);
  },
);

withPrograms(['python3', libbz2], test)(
  `blocks that no writer makes, with checksums that fit, become what bzip2 makes of them: ${describeCases(SHARE * 0.2)}`,
  { timeout: limitMs(SHARE, 40) },
  async () => {
    await using reference = new ReferenceProcess();
    const count = countCases(SHARE * 0.2);
    let fitting = 0;
    for (let from = 0; from < count; from += BATCH) {
      const cases = Array.from({ length: Math.min(BATCH, count - from) }, (_, index) => {
        const choices = new Choices('blocks', from + index);
        return { choices, fields: createFields(choices) };
      });
      // The output of the reference shows the checksum that the block ought to have had.
      const first = await reference.decode(cases.map(({ fields }) => writeArchive(fields)));
      const archives = cases.map(({ fields }, index) =>
        writeArchive({ ...fields, crc: computeCrc(first[index]?.output ?? Buffer.alloc(0)) }),
      );
      const references = await reference.decode(archives);
      for (const [index, { choices }] of cases.entries()) {
        const [theirs, archive] = [references[index], archives[index]];
        if (!theirs || !archive) throw new RangeError('An answer is missing');
        if (theirs.isGood) fitting++;
        expect(describeDifference(archive, theirs, decode(archive, choices)), `case ${from + index}`).toBeUndefined();
      }
    }
    expect(fitting).toBeGreaterThan(count / 100);
  },
);

/** A block of a few symbols, whose parts need not fit each other. */
function createFields(choices: Choices): BlockFields {
  const used = [...new Set([choices.below(256), ...choices.list(6, () => choices.below(256))])].toSorted(
    (a, b) => a - b,
  );
  const lengths = createLengths(used.length + 2, choices);
  const codes = assignCodes(lengths);
  const symbols = choices.list(120, () => choices.of(codes.slice(0, -1)));
  const tableCount = 2 + choices.below(5);
  const groups = Math.ceil((symbols.length + 1) / GROUP_SYMBOLS);
  const fields: BlockFields = {
    level: String(1 + choices.below(9)),
    origin: choices.below(Math.max(1, symbols.length)),
    used,
    tableCount,
    lengths,
    selectors: Array.from({ length: groups }, () => choices.below(tableCount)),
    symbols: [...symbols, codes.at(-1)].join(''),
  };
  return { ...fields, ...createMisfit(fields, choices) };
}

/** In half of the cases one part that does not fit the others. */
function createMisfit({ lengths = [], selectors = [], symbols = '' }: BlockFields, choices: Choices): BlockFields {
  if (choices.once(2)) return {};
  const misfits: readonly (() => BlockFields)[] = [
    () => ({ level: choices.of(['0', ':', 'a', '\0']) }),
    () => ({ origin: choices.below(2 ** 24) }),
    () => ({ tableCount: choices.below(8) }),
    () => ({ lengths: lengths.map((length) => length + choices.below(3) - 1) }),
    () => ({ lengths: lengths.map(() => choices.below(23)) }),
    () => ({ selectors: [...selectors, ...choices.list(40, () => choices.below(8))] }),
    () => ({ selectors: selectors.slice(1) }),
    () => ({ symbols: symbols.slice(choices.below(8)) }),
    () => ({ symbols: symbols + choices.list(40, () => choices.of(['0', '1'])).join('') }),
    () => ({ used: choices.list(20, () => choices.below(256)).toSorted((a, b) => a - b) }),
    () => ({ randomised: 1 }),
  ];
  return choices.of(misfits)();
}

/** Codes in the order of their lengths, as bits. */
function assignCodes(lengths: readonly number[]): string[] {
  const codes = lengths.map(() => '');
  let [next, last] = [0, 0];
  for (const [index, length] of [...lengths.entries()].toSorted(([a, x], [b, y]) => x - y || a - b)) {
    next <<= length - last;
    last = length;
    codes[index] = next.toString(2).padStart(length, '0');
    next++;
  }
  return codes;
}

/** Lengths of a complete code: every row of bits is a symbol. */
function createLengths(count: number, choices: Choices): number[] {
  const lengths = [1, 1];
  while (lengths.length < count) {
    const [split = 1] = lengths.splice(choices.below(lengths.length), 1);
    lengths.push(split + 1, split + 1);
  }
  return choices.once(2) ? lengths.toSorted((a, b) => a - b) : lengths;
}

/** The checksum of bzip2, bit by bit as it is defined. */
function computeCrc(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc < 0 ? 0x04c11db7 : 0);
  }
  return ~crc >>> 0;
}

function runProgram(archive: Buffer): Reference {
  try {
    return {
      isGood: true,
      output: execFileSync('bzip2', ['-dc'], { input: archive, stdio: ['pipe', 'pipe', 'ignore'] }),
    };
  } catch (cause) {
    return { isGood: false, output: Reflect.get(Object(cause), 'stdout') as Buffer };
  }
}
