import { hashToUnit } from '../../base/index.ts';
import type { Configuration } from '../configuration/state.ts';
import type { Hardware } from '../device/hardware.ts';
import type { RouterClock } from '../device/router-clock.ts';

/** A row of a status resource; it can contain rows. */
export type StatusRow = Readonly<Record<string, string | readonly Readonly<Record<string, string>>[]>>;

/** Content of `status` in an answer. */
export interface StatusBody {
  readonly unique?: Readonly<Record<string, string>>;
  readonly list?: readonly StatusRow[];
}

/** A test's changes to a status resource. */
export interface StatusOverride {
  /** True if the resource does not exist. */
  readonly isAbsent?: boolean;
  /** Replaces everything below `status`. */
  readonly body?: object;
  /** Single values that replace the router's own. */
  readonly unique?: Readonly<Record<string, string>>;
  /** Values that replace the router's own, row by row; additional rows are appended. */
  readonly list?: readonly Readonly<Record<string, string>>[];
  /** Names of single values and row values to remove. */
  readonly remove?: readonly string[];
}

/** Returns the body with the override applied. */
export function applyOverride(body: StatusBody, override: StatusOverride): object {
  if (override.body) return override.body;
  const without = (row: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => !override.remove?.includes(name)));
  const unique = body.unique || override.unique ? { ...body.unique, ...override.unique } : undefined;
  const rows: StatusRow[] = [...(body.list ?? [])];
  for (const [position, row] of (override.list ?? []).entries()) rows[position] = { ...rows[position], ...row };
  const hasList = body.list !== undefined || override.list !== undefined;
  return { ...(unique && { unique: without(unique) }), ...(hasList && { list: rows.map(without) }) };
}

/** Returns a value from 0 to 1 that varies with time; the same for the same key and time. */
export function wander(key: string, timeMs: number, periodMs: number): number {
  const step = Math.floor(timeMs / periodMs);
  const share = timeMs / periodMs - step;
  const [from, to] = [hashToUnit(`${key}/${step}`), hashToUnit(`${key}/${step + 1}`)];
  return from + (to - from) * share;
}

/** Returns a whole number from `min` to `max` that depends only on the key. */
export function pickInteger(key: string, min: number, max: number): number {
  return min + Math.floor(hashToUnit(key) * (max - min + 1));
}

/** Returns a counter since a start, at a rate that varies but is never negative. */
export function grow(ratePerSecond: number, sinceStartMs: number): number {
  const seconds = Math.max(0, sinceStartMs) / 1000;
  const breath = (BREATH_SECONDS / (2 * Math.PI)) * (1 - Math.cos((2 * Math.PI * seconds) / BREATH_SECONDS));
  return Math.floor(ratePerSecond * (seconds + 0.8 * breath));
}

/** Period of busy and quiet times of the traffic: charts of a day show them. */
const BREATH_SECONDS = 4 * 3600;

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

/** As in the status of a modem. */
type ModemState = (typeof STAGES)[number]['state'] | typeof ONLINE;

/** A command to a modem. */
export type ModemOrder = 'turn_off' | 'log_out' | 'turn_on' | 'log_in';

interface ModemView {
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
 * The state of a modem as a function of time: it goes through all states to `Online`, stays there for 20 to 40 minutes, loses the session
 * and starts again. Orders keep it in a state or restart it.
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

/** Inputs of a router's status. */
export interface LifeContext {
  /** Identifies this router of this fleet; seed of its random values. */
  readonly key: string;
  readonly hardware: Hardware;
  readonly clock: RouterClock;
  /** The configuration in effect. */
  readonly configuration: Configuration;
  /** By the name of the interface: `lte2`. */
  readonly modems: ReadonlyMap<string, Modem>;
  /** How well modems receive: 1 as usual, 0 not at all. */
  readonly reception: number;
  /** State set by operations, such as the LED or an output; by topic. */
  readonly settings: ReadonlyMap<string, string>;
}

/** Returns the current content of one status resource. */
export type Describe = (life: LifeContext) => StatusBody;
