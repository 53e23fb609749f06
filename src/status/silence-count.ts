import { SourceError } from '../model/index.ts';

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
    const failure = error instanceof SourceError ? error : undefined;
    const isSilent = failure?.code === 'timeout';
    this.#silences = isSilent ? this.#silences + 1 : 0;
    if (error === undefined || failure?.isAnswered) return false;
    // A slow resource may be an exception.
    return !isSilent || this.#silences >= SILENCES_MAX;
  }
}
