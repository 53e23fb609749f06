import { createSeededRandom, type Random } from '../../src/base/index.ts';
import { sampled, sampleNote } from '../support/sampled.ts';

/** Cases of a run with FULL=1 and of a short one, over all targets. `FUZZ_CASES` is another number. */
const CASES = { full: 40_000, short: 3000 };

/** Where the random numbers of this run begin; `FUZZ_SEED`, 1 by default, so that CI tries the same cases each time. */
const FUZZ_SEED = Number(process.env['FUZZ_SEED'] ?? 1);

const total = Number(process.env['FUZZ_CASES'] ?? sampled('fuzz cases', CASES.full, CASES.short));
if (!Number.isSafeInteger(FUZZ_SEED) || !Number.isSafeInteger(total) || total < 1) {
  throw new RangeError('FUZZ_SEED and FUZZ_CASES are whole numbers');
}

/** How many cases a target has: its share of all. */
export function countCases(share: number): number {
  return Math.ceil(total * share);
}

/** For titles: the cases and the seed. */
export function describeCases(share: number): string {
  return `${countCases(share)} cases from seed ${FUZZ_SEED}${sampleNote('fuzz cases')}`;
}

/** Limit of a test over so many cases, on a machine that is busy. Milliseconds. */
export function limitMs(share: number, msPerCase: number): number {
  return 60_000 + countCases(share) * msPerCase;
}

/** Random choices of one case. */
export class Choices {
  readonly random: Random;

  /** `target` and `number` name the case; equal names give equal choices, so that one case can be repeated alone. */
  constructor(target: string, number: number) {
    let seed = FUZZ_SEED;
    for (const letter of `${target}/${number}`) seed = Math.imul(seed ^ letter.charCodeAt(0), 0x01000193);
    this.random = createSeededRandom(seed);
  }

  /** A whole number below `count`. */
  below(count: number): number {
    return Math.floor(this.random() * count);
  }

  /** True once in `times`. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  of<T>(values: readonly T[]): T {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new RangeError('There is nothing to choose from');
    return value;
  }

  /** A list of up to `most` values. */
  list<T>(most: number, next: () => T): T[] {
    return Array.from({ length: this.below(most + 1) }, next);
  }

  bytes(length: number): Buffer {
    return Buffer.from(Uint8Array.from({ length }, () => this.below(256)));
  }

  /** One to four changes: an end, bytes that are missing, doubled, foreign, overwritten, or from `others`, and single bits. */
  mutate(original: Uint8Array, others: readonly Uint8Array[] = []): Buffer {
    let bytes: Buffer = Buffer.from(original);
    for (let changes = 1 + this.below(4); changes > 0; changes--) {
      const at = this.below(bytes.length + 1);
      const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
      const kind = this.below(9);
      if (kind === 0) bytes = before;
      else if (kind === 1) bytes = Buffer.concat([before, after.subarray(1 + this.below(8))]);
      else if (kind === 2) bytes = Buffer.concat([before, this.bytes(1 + this.below(8)), after]);
      else if (kind === 3) bytes = Buffer.concat([before, after.subarray(0, 1 + this.below(40)), after]);
      else if (kind === 4) {
        const filled = Buffer.alloc(1 + this.below(16), this.below(256));
        bytes = Buffer.concat([before, filled, after.subarray(filled.length)]);
      } else if (kind === 5 && others.length > 0) {
        const other = this.of(others);
        const from = this.below(other.length + 1);
        bytes = Buffer.concat([
          before,
          other.subarray(from, from + this.below(80)),
          this.once(2) ? after : Buffer.alloc(0),
        ]);
      } else if (kind === 6 && others.length > 0) bytes = Buffer.concat([bytes, this.of(others)]);
      else if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << this.below(8));
    }
    return bytes;
  }
}
