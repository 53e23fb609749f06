import { type AnsweredPoll, findMedian, type Pace, type PaceIntervals, PaceMemory } from '../../schedule/index.ts';
import type { PollResult } from '../../status/index.ts';
import { type Store, StoreError } from '../../store/index.ts';
import type { PaceSummary } from '../../web/index.ts';
import type { DeviceFacts } from '../router-state/device-facts.ts';

/** Small stored values of routers, by key, kept on a best-effort basis: a failed write is retried later. */
export interface RouterValues {
  read(router: string, key: string): string | undefined;
  write(router: string, key: string, text: string): void;
}

/** A router, its intervals, and where its usual time is kept. */
interface KeptPaceOptions {
  /** Name of the router. */
  readonly router: string;
  /** Its intervals. */
  readonly intervals: PaceIntervals;
  /** Small facts about routers, kept over a restart. */
  readonly values: RouterValues;
}

/** The device that answered. */
interface DeviceIdentity {
  /** Serial number; `undefined` if it is not known. */
  readonly serial: string | undefined;
  /** Firmware; `undefined` if it is not known. */
  readonly firmware: string | undefined;
}

/** The stored form: how a device usually answers. */
interface Stored extends AnsweredPoll, DeviceIdentity {}

/** Key of the usual time of a router. */
const PACE_KEY = 'pace';
/** A usual time that differs by less than this factor is not stored again. */
const CHANGE_FACTOR = 1.5;
/** No answer takes longer. Milliseconds. */
const RESPONSE_MS_MAX = 3_600_000;

/**
 * How much a router is spared, learnt from its polls and kept over a restart: a slow router is asked for less from the first
 * poll on. It holds until another device or another firmware answers.
 */
export class KeptPace {
  readonly #options: KeptPaceOptions;
  readonly #memory: PaceMemory;
  #stored: Stored | undefined;

  constructor(options: KeptPaceOptions) {
    this.#options = options;
    this.#stored = parse(options.values.read(options.router, PACE_KEY));
    this.#memory = new PaceMemory(options.intervals, this.#stored);
  }

  /** The current pace. */
  get pace(): Pace {
    return this.#memory.pace;
  }

  /** Describes how the router answers and is spared. */
  summarize(): PaceSummary {
    const { pace, responseMs, isSignalPoor } = this.#memory;
    const { level, stretch, statusStretch } = pace;
    const responseSeconds = responseMs === undefined ? null : Math.round(responseMs) / 1000;
    return { level, responseSeconds, isSignalPoor, stretch, statusStretch };
  }

  /** Learns from a poll; returns true if the pace has changed. `device`: what is known of its modems. */
  learn(result: PollResult, device: Pick<DeviceFacts, 'hasPoorSignal'>): boolean {
    const { isUp, isIdle, resources, serialNumber, firmwareVersion } = result;
    if (!isUp || isIdle) return false;
    // One large answer does not make a router slow.
    const responseMs = findMedian(resources.map(({ durationMs }) => durationMs));
    const isSignalPoor = device.hasPoorSignal(Math.max(...resources.map(({ readAtMs }) => readAtMs)));
    return this.record({ responseMs, isSignalPoor }, { serial: serialNumber, firmware: firmwareVersion });
  }

  /** Records a poll that this device answered; returns true if the pace has changed. */
  record(poll: AnsweredPoll, identity: DeviceIdentity): boolean {
    const { level } = this.pace;
    if (this.#stored && isOther(this.#stored, identity)) {
      this.#stored = undefined;
      this.#memory.forget();
    }
    this.#memory.record(poll);
    this.#keep(identity);
    return this.pace.level !== level;
  }

  #keep({ serial, firmware }: DeviceIdentity): void {
    const { responseMs, isSignalPoor } = this.#memory;
    // Without a serial number nothing would say that it is another device by now.
    if (responseMs === undefined || serial === undefined) return;
    const stored = this.#stored;
    const isSame =
      stored !== undefined &&
      stored.serial === serial &&
      stored.firmware === firmware &&
      stored.isSignalPoor === isSignalPoor &&
      responseMs < stored.responseMs * CHANGE_FACTOR &&
      stored.responseMs < responseMs * CHANGE_FACTOR;
    if (isSame) return;
    this.#stored = { serial, firmware, responseMs: Math.max(1, Math.round(responseMs)), isSignalPoor };
    const { router, values } = this.#options;
    values.write(router, PACE_KEY, JSON.stringify(this.#stored));
  }
}

/** Returns true if both are known and differ in something. */
function isOther(one: DeviceIdentity, other: DeviceIdentity): boolean {
  const differ = (a: string | undefined, b: string | undefined) => a !== undefined && b !== undefined && a !== b;
  return differ(one.serial, other.serial) || differ(one.firmware, other.firmware);
}

/** Parses what was stored; anything else is no knowledge. */
function parse(text: string | undefined): Stored | undefined {
  try {
    const { serial, firmware, responseMs, isSignalPoor } = JSON.parse(text ?? '{}') as Partial<Record<string, unknown>>;
    if (typeof serial !== 'string' || typeof responseMs !== 'number' || typeof isSignalPoor !== 'boolean')
      return undefined;
    if (!(responseMs >= 0 && responseMs <= RESPONSE_MS_MAX)) return undefined;
    return { serial, firmware: typeof firmware === 'string' ? firmware : undefined, responseMs, isSignalPoor };
  } catch {
    return undefined;
  }
}

/** Creates access to the values of routers in the store. Failures go to `onFailed` and nowhere else. */
export function createRouterValues(
  store: Pick<Store, 'readValue' | 'writeValue'>,
  onFailed: (cause: StoreError, router: string) => void,
): RouterValues {
  const noteFailure = (cause: unknown, router: string): void => {
    if (!(cause instanceof StoreError)) throw cause;
    onFailed(cause, router);
  };
  return {
    read(router, key) {
      try {
        return store.readValue(router, key);
      } catch (cause) {
        noteFailure(cause, router);
        return undefined;
      }
    },
    write(router, key, text) {
      try {
        store.writeValue(router, key, text)?.catch((cause: unknown) => noteFailure(cause, router));
      } catch (cause) {
        noteFailure(cause, router);
      }
    },
  };
}
