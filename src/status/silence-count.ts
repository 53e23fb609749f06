/** A router that is silent for so many resources in a row is gone: each costs the time of a request. */
const SILENCES_MAX = 2;

/** Tells a resource that failed alone from a router that is gone, while resources are asked for one after the other. */
export class SilenceCount {
  #silences = 0;

  /** Notes what asking for the next resource threw, `undefined` for an answer; returns whether the router is gone. */
  isGoneAfter(error: unknown): boolean {
    const isSilent = readProperty(error, 'code') === 'timeout';
    this.#silences = isSilent ? this.#silences + 1 : 0;
    if (error === undefined || readProperty(error, 'isAnswered') === true) return false;
    // A resource that is slow may be alone with that.
    return !isSilent || this.#silences >= SILENCES_MAX;
  }
}

function readProperty(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
