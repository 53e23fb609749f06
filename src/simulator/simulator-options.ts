import type { Clock } from '../base/index.ts';
import { type FaultName, isFaultName } from './router-faults.ts';
import { SimulatorError } from './simulator-error.ts';

/** How the log writer of a simulated router is set up. */
export interface LogSettings {
  /** A message that finds at least this many bytes in `current` rotates it first; 0 = never by size. Default 1 MiB. */
  readonly maxSizeBytes: number;
  /** A message that finds `current` older than this rotates it first; 0 = never by age. Default 30 days. */
  readonly maxAgeMs: number;
  /**
   * Renames every file that has lines at this interval, as a timer does: no message has to come for it, so none is the
   * first line of the next file. Limits of size and age then rotate nothing; 0 = rotated by messages only. Default 0.
   */
  readonly rotateEveryMs: number;
  /** Logs that are given no line from 20 to 6 o'clock by the router's wall clock. Default none. */
  readonly silentByNight: readonly string[];
  /** Rotated files kept, newest by the time in their name. Default 5. */
  readonly maxFiles: number;
  /** From the rename to the moment when only the finished `.bz2` is left. Default 3 s, the time of a slow CPU. */
  readonly compressionMs: number;
  /** Whether the listing shows rotated files that are not compressed yet. Default false. */
  readonly listUncompressed: boolean;
  /** What `truth` may remember of files that the router has deleted, per component. Default 64 MiB. */
  readonly truthBytesMax: number;
  /** Whether equal messages are written each time. If not, they are counted and become a notice. Default true. */
  readonly showRepeats: boolean;
  /** Lines reach the file in blocks of this many bytes, so that `current` may end in mid-line; 0 = at once. Default 0. */
  readonly blockBytes: number;
  /** At a restart this much of a line's time stamp is left without the rest, and the next line goes behind. Default 0. */
  readonly tornBytes: number;
  /** Whether lines carry the severity in brackets of their own. Default false. */
  readonly severityBrackets: boolean;
}

/** What a simulated router can do beyond the interface; all of it is off by default. */
export interface RestFeatures {
  /** HTTP basic credentials count as well as an access token. */
  readonly basicAuth: boolean;
  /** Log downloads have entity tags and can be asked for in part. */
  readonly rangeRequests: boolean;
  /** Log downloads are compressed for clients that accept gzip. */
  readonly gzip: boolean;
  /** A change of the running profile is activated at once, as if every request asked for it. */
  readonly implicitActivation: boolean;
  /** A fresh router logs every request, as its own setting `log_requests` would make it. */
  readonly logRequests: boolean;
}

/** The interface and nothing more. */
export const plainRestFeatures: RestFeatures = {
  basicAuth: false,
  rangeRequests: false,
  gzip: false,
  implicitActivation: false,
  logRequests: false,
};

/** What the device is believed to ship with. */
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

/** Small files, so that live activity shows its first rotation, archive included, within 20 seconds. */
export const demoLogSettings: LogSettings = {
  ...deviceLogSettings,
  maxSizeBytes: 4096,
  compressionMs: 1500,
  truthBytesMax: 1024 * 1024,
};

export interface SimulatorOptions {
  /** How many routers; they are named `sim-1`, `sim-2`, … */
  readonly routers: number;
  /** Clock of the simulation. */
  readonly clock: Clock;
  /** Equal seeds and equal clocks give equal routers: serials, tokens, log lines; within a process also one authority. */
  readonly seed: number;
  /** Default `127.0.0.1` with free ports. A port other than 0 is that of the first router; the others follow. */
  readonly listen?: { readonly host: string; readonly port: number };
  /** Serves HTTP without TLS. Default false. */
  readonly plainHttp?: boolean;
  /** `live`: every router writes realistic lines by itself. `manual` (default): logs change only when told. */
  readonly logActivity?: 'live' | 'manual';
  /** How many lines a router writes in a second by itself. Default 9, at which demo-sized files rotate every 10 s. */
  readonly logLinesPerSecond?: number;
  /** IANA name of the zone in which log lines are stamped. Default `Europe/Berlin`. */
  readonly timezone?: string;
  /** How far the wall clocks of the routers are ahead at the start; negative when behind. Milliseconds, default 0. */
  readonly clockOffsetMs?: number;
  /** Differences from {@link deviceLogSettings}. */
  readonly logs?: Partial<LogSettings>;
  /** Differences from {@link plainRestFeatures}. */
  readonly features?: Partial<RestFeatures>;
  /** Faults that every router has from the start. */
  readonly faults?: readonly FaultName[];
  /** Opens the control port, on a loopback address only; port 0 = any free one. Default: none. */
  readonly control?: { readonly host: string; readonly port: number };
}

/** Options with every default filled in. */
export type ResolvedSimulatorOptions = Required<Omit<SimulatorOptions, 'logs' | 'features' | 'control'>> & {
  /** Address of the control port; `undefined` for none. */
  readonly control: SimulatorOptions['control'];
  /** All settings of the log writer. */
  readonly logs: LogSettings;
  /** All features beyond the interface. */
  readonly features: RestFeatures;
};

/** More routers than this need more ports than a machine has to spare. */
const ROUTERS_MAX = 10_000;

const LINES_PER_SECOND_MAX = 1000;
/** Timers cannot wait for longer than this. */
const ROTATE_EVERY_MS_MAX = 2 ** 31 - 1;
/** Length of a line's time stamp. */
const STAMP_BYTES = 'YYYY-MM-DD hh:mm:ss'.length;

/** Fills in defaults and refuses values that would only fail later. Throws {@link SimulatorError} `bad-option`. */
export function resolveSimulatorOptions(options: SimulatorOptions): ResolvedSimulatorOptions {
  const resolved: ResolvedSimulatorOptions = {
    listen: { host: '127.0.0.1', port: 0 },
    plainHttp: false,
    logActivity: 'manual',
    logLinesPerSecond: 9,
    faults: [],
    control: undefined,
    timezone: 'Europe/Berlin',
    clockOffsetMs: 0,
    ...options,
    logs: { ...deviceLogSettings, ...options.logs },
    features: { ...plainRestFeatures, ...options.features },
  };
  const { routers, listen, logs } = resolved;
  requireInteger('routers', routers, 1, ROUTERS_MAX);
  requireInteger('listen.port', listen.port, 0, listen.port === 0 ? 0 : 65_536 - routers);
  if (!(resolved.logLinesPerSecond > 0 && resolved.logLinesPerSecond <= LINES_PER_SECOND_MAX)) {
    throw new SimulatorError(
      'bad-option',
      `The option logLinesPerSecond must be above 0, up to ${LINES_PER_SECOND_MAX}`,
    );
  }
  const wrong = resolved.faults.find((name) => !isFaultName(name));
  if (wrong !== undefined) throw new SimulatorError('bad-option', `There is no fault named ${JSON.stringify(wrong)}`);
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
