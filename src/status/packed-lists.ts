import { createNumbers } from '../base/index.ts';

/** What is known of one list of a router's configuration. */
export interface ConfigurationList {
  /** Number of entries at the last reading; `undefined` before the first. */
  readonly count: number | undefined;
  /** Digest of its content, of {@link DIGEST_LENGTH} hexadecimal digits; `undefined` if only its entries were counted since it changed. */
  readonly digest: string | undefined;
  readonly changes: number;
  /** Not read before this time. Milliseconds since the Unix epoch. */
  readonly asideUntilMs: number | undefined;
}

/** Hexadecimal digits of a digest: 32 bits miss one change in four billion. */
export const DIGEST_LENGTH = 8;

const UNKNOWN: ConfigurationList = { count: undefined, digest: undefined, changes: 0, asideUntilMs: undefined };

/** Kept of each list, as numbers; NaN stands for `undefined`. */
const COLUMNS = 4;
const [COUNT, DIGEST, CHANGES, ASIDE_UNTIL] = [0, 1, 2, 3] as const;

/**
 * What is known of the lists of one router's configuration. Packed: as objects, the thirty lists of each router of a fleet took
 * three times as much memory.
 */
export class PackedLists {
  readonly names: readonly string[];
  /** `undefined` before anything is known: not every router is asked for its configuration. */
  #values: Float64Array | undefined;

  constructor(names: readonly string[]) {
    this.names = names;
  }

  get(name: string): ConfigurationList {
    const values = this.#values;
    const index = this.names.indexOf(name);
    if (!values || index < 0) return UNKNOWN;
    const read = (column: number) => {
      const value = values[COLUMNS * index + column] ?? Number.NaN;
      return Number.isNaN(value) ? undefined : value;
    };
    return {
      count: read(COUNT),
      digest: read(DIGEST)?.toString(16).padStart(DIGEST_LENGTH, '0'),
      changes: read(CHANGES) ?? 0,
      asideUntilMs: read(ASIDE_UNTIL),
    };
  }

  /** Sets what is known of a list; nothing if it is none of {@link names}. */
  set(name: string, { count, digest, changes, asideUntilMs }: ConfigurationList): void {
    const index = this.names.indexOf(name);
    if (index < 0) return;
    this.#values ??= createNumbers(Float64Array, COLUMNS * this.names.length).fill(Number.NaN);
    const columns = [count, digest === undefined ? undefined : Number.parseInt(digest, 16), changes, asideUntilMs];
    this.#values.set(
      columns.map((value) => value ?? Number.NaN),
      COLUMNS * index,
    );
  }
}
