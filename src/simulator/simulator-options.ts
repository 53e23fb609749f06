import type { Clock } from '../base/index.ts';
import { type FaultName, isFaultName } from './faults/router-faults.ts';
import { SimulatorError } from './simulator-error.ts';

/** Settings of a simulated router's log writer. */
export interface LogSettings {
  /** Size of `current` in bytes at which the next message rotates it first; 0 = never by size. Default 1 MiB. */
  readonly maxSizeBytes: number;
  /** Age of `current` in milliseconds after which the next message rotates it first; 0 = never by age. Default 30 days. */
  readonly maxAgeMs: number;
  /** Interval in milliseconds of rotations by a timer, without limits of size and age; 0 = messages rotate. Default 0. */
  readonly rotateEveryMs: number;
  /** Logs without lines from 20:00 to 6:00 by the router's wall clock. Default none. */
  readonly silentByNight: readonly string[];
  /** Number of rotated files kept, newest by the time in their name. Default 5. */
  readonly maxFiles: number;
  /** Duration of a compression in milliseconds, from the rename until only the `.bz2` is left. Default 3000, as on a slow CPU. */
  readonly compressionMs: number;
  /** Lists rotated files that are not compressed yet. Default false. */
  readonly listUncompressed: boolean;
  /** Maximum size in bytes of deleted files that `truth` remembers per component. Default 64 MiB. */
  readonly truthBytesMax: number;
  /** True: writes equal messages each time; false: counts them and writes a notice. Default true. */
  readonly showRepeats: boolean;
  /** Block size in bytes in which lines reach the file, so that `current` may end in mid-line; 0 = at once. Default 0. */
  readonly blockBytes: number;
  /** Bytes of a torn time stamp left by a restart; the next line follows directly. Default 0. */
  readonly tornBytes: number;
  /** Writes the severity in separate brackets. Default false. */
  readonly severityBrackets: boolean;
}

/** Features of a simulated router beyond the interface; all are off by default. */
export interface RestFeatures {
  /** Accepts HTTP basic credentials as well as access tokens. */
  readonly basicAuth: boolean;
  /** Serves log downloads with entity tags and ranges. */
  readonly rangeRequests: boolean;
  /** Compresses log downloads for clients that accept gzip. */
  readonly gzip: boolean;
  /** Activates changes of the running profile immediately, as if every request asked for it. */
  readonly implicitActivation: boolean;
  /** Makes a fresh router log every request, as its setting `log_requests` does. */
  readonly logRequests: boolean;
}

/** No features beyond the interface. */
export const plainRestFeatures: RestFeatures = {
  basicAuth: false,
  rangeRequests: false,
  gzip: false,
  implicitActivation: false,
  logRequests: false,
};

/** Log settings of a real device, as far as known. */
export const deviceLogSettings: LogSettings = {
  maxSizeBytes: 1024 * 1024,
  maxAgeMs: 30 * 86_400_000,
  rotateEveryMs: 0,
  silentByNight: [],
  maxFiles: 5,
  compressionMs: 3000,
  listUncompressed: false,
  truthBytesMax: 64 * 1024 * 1024,
  showRepeats: true,
  blockBytes: 0,
  tornBytes: 0,
  severityBrackets: false,
};

/** Small files, so that live activity shows its first rotation, including the archive, within 20 seconds. */
export const demoLogSettings: LogSettings = {
  ...deviceLogSettings,
  maxSizeBytes: 4096,
  compressionMs: 1500,
  truthBytesMax: 1024 * 1024,
};

/** Bodies of answers by path, such as `/status/device_info`. Of several bodies each request gets the next one. */
export type CapturedBodies = Readonly<Record<string, readonly string[]>>;

/** Size, seed and features of a simulated fleet. */
export interface SimulatorOptions {
  /** Number of routers; they are named `sim-1`, `sim-2`, … */
  readonly routers: number;
  /** Clock of the simulation. */
  readonly clock: Clock;
  /** Seed of all random values: equal seeds and clocks give equal serials, tokens, log lines and certificate authorities. */
  readonly seed: number;
  /** Default `127.0.0.1` with free ports. A port other than 0 is used by the first router; the others use the following ones. */
  readonly listen?: { readonly host: string; readonly port: number };
  /** Serves HTTP without TLS. Default false. */
  readonly plainHttp?: boolean;
  /** `live`: every router writes realistic lines. `manual` (default): logs change only on request. */
  readonly logActivity?: 'live' | 'manual';
  /** Number of routers, the first ones, that write lines with `live`. Default: all. */
  readonly liveRouters?: number;
  /** Lines written per second with `live`. Default 9, at which demo-sized files rotate every 10 s. */
  readonly logLinesPerSecond?: number;
  /** Time before the start from which routers with `live` have lines already, in milliseconds. Not with a stepped clock. Default 0. */
  readonly logHistoryMs?: number;
  /** What has befallen a router, by its number from 0, in the day before the start, for its history. Default: nothing. */
  readonly past?: (index: number) => 'power-cut' | 'weak-signal' | 'other-password' | 'slow' | undefined;
  /** IANA name of the time zone of log lines. Default `Europe/Berlin`. */
  readonly timezone?: string;
  /** Offset of the routers' wall clocks at the start, in milliseconds; negative if behind. Default 0. */
  readonly clockOffsetMs?: number;
  /** Differences from {@link deviceLogSettings}. Default: none. */
  readonly logs?: Partial<LogSettings>;
  /** Differences from {@link plainRestFeatures}. Default: none. */
  readonly features?: Partial<RestFeatures>;
  /** Faults active on every router from the start. Default: none. */
  readonly faults?: readonly FaultName[];
  /** Time without traffic after which a router closes a connection, in milliseconds; 0 = never. Default: 90 s after an answer. */
  readonly idleMs?: number;
  /**
   * Makes all routers addresses of one device at one port, `URL/r0`, `URL/r1`, …, which answer every GET from memory: with these bodies,
   * or with the logs of the device, without a check of the token. So thousands of them cost little beyond the wire, for measurements of
   * clients. Each has its own faults, except those of connections. Default: none.
   */
  readonly captured?: CapturedBodies;
  /**
   * Files of bundles for the first routers: one for each answers every GET as its device did, with its statuses and delays, and anything
   * else as usual. Of configuration lists, only the number of entries is known. Default: none.
   */
  readonly bundles?: readonly string[];
  /** Opens the control port, on a loopback address only; port 0: any free port. Default: none. */
  readonly control?: { readonly host: string; readonly port: number };
}

