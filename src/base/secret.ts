import { inspect } from 'node:util';

interface SecretSource {
  /** Equal for the same secret, whatever its current value. */
  readonly id: string;
  /** Reads the secret again and calls its `replace`. Never rejects. */
  renew(): Promise<void>;
}

/** A value that cannot leak by accident: every string form is `[secret]`. */
export class Secret {
  readonly #source: SecretSource | undefined;
  #value: string;

  constructor(value: string, source?: SecretSource) {
    this.#value = value;
    this.#source = source;
  }

  /** Absent for a literal in the configuration, which only a reload replaces. */
  get source(): SecretSource | undefined {
    return this.#source;
  }

  /** Returns the value for the code that sends it. Call it each time, because the value may change. */
  reveal(): string {
    return this.#value;
  }

  /** Sets another value; for its source. */
  replace(value: string): void {
    this.#value = value;
  }

  /** Reads the secret again after `used` was refused; resolves to true if it has changed. Never rejects. */
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
