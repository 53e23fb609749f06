import { z } from 'zod';
import { type Clock, MONTH_MS, parseJson } from '../../base/index.ts';
import type { RouterClient } from '../../client/index.ts';
import { type FleetExposition, toFamily } from '../../exposition/index.ts';
import type { Labels, RouterIdentity } from '../../model/index.ts';
import { type BudgetPart, SharedBudget } from '../../schedule/index.ts';
import type { RouterDetail } from '../../web/index.ts';
import { FLEET_FAMILIES as F } from '../metrics/fleet-families.ts';
import type { AdaptiveInterval, RouterValues } from './adaptive-interval.ts';

interface ByteAccountOptions {
  readonly router: RouterIdentity;
  /** 0: no budget. */
  readonly bytesPerDay: number;
  readonly statusShare: number;
  readonly pace: Pick<AdaptiveInterval, 'pace'>;
  readonly client: Pick<RouterClient, 'wireBytes'>;
  readonly exposition: FleetExposition;
  readonly values: RouterValues;
  /** Its wall time defines the UTC day. */
  readonly clock: Clock;
}

const BYTES_KEY = 'bytes';
/** A crash loses at most the used bytes of this time: with a budget, and without. Milliseconds. */
const WRITE_INTERVAL_MS = { budget: 60_000, none: 15 * 60_000 };
/** Today included. */
const DAYS_MAX = 62;
const DAY_MS = 86_400_000;
/** Slower modules need some time to show what they cost. Milliseconds. */
const SAMPLE_MS_MIN = 10 * 60_000;
/** Interval of counting during a download without a budget. Milliseconds. */
const FLOW_INTERVAL_MS = 1000;

/** Counts the bytes of one router on the wire, charges its budget, keeps those of the last days, and exposes all. */
export class ByteAccount {
  readonly budget: SharedBudget;
  /** Bytes of the last 62 UTC days, {@link today} first. */
  readonly days: number[];
  /** Those of status polls, for as many of these days as they were told apart; the others are of logs and backups. */
  readonly polls: number[];
  today: string;
  #left: { readonly day: string; readonly days: readonly number[]; readonly polls: readonly number[] } | undefined;
  #part: BudgetPart = 'common';
  #isPoll = false;
  /** Bytes since the router was read as usual for the first time. */
  #sample: { readonly sinceMs: number; readonly sinceWallMs: number; status: number; logs: number } | undefined;
  readonly #options: ByteAccountOptions;
  #sent = 0;
  #received = 0;
  #writtenAtMs = -Infinity;
  #settledAtMs = -Infinity;
  #isStretchShown = false;

  constructor(options: ByteAccountOptions) {
    const { router, bytesPerDay, statusShare, values, clock, exposition } = options;
    this.#options = options;
    // Text that this program did not write counts as none.
    const { data: used } = storedBytes.safeParse(parseJson(values.read(router.name, BYTES_KEY) ?? ''));
    this.budget = new SharedBudget({ bytesPerDay, statusShare, clock, used });
    this.days = [used?.bytes ?? 0, ...(used?.before ?? [])];
    this.polls = [...(used?.polls ?? [0])];
    this.today = used?.day ?? this.budget.used.day;
    this.#followDay();
    for (const family of [F.sentBytes, F.receivedBytes]) exposition.add(router, family, {}, 0);
    this.#show();
  }

