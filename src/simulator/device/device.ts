import type { Clock } from '../../base/index.ts';
import { Profiles } from '../configuration/profiles.ts';
import type { Values } from '../configuration/resource.ts';
import { type CreateUid, createFreshConfiguration, createUids } from '../configuration/state.ts';
import { replaceWebPorts } from '../configuration/web-settings.ts';
import { DeviceLife } from '../life/device-life.ts';
import { DeviceLogs } from '../log-files/device-logs.ts';
import type { Compress } from '../log-files/writer.ts';
import { deriveRandom, randomChoice, randomInteger } from '../seeded.ts';
import type { LogSettings, ResolvedSimulatorOptions } from '../simulator-options.ts';
import { createHardware, type Hardware } from './hardware.ts';
import { type AdvanceableClock, createAdvanceableClock, RouterClock } from './router-clock.ts';
import { RouterCounters } from './router-counters.ts';
import { Sessions } from './sessions.ts';

/** The state of one simulated router, without HTTP. */
export interface Device {
  readonly name: string;
  readonly hardware: Hardware;
  /** The clock underlying `clock`; a test can advance it independently of all other routers. */
  readonly time: AdvanceableClock;
  readonly clock: RouterClock;
  readonly counters: RouterCounters;
  readonly sessions: Sessions;
  readonly profiles: Profiles;
  /** Creates identifiers of list entries. */
  readonly createUid: CreateUid;
  readonly life: DeviceLife;
  readonly logs: DeviceLogs;
  /** Accepted manual actions in order; the first {@link ACTIONS_MAX}. */
  readonly actions: PerformedAction[];
  /** Returns true if the router had this trouble `agoMs` before the start. */
  readonly hadTrouble: (trouble: keyof typeof TROUBLES, agoMs: number) => boolean;
}

const HOUR_MS = 3_600_000;
/** First and last time of each, before the start. A router that had no power runs since. Milliseconds. */
const TROUBLES = {
  'power-cut': [6.6 * HOUR_MS, 6 * HOUR_MS],
  'weak-signal': [15 * HOUR_MS, 9 * HOUR_MS],
  'other-password': [2.4 * HOUR_MS, 0],
  slow: [24 * HOUR_MS, 0],
} as const;

/** A manual action requested by a client. */
export interface PerformedAction {
  readonly type: string;
  readonly options: Values;
}

/** More than any test needs. */
export const ACTIONS_MAX = 1000;

interface DeviceOptions {
  /** Number in the fleet, from 0. */
  readonly index: number;
  readonly seed: number;
  readonly clock: Clock;
  /** IANA name of the router's zone. */
  readonly timezone: string;
  /** Offset of the wall clock at the start, in milliseconds. */
  readonly clockOffsetMs: number;
  readonly logs: LogSettings;
  readonly compress: Compress;
  /** Values of `administration/webinterface` that differ from a fresh device's. */
  readonly web: Values;
  readonly past: ResolvedSimulatorOptions['past'];
  /** Default: that of one router. */
  readonly sessionsMax?: number;
}

const UPTIME_MS_MIN = 3_600_000;
const UPTIME_MS_MAX = 30 * 86_400_000;
const LOCATIONS: readonly [string, ...string[]] = ['Regensburg', 'Munich', 'Hamburg', 'Leipzig', 'Vienna', 'Basel'];

/** Returns the name of router number `index` (from 0). */
export function renderDeviceName(index: number): string {
  return `sim-${index + 1}`;
}

/** Creates a router that has been running for a while, with the configuration of a fresh one and no logs yet. */
export function createDevice(options: DeviceOptions): Device {
  const { index, seed, timezone } = options;
  const name = renderDeviceName(index);
  const random = (purpose: string) => deriveRandom(seed, `${name}/${purpose}`);
  const uptimeMs = randomInteger(random('uptime'), UPTIME_MS_MIN, UPTIME_MS_MAX);
  const time = createAdvanceableClock(options.clock);
  const clock = new RouterClock(time, timezone, uptimeMs);
  clock.jump(options.clockOffsetMs);
  const past = options.past(index);
  if (past === 'power-cut') clock.restart(TROUBLES[past][1]);
  const counters = new RouterCounters();
  const { http_port = '80', https_port = '443' } = options.web;
  const fresh = createFreshConfiguration({
    'administration/webinterface': options.web,
    'administration/hostnames': { hostname: name, location: randomChoice(random('location'), LOCATIONS) },
    // The device uses city names; a zone's name ends with one.
    'administration/time': { timezone: (timezone.split('/').at(-1) ?? '').replaceAll('_', ' ') },
  });
  const profiles = new Profiles(replaceWebPorts(fresh, `${http_port},${https_port}`));
  const hardware = createHardware(index, random('hardware'));
  return {
    name,
    hardware,
    time,
    clock,
    counters,
    sessions: new Sessions(() => profiles.active, clock, counters, random('tokens'), options.sessionsMax),
    profiles,
    createUid: createUids(random('uids')),
    life: new DeviceLife(`${seed}/${name}`, hardware, clock, () => profiles.active),
    logs: new DeviceLogs(clock, options.logs, options.compress),
    actions: [],
    hadTrouble: (trouble, agoMs) => trouble === past && agoMs <= TROUBLES[past][0] && agoMs >= TROUBLES[past][1],
  };
}

/** Restarts instantly: tokens are lost and the uptime starts again; files and settings stay. */
export function restartDevice({ clock, sessions, life, logs }: Device): void {
  clock.restart();
  sessions.forgetAll();
  life.restart();
  logs.crash();
}
