import { setImmediate } from 'node:timers/promises';
import type { WatchedConnection } from './contracts.ts';

/** Remembers that the other side has ended a connection until it is asked. */
export class ConnectionEnd implements WatchedConnection {
  onEnd: (() => void) | undefined;
  #end: { readonly endedMs?: number | undefined } | undefined;

  /** `endedMs`: wall time of an orderly end; absent: it broke, and nobody knows when. */
  note(endedMs?: number): void {
    if (endedMs === undefined || !this.#end) this.#end = { endedMs };
    this.onEnd?.();
  }

  async takeEnd(): Promise<{ readonly endedMs?: number | undefined } | undefined> {
    // Whatever the system has heard of the other side comes to light before more is sent.
    await setImmediate();
    const end = this.#end;
    this.#end = undefined;
    return end;
  }
}
