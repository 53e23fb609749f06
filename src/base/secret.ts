import { inspect } from 'node:util';

/** The source of a secret that can be read again. */
export interface SecretSource {
  /** Equal ones mean the same secret, whatever its value is now. */
  readonly id: string;
  /** Reads it again, and puts what it finds into the secret. Never rejects. */
  renew(): Promise<void>;
}

/** A value that cannot leak by accident: every string form of it is `[secret]`. */
export class Secret {
  readonly #source: SecretSource | undefined;
  #value: string;

  constructor(value: string, source?: SecretSource) {
    this.#value = value;
    this.#source = source;
  }

  /** Absent: it stands in the configuration, and a reload makes another one. */
  get source(): SecretSource | undefined {
    return this.#source;
  }

  /** Returns the value itself, for the code that sends it: each time anew, because it may change. */
  reveal(): string {
    return this.#value;
  }

  /** Takes another value; for its source. */
  replace(value: string): void {
    this.#value = value;
  }

  /** Reads it again, after `used` was refused. Resolves to true if it is another one now. Never rejects. */
  async renew(used: string): Promise<boolean> {
    if (this.#value === used) await this.#source?.renew();
    return this.#value !== used;
  }

  toString(): string {
    return '[secret]';
  }
  toJSON(): string {
    return '[secret]';
  }
  [inspect.custom](): string {
    return '[secret]';
  }
}