/** Options with all defaults filled in. */
export interface ResolvedSimulatorOptions
  extends Required<Omit<SimulatorOptions, 'logs' | 'features' | 'control' | 'idleMs' | 'captured' | 'bundles'>>,
    Pick<SimulatorOptions, 'control' | 'idleMs' | 'captured' | 'bundles'> {
  /** All settings of the log writer. */
  readonly logs: LogSettings;
  /** All features beyond the interface. */
  readonly features: RestFeatures;
}

/** More routers need more ports than a machine has available. */
const ROUTERS_MAX = 10_000;
/** More addresses than one process can serve. */
const ADDRESSES_MAX = 100_000;

const LINES_PER_SECOND_MAX = 1000;
/** Limit of timers. */
const ROTATE_EVERY_MS_MAX = 2 ** 31 - 1;
/** Length of a line's time stamp. */
const STAMP_BYTES = 'YYYY-MM-DD hh:mm:ss'.length;

/** Fills in defaults and rejects values that would fail only later. Throws {@link SimulatorError} `bad-option`. */
export function resolveSimulatorOptions(options: SimulatorOptions): ResolvedSimulatorOptions {
  const resolved: ResolvedSimulatorOptions = {
    listen: { host: '127.0.0.1', port: 0 },
    plainHttp: false,
    logActivity: 'manual',
    liveRouters: options.routers,
    logLinesPerSecond: 9,
    logHistoryMs: 0,
    past: () => undefined,
    faults: [],
    timezone: 'Europe/Berlin',
    clockOffsetMs: 0,
    ...options,
    logs: { ...deviceLogSettings, ...options.logs },
    features: { ...plainRestFeatures, ...options.features },
  };
  const { routers, listen, logs } = resolved;
  requireInteger('routers', routers, 1, resolved.captured ? ADDRESSES_MAX : ROUTERS_MAX);
  requireInteger('listen.port', listen.port, 0, listen.port === 0 ? 0 : 65_536 - routers);
  if (!(resolved.logLinesPerSecond > 0 && resolved.logLinesPerSecond <= LINES_PER_SECOND_MAX)) {
    throw new SimulatorError(
      'bad-option',
      `The option logLinesPerSecond must be above 0, up to ${LINES_PER_SECOND_MAX}`,
    );
  }
  const wrong = resolved.faults.find((name) => !isFaultName(name));
  if (wrong !== undefined) throw new SimulatorError('bad-option', `There is no fault named ${JSON.stringify(wrong)}`);
  requireInteger('liveRouters', resolved.liveRouters, 0);
  requireInteger('logHistoryMs', resolved.logHistoryMs, 0);
  requireInteger('clockOffsetMs', resolved.clockOffsetMs, Number.MIN_SAFE_INTEGER);
  requireInteger('logs.maxSizeBytes', logs.maxSizeBytes, 0);
  requireInteger('logs.maxAgeMs', logs.maxAgeMs, 0);
  requireInteger('logs.rotateEveryMs', logs.rotateEveryMs, 0, ROTATE_EVERY_MS_MAX);
  requireInteger('logs.maxFiles', logs.maxFiles, 1);
  requireInteger('logs.compressionMs', logs.compressionMs, 0);
  requireInteger('logs.truthBytesMax', logs.truthBytesMax, 0);
  requireInteger('logs.blockBytes', logs.blockBytes, 0);
  requireInteger('logs.tornBytes', logs.tornBytes, 0, STAMP_BYTES);
  return resolved;
}

function requireInteger(name: string, value: number, min: number, max = Number.MAX_SAFE_INTEGER): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw new SimulatorError('bad-option', `The option ${name} must be an integer from ${min} to ${max}, not ${value}`);
}
