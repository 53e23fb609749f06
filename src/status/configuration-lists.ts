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

/**
 * What is known of the lists of one router's configuration. In columns: as objects, the thirty lists of each router of a fleet took
 * three times as much memory.
 */
export class ConfigurationLists {
  readonly names: readonly string[];
  /** Each by the index of the name. */
  readonly #counts: (number | undefined)[];
  readonly #digests: (string | undefined)[];
  readonly #changes: number[];
  readonly #asideUntilMs: (number | undefined)[];

  constructor(names: readonly string[]) {
    this.names = names;
    this.#counts = names.map(() => undefined);
    this.#digests = names.map(() => undefined);
    this.#changes = names.map(() => 0);
    this.#asideUntilMs = names.map(() => undefined);
  }

  get(name: string): ConfigurationList {
    const index = this.names.indexOf(name);
    return {
      count: this.#counts[index],
      digest: this.#digests[index],
      changes: this.#changes[index] ?? 0,
      asideUntilMs: this.#asideUntilMs[index],
    };
  }

  /** Sets what is known of a list; nothing if it is none of {@link names}. */
  set(name: string, { count, digest, changes, asideUntilMs }: ConfigurationList): void {
    const index = this.names.indexOf(name);
    if (index < 0) return;
    this.#counts[index] = count;
    this.#digests[index] = digest;
    this.#changes[index] = changes;
    this.#asideUntilMs[index] = asideUntilMs;
  }
}
