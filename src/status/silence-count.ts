/**
 * After this many consecutive resources without an answer the router counts as unavailable: each costs a request
 * timeout.
 */
const SILENCES_MAX = 2;

/** Distinguishes a failed resource from an unavailable router while resources are read one after the other. */
export class SilenceCount {
  #silences = 0;

  /** Records the error of the next resource, `undefined` for an answer; returns true if the router is unavailable. */
  isGoneAfter(error: unknown): boolean {
    const isSilent = readProperty(error, 'code') === 'timeout';
    this.#silences = isSilent ? this.#silences + 1 : 0;
    if (error === undefined || readProperty(error, 'isAnswered') === true) return false;
    // A slow resource may be an exception.
    return !isSilent || this.#silences >= SILENCES_MAX;
  }
}

function readProperty(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
