import type { Clock } from '../base/index.ts';
import type { TransportRequest } from './transport.ts';

type Call = Pick<TransportRequest, 'method' | 'path'>;

/**
 * Rights are given without a word to the agent, perhaps only to a session that begins after that: after this time a refused
 * call may cost a login again. Milliseconds.
 */
const REMEMBERED_MS = 60 * 60_000;
/** Calls that are remembered: more than the interface has kinds of. */
const CALLS_MAX = 512;

/**
 * The calls that a router answers with 401 even straight after a login: it means a lack of rights, where others say 403.
 * Without this memory every such call would cost a login; logins lock accounts and fill the router's own log.
 */
export class RefusalMemory {
  readonly #clock: Clock;
  /** Until when a 401 is no reason for a login, on the monotonic clock. */
  readonly #refused = new Map<string, number>();
  /** The same for all calls, while the router has let none through since a login that did not help. */
  #allUntilMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that a call was refused although a login has just come before it. */
  refused(call: Call): void {
    if (this.#refused.size >= CALLS_MAX) this.#refused.clear();
    this.#allUntilMs = this.#clock.monotonic() + REMEMBERED_MS;
    this.#refused.set(toKey(call), this.#allUntilMs);
  }

  /** Notes that the router has let a call through. */
  accepted(call: Call): void {
    this.#refused.delete(toKey(call));
    this.#allUntilMs = 0;
  }

  /** Whether another login would not help after a 401 for the call. */
  isVain(call: Call): boolean {
    const nowMs = this.#clock.monotonic();
    if (nowMs < (this.#refused.get(toKey(call)) ?? 0)) return true;
    if (nowMs >= this.#allUntilMs) return false;
    this.#refused.set(toKey(call), this.#allUntilMs);
    return true;
  }
}

function toKey({ method, path }: Call): string {
  return `${method} ${path}`;
}
