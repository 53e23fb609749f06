/** After this many connections in a row that were kept in vain, the next ones are closed at once. */
const VAIN_MAX = 3;
/** Every so many connections, one is kept to see whether the router keeps it by now. */
const TRIAL_EVERY = 20;

/**
 * Learns whether keeping a connection to one router is worth it: not if the connection is closed before its next use, by a
 * router that closes idle ones early, or after the longest idle time that the client allows.
 */
export class ReuseRecord {
  #vain = 0;
  #closings = 0;

  /** Records that a connection was kept and used again. */
  reused(): void {
    this.#vain = 0;
    this.#closings = 0;
  }

  /** Records that a connection was kept and closed before it was used again. */
  wasted(): void {
    this.#vain++;
  }

  /** Returns true if a connection that is no longer needed now should be kept for the next use. */
  isWorthKeeping(): boolean {
    if (this.#vain < VAIN_MAX) return true;
    this.#closings = (this.#closings + 1) % TRIAL_EVERY;
    return this.#closings === 0;
  }
}
