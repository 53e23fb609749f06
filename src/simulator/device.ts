import type { Clock } from '../base/index.ts';
import { freshAccounts } from './accounts.ts';
import { DeviceLogs } from './device-logs.ts';
import { createHardware, type Hardware } from './hardware.ts';
import type { Compress } from './log-compression.ts';
import { createProfiles, type Profile } from './profiles.ts';
import { RouterClock } from './router-clock.ts';
import { RouterCounters } from './router-counters.ts';
import { deriveRandom, randomInteger } from './seeded.ts';
import { Sessions } from './sessions.ts';
import type { LogSettings } from './simulator-options.ts';

/** The inside of one simulated router: all its state, and nothing about HTTP. */
export interface Device {
  readonly name: string;
  readonly hardware: Hardware;
  readonly clock: RouterClock;
  readonly counters: RouterCounters;
  readonly sessions: Sessions;
  readonly profiles: readonly Profile[];
  readonly logs: DeviceLogs;
}

export interface DeviceOptions {
  /** Place in the fleet, from 0. */
  readonly index: number;
  readonly seed: number;
  readonly clock: Clock;
  readonly timezone: string;
  readonly logs: LogSettings;
  readonly compress: Compress;
}

const UPTIME_MS_MIN = 3_600_000;
const UPTIME_MS_MAX = 30 * 86_400_000;

/** Creates a router that has been running for a while, with the accounts of a fresh one and no logs yet. */
export function createDevice(options: DeviceOptions): Device {
  const name = `sim-${options.index + 1}`;
  const random = (purpose: string) => deriveRandom(options.seed, `${name}/${purpose}`);
  const uptimeMs = randomInteger(random('uptime'), UPTIME_MS_MIN, UPTIME_MS_MAX);
  const clock = new RouterClock(options.clock, options.timezone, uptimeMs);
  const counters = new RouterCounters();
  return {
    name,
    hardware: createHardware(options.index, random('hardware')),
    clock,
    counters,
    sessions: new Sessions(freshAccounts, clock, counters, random('tokens')),
    profiles: createProfiles(),
    logs: new DeviceLogs(clock, options.logs, options.compress),
  };
}
