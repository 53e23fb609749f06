import { pickInteger } from './signal.ts';

/** The states of a modem until it has a data session, and the seconds spent in each. */
const STAGES = [
  { state: 'Turned off', seconds: 10 },
  { state: 'Turned on', seconds: 10 },
  { state: 'SIM interface down', seconds: 5 },
  { state: 'Logged out', seconds: 10 },
  { state: 'Logging in', seconds: 15 },
  { state: 'Logged in', seconds: 5 },
  { state: 'Offline', seconds: 10 },
] as const;
const ONLINE = 'Online';

/** States of a modem, as its status names them. */
type ModemState = (typeof STAGES)[number]['state'] | typeof ONLINE;

/** A command to a modem. */
export type ModemOrder = 'turn_off' | 'log_out' | 'turn_on' | 'log_in';

/** State of a modem at one moment. */
export interface ModemView {
  readonly state: ModemState;
  /** True if it reports signal, cell and network. */
  readonly isRegistered: boolean;
  readonly isPowered: boolean;
  /** Duration of the data session in milliseconds; absent without one. */
  readonly onlineForMs: number | undefined;
}

const PERIOD_SECONDS_MIN = 1200;
const PERIOD_SECONDS_MAX = 2400;
const LOGGED_OUT_AT = 3;

/**
 * The state of a modem as a function of time: it goes through all states to `Online`, stays there for 20 to 40 minutes,
 * loses the session and starts again. Orders keep it in a state or restart it.
 */
export class Modem {
  readonly #periodMs: number;
  #originMs = 0;
  #heldAt: number | undefined;

  /** `key` identifies the router and the modem; equal keys give equal states. */
  constructor(key: string) {
    this.#periodMs = pickInteger(`${key}/period`, PERIOD_SECONDS_MIN, PERIOD_SECONDS_MAX) * 1000;
  }

  /** Returns the modem's state after the router has been running for `uptimeMs`. */
  view(uptimeMs: number): ModemView {
    if (this.#heldAt !== undefined) return toView(this.#heldAt, undefined);
    let restMs = (uptimeMs - this.#originMs) % this.#periodMs;
    for (const [number, { seconds }] of STAGES.entries()) {
      if (restMs < seconds * 1000) return toView(number, undefined);
      restMs -= seconds * 1000;
    }
    return toView(STAGES.length, restMs);
  }

  /** Executes an order at `uptimeMs`. */
  follow(order: ModemOrder, uptimeMs: number): void {
    this.#heldAt = order === 'turn_off' ? 0 : order === 'log_out' ? LOGGED_OUT_AT : undefined;
    const skippedSeconds = STAGES.slice(0, LOGGED_OUT_AT).reduce((sum, { seconds }) => sum + seconds, 0);
    this.#originMs = order === 'log_in' ? uptimeMs - skippedSeconds * 1000 : uptimeMs;
  }

  /** Restarts the modem together with the router. */
  restart(): void {
    this.#originMs = 0;
    this.#heldAt = undefined;
  }
}

function toView(number: number, onlineForMs: number | undefined): ModemView {
  return {
    state: STAGES[number]?.state ?? ONLINE,
    isRegistered: number >= 5,
    isPowered: number >= 1,
    onlineForMs,
  };
}