  /** Counts the bytes of a piece of an answer; without a budget, once a second. */
  countFlow(): void {
    const { bytesPerDay, clock } = this.#options;
    if (bytesPerDay > 0 || clock.monotonic() - this.#settledAtMs >= FLOW_INTERVAL_MS) this.settle();
  }

  /** Adds the bytes on the wire since the last call. */
  settle(): void {
    const { router, exposition, client, clock } = this.#options;
    this.#settledAtMs = clock.monotonic();
    const { sent, received } = client.wireBytes;
    const [sentNow, receivedNow] = [sent - this.#sent, received - this.#received];
    [this.#sent, this.#received] = [sent, received];
    exposition.add(router, F.sentBytes, {}, sentNow);
    exposition.add(router, F.receivedBytes, {}, receivedNow);
    this.budget.record(sentNow + receivedNow, this.#part);
    this.#followDay();
    if (this.#isPoll) this.polls[0] = (this.polls[0] ?? 0) + sentNow + receivedNow;
    if (this.#sample) this.#sample[this.#isPoll ? 'status' : 'logs'] += sentNow + receivedNow;
    this.#show();
    this.#writeDown();
  }

  /** Settles, then charges another part of the budget. `isPoll`: the bytes are of a status poll. */
  payFrom(part: BudgetPart, isPoll: boolean): void {
    this.settle();
    this.#part = part;
    this.#isPoll = isPoll;
  }

  /** Begins to measure what the router costs: the first poll, and the lines that wait at the start, say nothing about a month. */
  beginSample(): void {
    const { clock } = this.#options;
    this.#sample ??= { sinceMs: clock.monotonic(), sinceWallMs: clock.now(), status: 0, logs: 0 };
  }

  /** Returns what the router is seen to cost in 30 days; null before enough was seen. */
  estimateMonth(): RouterDetail['bytes']['month'] {
    const lengthMs = this.#options.clock.monotonic() - (this.#sample?.sinceMs ?? Infinity);
    if (!this.#sample || lengthMs < SAMPLE_MS_MIN) return null;
    const { sinceWallMs, status, logs } = this.#sample;
    const toMonth = (bytes: number) => Math.round((bytes / lengthMs) * MONTH_MS);
    return { status: toMonth(status), logs: toMonth(logs), since: new Date(sinceWallMs).toISOString() };
  }

  /** Returns the bytes since the beginning of a UTC day. */
  sumSince(firstDay: string): number {
    const days = countDays(firstDay, this.today) + 1;
    return this.days.slice(0, Math.max(0, days)).reduce((sum, bytes) => sum + bytes, 0);
  }

  /** True if the part that is charged now is used up. */
  get isSpent(): boolean {
    return this.budget.isSpent(this.#part);
  }

  close(): void {
    this.#writtenAtMs = -Infinity;
    this.#writeDown();
  }

  /**
   * The budget only knows today. If the clock was set back, today takes over the bytes of the days after it; a clock that then
   * returns, as after a start without a battery, finds its days again.
   */
  #followDay(): void {
    const { day, bytes } = this.budget.used;
    const passed = Math.min(countDays(this.today, day), DAYS_MAX);
    if (passed < 0) this.#left ??= { day: this.today, days: [...this.days], polls: [...this.polls] };
    const left = day === this.#left?.day ? this.#left : undefined;
    for (const key of ['days', 'polls'] as const) {
      if (passed > 0) this[key].splice(0, left ? DAYS_MAX : 0, ...(left?.[key] ?? Array<number>(passed).fill(0)));
      else this[key].splice(0, -passed);
      this[key].splice(DAYS_MAX);
    }
    if (passed > 0) this.#left = undefined;
    this.days[0] = bytes;
    this.polls[0] ??= 0;
    this.today = day;
  }

  #show(): void {
    this.#showStretch();
    const { router, exposition, bytesPerDay } = this.#options;
    if (bytesPerDay === 0) return;
    exposition.publish(router, 'budget', [
      toFamily(F.byteBudget, [[{}, bytesPerDay]]),
      toFamily(F.byteBudgetUsed, [[{}, this.budget.used.bytes]]),
    ]);
  }

  #showStretch(): void {
    const { router, exposition, bytesPerDay, pace } = this.#options;
    const { stretch, statusStretch } = pace.pace;
    const isShown = bytesPerDay > 0 || stretch > 1;
    if (!isShown && !this.#isStretchShown) return;
    this.#isStretchShown = isShown;
    const { budget } = this;
    const samples: [Labels, number][] = [
      [{ activity: 'slow_modules' }, Math.max(budget.intervalMultiplier('slow'), stretch)],
      [{ activity: 'status' }, Math.max(budget.intervalMultiplier('status'), statusStretch)],
      [{ activity: 'logs' }, Math.max(budget.intervalMultiplier('logs'), stretch)],
    ];
    exposition.publish(router, 'stretch', [toFamily(F.stretch, isShown ? samples : [])]);
  }

  #writeDown(): void {
    const { router, values, clock, bytesPerDay } = this.#options;
    const intervalMs = WRITE_INTERVAL_MS[bytesPerDay === 0 ? 'none' : 'budget'];
    if (clock.monotonic() - this.#writtenAtMs < intervalMs) return;
    this.#writtenAtMs = clock.monotonic();
    const { polls } = this;
    const [, ...before] = this.days;
    const stored = { ...this.budget.used, ...(before.length > 0 && { before }), polls };
    values.write(router.name, BYTES_KEY, JSON.stringify(stored));
  }
}

function countDays(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS;
}

const count = z.int().nonnegative();
const storedBytes = z.object({
  day: z.iso.date(),
  bytes: count,
  statusBytes: count.optional(),
  before: z.array(count).optional(),
  polls: z.array(count).optional(),
});
