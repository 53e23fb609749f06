import { type Clock, openZone, type ZoneOffsets } from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import { type FleetExposition, toFamily } from '../../exposition/index.ts';
import type { MetricFamily } from '../../model/index.ts';
import { findMedian } from '../../schedule/index.ts';
import type { PollResult } from '../../status/index.ts';
import type { DataPlanSummary } from '../../web/index.ts';
import { FLEET_FAMILIES as F } from '../metrics/fleet-families.ts';
import {
  DAYS_KEPT,
  findBillingPeriod,
  type InterfaceReading,
  parseLedger,
  renderLedger,
  takeReading,
} from '../router-state/data-plan-ledger.ts';
import type { RouterValues } from './adaptive-interval.ts';
import type { ByteAccount } from './byte-account.ts';

interface DataPlansOptions {
  readonly router: RouterSettings;
  readonly bytes: Pick<ByteAccount, 'sumSince'>;
  readonly exposition: FleetExposition;
  readonly values: RouterValues;
  readonly clock: Clock;
}

interface ModemFacts {
  sim: string | undefined;
  isOnline: boolean;
  /** True if every reading since the last one of the counters found it online, and no poll failed. */
  hasStayedOnline: boolean;
}

const LEDGER_KEY = 'data_plans';
const DAY_MS = 86_400_000;
/** `lte2`, or `lte2_2` for the second channel of the same modem, whose card may be `lte_serial2` in the status. */
const CELLULAR = /^((?:lte|hspa)\d)(?:_\d)?$/;
const FAMILIES = [
  [F.planLimit, 'limit'],
  [F.planUsed, 'used'],
  [F.planStart, 'periodStart'],
  [F.planForecast, 'forecast'],
  [F.planAgent, 'agent'],
  [F.planDay, 'day'],
  [F.planDayMedian, 'median'],
] as const;
const NOTHING = { used: null, periodStart: null, forecast: null, agent: null, day: null, median: null };
const SIM_CHARS_MAX = 64;

/** With an empty `TZ`, the zone of the machine has a name that no zone has. */
function findOwnZone(): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return timeZone === 'Etc/Unknown' ? 'UTC' : timeZone;
}

/** Counts the bytes of the cellular interfaces of one router for its data plans, over restarts, and exposes the sums. */
export class DataPlans {
  readonly #options: DataPlansOptions;
  readonly #zone: ZoneOffsets;
  readonly #modems = new Map<string, ModemFacts>();
  /** As of the last reading. */
  shown: readonly DataPlanSummary[] = [];
  #ledger: ReturnType<typeof parseLedger>;
  #stored: string | undefined;
  #uptimeSeconds: number | undefined;
  /** Uptime at the last reading of the counters. */
  #countedUptimeSeconds: number | undefined;

  constructor(options: DataPlansOptions) {
    const { router, values, exposition } = options;
    this.#options = options;
    this.#zone = openZone(router.timezone ?? findOwnZone());
    this.#stored = values.read(router.name, LEDGER_KEY);
    this.#ledger = parseLedger(this.#stored);
    exposition.add(router, F.planResets, {}, 0);
    this.#show();
  }

