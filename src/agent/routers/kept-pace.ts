import type { MetricFamily } from '../../model/index.ts';
import { type AnsweredPoll, findMedian, type Pace, type PaceIntervals, PaceMemory } from '../../schedule/index.ts';
import type { PollResult } from '../../status/index.ts';
import type { PaceSummary } from '../../web/index.ts';
import type { RouterValues } from '../state.ts';
import { LatestFacts } from '../views/latest-facts.ts';

/** A router, its intervals, and where its usual time is kept. */
export interface KeptPaceOptions {
  /** Name of the router. */
  readonly router: string;
  /** Its intervals. */
  readonly intervals: PaceIntervals;
  /** Small facts about routers, kept over a restart. */
  readonly values: RouterValues;
}

/** The device that answered. */
export interface DeviceIdentity {
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
  readonly #polls = new PollReader();
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

  /** Learns from a poll; returns true if the pace has changed. */
  learn(result: PollResult): boolean {
    const poll = this.#polls.read(result);
    const identity = { serial: result.serialNumber, firmware: result.firmwareVersion };
    return poll !== undefined && this.record(poll, identity);
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

/** Values below which a signal is poor, by metric: the limits of the alert `RouterSignalPoor`. RSSI only counts without RSRP. */
const POOR_BELOW = { rsrp: -110, rssi: -95 } as const;
const RSRP = 'router_modem_rsrp_dbm';
const RSSI = 'router_modem_rssi_dbm';

/** Reads how a router answered from its polls. */
export class PollReader {
  /** Poor signal (true or false) by resource. */
  readonly #isPoor = new LatestFacts(hasPoorSignal);

  /** Returns how the router answered; `undefined` if the poll says nothing of that. */
  read(result: PollResult): AnsweredPoll | undefined {
    const { isUp, isIdle, resources } = result;
    if (!isUp || isIdle) return undefined;
    this.#isPoor.record(result);
    // The modem with the best signal is the one in use.
    const modems = this.#isPoor.list(Math.max(...resources.map(({ readAtMs }) => readAtMs)));
    // One large answer does not make a router slow.
    return {
      responseMs: findMedian(resources.map(({ durationMs }) => durationMs)),
      isSignalPoor: modems.length > 0 && modems.every((isPoor) => isPoor),
    };
  }
}

/** Returns whether the best signal among some values is poor; `undefined` without any. */
function hasPoorSignal(families: readonly MetricFamily[]): boolean | undefined {
  const valuesOf = (name: string) =>
    families.filter((family) => family.name === name).flatMap(({ samples }) => samples.map(({ value }) => value));
  const [rsrp, rssi] = [valuesOf(RSRP), valuesOf(RSSI)];
  if (rsrp.length > 0) return Math.max(...rsrp) < POOR_BELOW.rsrp;
  return rssi.length > 0 ? Math.max(...rssi) < POOR_BELOW.rssi : undefined;
}
