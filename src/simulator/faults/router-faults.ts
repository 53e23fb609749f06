import { SimulatorError } from '../simulator-error.ts';

/** Names of all faults. */
export const FAULT_NAMES = [
  'down',
  'slow',
  'hang',
  'reset_mid_body',
  'truncate_body',
  'http_429',
  'http_500',
  'http_503',
  'unauthorized',
  'forbidden',
  'garbage_json',
  'html_200',
  'huge_body',
  'slow_body',
  'busy_beside_download',
  'one_at_a_time',
  'download_stalls',
  'corrupt_archive',
  'truncated_archive',
  'archive_as_text',
  'bad_certificate',
] as const;

/** One of {@link FAULT_NAMES}. */
export type FaultName = (typeof FAULT_NAMES)[number];

/** Returns true if `name` is one of {@link FAULT_NAMES}. */
export function isFaultName(name: string): name is FaultName {
  return (FAULT_NAMES as readonly string[]).includes(name);
}

/** Scope and parameters of a fault. `down` and `bad_certificate` concern connections and take none of these. */
export interface FaultOptions {
  /** Restricts the fault to requests whose path below `/api/v2_0` starts with this. Default: all requests, logins included. */
  readonly path?: string;
  /** Number of requests after which the fault ends. Default: never. */
  readonly times?: number;
  /** `slow`: delay of the answer in milliseconds of the router's clock. Default 2000. */
  readonly delayMs?: number;
  /** `slow`: share of the answers that are one more second late, as after the loss of a packet. Default 0. */
  readonly lossRatio?: number;
  /** `http_429` and `http_503`: value of Retry-After in seconds. Default 5. */
  readonly retryAfterSeconds?: number;
  /** `http_429` and `http_503`: sends Retry-After as a date by the router's clock. Default false. */
  readonly isRetryAfterDate?: boolean;
  /** `huge_body`: length of the body in bytes. Default 64 MiB. */
  readonly bytes?: number;
  /** `slow_body`: bytes of the body per second of the router's clock. Default 5000. */
  readonly bytesPerSecond?: number;
}

/** An active fault with all defaults filled in. */
export type ActiveFault = Required<Omit<FaultOptions, 'path' | 'times'>> & { readonly name: FaultName };

interface Installed extends ActiveFault {
  readonly path: string;
  timesLeft: number;
}

/** Faults that last until they are cleared and do not concern single requests. */
const CONNECTION_FAULTS: readonly FaultName[] = ['down', 'bad_certificate'];
const DELAY_MS = 2000;
const RETRY_AFTER_SECONDS = 5;
const HUGE_BYTES = 64 * 1024 * 1024;
const BYTES_PER_SECOND = 5000;
const HUGE_BYTES_MAX = 2 ** 40;
const DAY_MS = 86_400_000;

/** The active faults of one router; at most one of each name. */
export class RouterFaults {
  readonly #installed = new Map<FaultName, Installed>();

  /** Returns the names of the active faults. */
  names(): FaultName[] {
    return [...this.#installed.keys()];
  }

  /** Activates a fault, replacing an earlier one of the same name. Throws {@link SimulatorError} `bad-option`. */
  install(name: FaultName, options: FaultOptions): void {
    const {
      path = '',
      times,
      delayMs = DELAY_MS,
      lossRatio = 0,
      retryAfterSeconds = RETRY_AFTER_SECONDS,
      isRetryAfterDate = false,
      bytes = HUGE_BYTES,
      bytesPerSecond = BYTES_PER_SECOND,
    } = options;
    if (CONNECTION_FAULTS.includes(name) && (times !== undefined || options.path !== undefined)) {
      throw new SimulatorError(
        'bad-option',
        `The fault ${name} concerns no single requests, so it takes no path and no times`,
      );
    }
    requireWhole('times', times ?? 1, 1, Number.MAX_SAFE_INTEGER);
    requireWhole('delayMs', delayMs, 0, DAY_MS);
    if (!(lossRatio >= 0 && lossRatio <= 1)) {
      throw new SimulatorError('bad-option', 'The fault option lossRatio must be from 0 to 1');
    }
    requireWhole('retryAfterSeconds', retryAfterSeconds, 0, DAY_MS);
    requireWhole('bytes', bytes, 0, HUGE_BYTES_MAX);
    requireWhole('bytesPerSecond', bytesPerSecond, 1, HUGE_BYTES_MAX);
    const own = { delayMs, lossRatio, retryAfterSeconds, isRetryAfterDate, bytes, bytesPerSecond };
    this.#installed.set(name, { name, path, timesLeft: times ?? Infinity, ...own });
  }

  remove(name: FaultName): void {
    this.#installed.delete(name);
  }

  /** Returns the faults that apply to a request, and counts one occurrence of each. */
  take(path: string): ReadonlyMap<FaultName, ActiveFault> {
    const met = new Map<FaultName, ActiveFault>();
    for (const fault of this.#installed.values()) {
      if (CONNECTION_FAULTS.includes(fault.name) || !path.startsWith(fault.path)) continue;
      met.set(fault.name, fault);
      fault.timesLeft -= 1;
      if (fault.timesLeft <= 0) this.#installed.delete(fault.name);
    }
    return met;
  }
}

function requireWhole(name: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw new SimulatorError('bad-option', `The fault option ${name} must be a whole number from ${min} to ${max}`);
}
