import { setImmediate } from 'node:timers/promises';
import type { WatchedConnection } from './contracts.ts';

/** Remembers the end of a connection by the other side until it is queried. */
export class ConnectionEnd implements WatchedConnection {
  onEnd: (() => void) | undefined;
  #end: { readonly endedMs?: number | undefined } | undefined;

  /** `endedMs`: Unix time (ms) of an orderly end; absent = the connection broke at an unknown time. */
  record(endedMs?: number): void {
    if (endedMs === undefined || !this.#end) this.#end = { endedMs };
    this.onEnd?.();
  }

  async takeEnd(): Promise<{ readonly endedMs?: number | undefined } | undefined> {
    // Process pending socket events before more is sent.
    await setImmediate();
    const end = this.#end;
    this.#end = undefined;
    return end;
  }
}
