import { z } from 'zod';
import { parseJson } from '../../base/index.ts';
import { type Store, StoreError } from '../../model/index.ts';
import {
  type AnsweredPoll,
  findMedian,
  type Throttle,
  type ThrottleIntervals,
  ThrottleMemory,
} from '../../schedule/index.ts';
import type { PollResult } from '../../status/index.ts';
import type { PaceSummary } from '../../web/index.ts';
import type { DeviceFacts } from '../router-state/device-facts.ts';

/** Small stored values of routers by key. A failed write loses nothing but the value. */
export interface RouterValues {
  read(router: string, key: string): string | undefined;
  write(router: string, key: string, text: string): void;
}

interface AdaptiveIntervalOptions {
  readonly router: string;
  readonly intervals: ThrottleIntervals;
  readonly values: RouterValues;
}

interface DeviceIdentity {
  readonly serial?: string | undefined;
  readonly firmware?: string | undefined;
}

const PACE_KEY = 'pace';
/** A usual time within this factor of the stored one is not stored again. */
const CHANGE_FACTOR = 1.5;
/** Upper limit of stored times. Milliseconds. */
const RESPONSE_MS_MAX = 3_600_000;
const storedSchema = z.object({
  serial: z.string(),
  firmware: z.string().optional().catch(undefined),
  responseMs: z.number().min(0).max(RESPONSE_MS_MAX),
  isSignalPoor: z.boolean(),
});
type Stored = z.output<typeof storedSchema>;

/**
 * Throttles one router by its answers, and keeps its usual answer time over a restart, so that a slow router is
 * throttled from the first poll on, until another device or firmware answers.
 */
export class AdaptiveInterval {
  readonly #options: AdaptiveIntervalOptions;
  readonly #memory: ThrottleMemory;
  #stored: Stored | undefined;

  constructor(options: AdaptiveIntervalOptions) {
    this.#options = options;
    this.#stored = storedSchema.safeParse(parseJson(options.values.read(options.router, PACE_KEY) ?? '')).data;
    this.#memory = new ThrottleMemory(options.intervals, this.#stored);
  }

  get pace(): Throttle {
    return this.#memory.pace;
  }

  summarize(): PaceSummary {
    const { pace, responseMs, isSignalPoor } = this.#memory;
    const { level, stretch, statusStretch } = pace;
    const responseSeconds = responseMs === undefined ? null : Math.round(responseMs) / 1000;
    return { level, responseSeconds, isSignalPoor, stretch, statusStretch };
  }

  /** Records a poll; returns true if the level has changed. `device`: facts about its modems. */
  learn(result: PollResult, device: Pick<DeviceFacts, 'hasPoorSignal'>): boolean {
    const { isUp, isIdle, resources, serialNumber, firmwareVersion } = result;
    if (!isUp || isIdle) return false;
    // The median: one large answer does not make a router slow.
    const responseMs = findMedian(resources.map(({ durationMs }) => durationMs));
    const isSignalPoor = device.hasPoorSignal(Math.max(...resources.map(({ readAtMs }) => readAtMs)));
    return this.record({ responseMs, isSignalPoor }, { serial: serialNumber, firmware: firmwareVersion });
  }

  /** Records a poll that this device answered; returns true if the level has changed. */
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
    // Without a serial number, another device would not be recognised.
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

function isOther(one: DeviceIdentity, other: DeviceIdentity): boolean {
  const differ = (a: string | undefined, b: string | undefined) => a !== undefined && b !== undefined && a !== b;
  return differ(one.serial, other.serial) || differ(one.firmware, other.firmware);
}

/** Creates access to the values of routers in the store. Failures only go to `onFailed`. */
export function createRouterValues(
  store: Pick<Store, 'readValue' | 'writeValue'>,
  onFailed: (cause: StoreError, router: string) => void,
): RouterValues {
  const reportFailure = (cause: unknown, router: string): void => {
    if (!(cause instanceof StoreError)) throw cause;
    onFailed(cause, router);
  };
  return {
    read(router, key) {
      try {
        return store.readValue(router, key);
      } catch (cause) {
        reportFailure(cause, router);
        return undefined;
      }
    },
    write(router, key, text) {
      try {
        store.writeValue(router, key, text)?.catch((cause: unknown) => reportFailure(cause, router));
      } catch (cause) {
        reportFailure(cause, router);
      }
    },
  };
}
