import { z } from 'zod';
import { parseJson, renderDay, type ZoneOffsets } from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';

type DataPlans = RouterSettings['data_plans'];

/** The plan of bytes whose SIM card is not known or has no plan. */
const UNKNOWN_SIM = 'unknown';
/** Finished days from which the median is taken. */
export const DAYS_KEPT = 14;
/** Interfaces of one router; no device has more modems and channels. */
const INTERFACES_MAX = 8;
/** A counter of 32 bits wraps here. */
const WRAP = 2 ** 32;

const count = z.int().nonnegative();
/** `sim`: the SIM card in use; absent if it was never reported. */
const counters = z.object({ received: count, sent: count, sim: z.string().optional() });
/**
 * `period`: its first day, as `2026-11-01`. `sinceMs`: when counting began in it, later than its start if the plan is new; wall time.
 * `left`: the period before, to which a clock that was ahead returns. `dayBytes`: of the day of the ledger. `days`: of the days before on which counters were read, the last one first.
 */
const periodUse = z.object({ period: z.iso.date(), sinceMs: z.number(), bytes: count });
const planUse = periodUse.extend({
  left: periodUse.optional(),
  dayBytes: count,
  days: z.array(count).max(DAYS_KEPT),
});
const storedLedger = z.object({
  serial: z.string().optional(),
  day: z.iso.date(),
  interfaces: z.array(z.tuple([z.string(), counters])).transform((entries) => new Map(entries)),
  plans: z.array(z.tuple([z.string(), planUse])).transform((entries) => new Map(entries)),
});

/**
 * Sums of the plans of one router, by their `sim`, and the counters from which they were read, by interface: stored together, so that no
 * restart counts twice. `serial` of the device that the counters belong to; `day` of the last reading, as `2026-11-29`. Days and periods
 * are those of the zone of the router.
 */
export type DataPlanLedger = z.output<typeof storedLedger>;

/** One reading of a cellular interface. */
export interface InterfaceReading extends Readonly<z.output<typeof counters>> {
  /** True if, since the last reading, the uptime went on and the modem stayed online, as far as known. */
  readonly isContinuous: boolean;
}

interface CounterReading {
  /** Wall time. */
  readonly wallMs: number;
  /** Default: that of the reading before. */
  readonly serial: string | undefined;
  readonly interfaces: ReadonlyMap<string, InterfaceReading>;
}

/** Returns `undefined` for text that {@link renderLedger} did not write. */
export function parseLedger(text: string | undefined): DataPlanLedger | undefined {
  return storedLedger.safeParse(parseJson(text ?? '')).data;
}

export function renderLedger({ interfaces, plans, ...rest }: DataPlanLedger): string {
  return JSON.stringify({ ...rest, interfaces: [...interfaces], plans: [...plans] });
}

/**
 * Adds to the plans what has flowed since the last reading. Bytes count for the day and the period in which their interval began, and
 * for no plan twice. Nothing is counted before the first reading of a device. Of a counter that was reset, the bytes since then count:
 * those between the last reading and the reset are missing. Returns the number of interfaces with a reset.
 */