  /** Records a poll, and stores the sums with the counters that they were read from. */
  record({ isIdle, isUp, resources, serialNumber }: PollResult): void {
    if (isIdle) return;
    const families = resources.flatMap((one) => (one.state === 'read' ? one.families : []));
    // First the modems: they say how the counters are read.
    for (const family of families) this.#learn(family);
    const hasFailed = !isUp || resources.some(({ state }) => state === 'failed');
    for (const modem of this.#modems.values()) modem.hasStayedOnline &&= modem.isOnline && !hasFailed;
    const interfaces = this.#readInterfaces(families);
    // A day or a period begins with a reading: what flows until then is of the one before.
    if (interfaces.size === 0) return;
    this.#countedUptimeSeconds = this.#uptimeSeconds;
    for (const modem of this.#modems.values()) modem.hasStayedOnline = modem.isOnline;
    const { router, exposition, values, clock } = this.#options;
    const reading = { wallMs: clock.now(), serial: serialNumber, interfaces };
    const { ledger, resets } = takeReading(this.#ledger, reading, router.data_plans, this.#zone);
    this.#ledger = ledger;
    exposition.add(router, F.planResets, {}, resets);
    const text = renderLedger(ledger);
    if (text !== this.#stored) values.write(router.name, LEDGER_KEY, text);
    this.#stored = text;
    this.#show();
  }

  describe(): readonly DataPlanSummary[] {
    const { router, bytes, clock } = this.#options;
    const nowMs = clock.now();
    return router.data_plans.map(({ sim, limit, billing_day: billingDay }) => {
      const use = this.#ledger?.plans.get(sim);
      if (!use) return { sim, limit, ...NOTHING };
      const { startMs, endMs } = findBillingPeriod(Date.parse(use.period) + DAY_MS / 2, billingDay, this.#zone);
      // Over less than a day, one large transfer says nothing about the rest of a month.
      const perMs = use.bytes / Math.max(DAY_MS, nowMs - use.sinceMs);
      return {
        sim,
        limit,
        used: use.bytes,
        periodStart: new Date(startMs).toISOString(),
        forecast: Math.round(use.bytes + perMs * Math.max(0, endMs - nowMs)),
        agent: bytes.sumSince(use.period),
        day: use.dayBytes,
        median: use.days.length < DAYS_KEPT ? null : findMedian(use.days),
      };
    });
  }

  #learn({ name: family, samples }: MetricFamily): void {
    if (family === 'router_uptime_seconds') this.#uptimeSeconds = samples[0]?.value;
    if (family !== 'router_modem_used_sim' && family !== 'router_modem_online') return;
    for (const { labels, value } of samples) {
      const name = (labels['modem'] ?? '').replace('_serial', '');
      if (!CELLULAR.test(name)) continue;
      const modem = this.#modems.get(name) ?? { sim: undefined, isOnline: false, hasStayedOnline: false };
      this.#modems.set(name, modem);
      if (family === 'router_modem_online') {
        modem.isOnline = value === 1;
        // The card comes behind it in the same document, if the router names one.
        modem.sim = undefined;
      } else modem.sim = labels['used_sim']?.slice(0, SIM_CHARS_MAX).toWellFormed() || undefined;
    }
  }

  #readInterfaces(families: readonly MetricFamily[]): ReadonlyMap<string, InterfaceReading> {
    const counters = readCounters(families, 'router_interface_receive_bytes_total');
    const others = readCounters(families, 'router_interface_transmit_bytes_total');
    const isRunningOn = (this.#uptimeSeconds ?? 0) > (this.#countedUptimeSeconds ?? Infinity);
    const interfaces = new Map<string, InterfaceReading>();
    for (const [name, received] of counters) {
      const sent = others.get(name);
      // A counter without the other one would look like a reset the next time.
      if (sent === undefined) continue;
      const modem = this.#modems.get(CELLULAR.exec(name)?.[1] ?? '');
      const isContinuous = isRunningOn && modem?.hasStayedOnline === true;
      interfaces.set(name, { received, sent, sim: modem?.sim, isContinuous });
    }
    return interfaces;
  }

  #show(): void {
    const { router, exposition } = this.#options;
    this.shown = this.describe();
    const toSamples = (key: keyof DataPlanSummary) =>
      this.shown.flatMap(({ sim, [key]: value }) => {
        const number = typeof value === 'string' ? Date.parse(value) / 1000 : value;
        return number === null ? [] : [[{ sim }, number] as const];
      });
    const families = FAMILIES.map(([family, key]) => toFamily(family, toSamples(key)));
    exposition.publish(router, 'data-plans', families);
  }
}

function readCounters(families: readonly MetricFamily[], wanted: string): ReadonlyMap<string, number> {
  const samples = families.flatMap((family) => (family.name === wanted ? family.samples : []));
  const counters = samples.map(({ labels, value }) => [labels['interface'] ?? '', value] as const);
  return new Map(counters.filter(([name, value]) => CELLULAR.test(name) && Number.isSafeInteger(value) && value >= 0));
}