export function takeReading(
  before: DataPlanLedger | undefined,
  { wallMs, serial, interfaces }: CounterReading,
  terms: DataPlans,
  zone: ZoneOffsets,
): { readonly ledger: DataPlanLedger; readonly resets: number } {
  const isExchanged = serial !== undefined && before?.serial !== undefined && serial !== before.serial;
  const known = new Map(isExchanged ? [] : before?.interfaces);
  const flowed = new Map<string, number>();
  let resets = 0;
  for (const [name, { isContinuous, ...now }] of interfaces) {
    const last = known.get(name);
    if (!last && known.size >= INTERFACES_MAX) continue;
    const sim = now.sim ?? last?.sim;
    known.set(name, { ...now, sim });
    if (!last) continue;
    // A reset is seen in both counters, so while one wraps the other goes on.
    const received = measureFlow(last.received, now.received, isContinuous && now.sent >= last.sent);
    const sent = measureFlow(last.sent, now.sent, isContinuous && now.received >= last.received);
    const isReset = received.isReset || sent.isReset;
    if (isReset) resets++;
    // Bytes up to a change of the SIM card may be of either one.
    const plan = findPlan(terms, isReset || sim === last.sim ? sim : undefined);
    if (plan !== undefined) flowed.set(plan, (flowed.get(plan) ?? 0) + received.bytes + sent.bytes);
  }
  const day = renderDay(wallMs + zone.offsetMs(wallMs));
  const isNewDay = before !== undefined && day > before.day;
  const plans = new Map<string, z.output<typeof planUse>>();
  for (const { sim, billing_day: billingDay } of terms) {
    const period = findBillingPeriod(wallMs, billingDay, zone).firstDay;
    const use = before?.plans.get(sim);
    const more = use ? (flowed.get(sim) ?? 0) : 0;
    const dayBytes = add(use?.dayBytes, more);
    plans.set(sim, {
      ...followPeriod(use, { period, sinceMs: wallMs, bytes: more }),
      dayBytes: isNewDay ? 0 : dayBytes,
      days: isNewDay && use ? [dayBytes, ...use.days].slice(0, DAYS_KEPT) : (use?.days ?? []),
    });
  }
  return { ledger: { serial: serial ?? before?.serial, day, interfaces: known, plans }, resets };
}

/** A clock that is set back to any period but the one that was left last, as to 1970, changes no period. */
function followPeriod(use: z.output<typeof planUse> | undefined, now: z.output<typeof periodUse>) {
  if (!use) return { ...now, bytes: 0 };
  const bytes = add(use.bytes, now.bytes);
  const { period, left } = use;
  if (now.period > period) return { ...now, bytes: 0, left: { period, sinceMs: use.sinceMs, bytes } };
  if (now.period === left?.period) return { ...left, bytes: add(left.bytes, bytes) };
  return { period, sinceMs: Math.min(use.sinceMs, now.sinceMs), bytes, left };
}

function measureFlow(last: number, now: number, mayWrap: boolean) {
  if (now >= last) return { bytes: now - last, isReset: false };
  const isWrap = mayWrap && last > WRAP / 2 && last < WRAP;
  return { bytes: isWrap ? WRAP - last + now : now, isReset: !isWrap };
}

/** Returns the `sim` of the plan that bytes of a SIM card count for. */
function findPlan(terms: DataPlans, sim: string | undefined): string | undefined {
  const own = sim === undefined ? undefined : terms.find((term) => toSimKey(term.sim) === toSimKey(sim));
  return (own ?? terms.find((term) => term.sim === UNKNOWN_SIM))?.sim;
}

/** Firmware writes `1` or `SIM 1`. */
function toSimKey(sim: string): string {
  return /\d+/.exec(sim)?.[0] ?? sim;
}

function add(sum = 0, bytes: number): number {
  return Math.min(sum + bytes, Number.MAX_SAFE_INTEGER);
}

/** Returns the billing period of a moment. A day that a month lacks is its last one. Wall time. */
export function findBillingPeriod(wallMs: number, billingDay: number, zone: ZoneOffsets) {
  const local = new Date(wallMs + zone.offsetMs(wallMs));
  const [year, month] = [local.getUTCFullYear(), local.getUTCMonth()];
  const startIn = (index: number) =>
    Date.UTC(year, index, Math.min(billingDay, new Date(Date.UTC(year, index + 1, 0)).getUTCDate()));
  const first = startIn(month) > local.getTime() ? month - 1 : month;
  return {
    firstDay: renderDay(startIn(first)),
    startMs: zone.momentsOf(startIn(first))[0],
    endMs: zone.momentsOf(startIn(first + 1))[0],
  };
}
