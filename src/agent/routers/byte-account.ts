import { z } from 'zod';
import { type Clock, parseJson } from '../../base/index.ts';
import type { RouterClient } from '../../client/index.ts';
import { type FleetExposition, toFamily } from '../../exposition/index.ts';
import type { Labels, RouterIdentity } from '../../model/index.ts';
import { type BudgetPart, SharedBudget } from '../../schedule/index.ts';
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
/** Interval of counting during a download without a budget. Milliseconds. */
const FLOW_INTERVAL_MS = 1000;

/** Counts the bytes of one router on the wire, charges its budget, keeps those of the last days, and exposes all. */
export class ByteAccount {
  readonly budget: SharedBudget;
  /** Bytes of the last 62 UTC days, {@link today} first. */
  readonly days: number[];
  today: string;
  /** When counting began, or the begin of the first stored day. Wall time. */
  readonly sinceMs: number;
  #left: { readonly day: string; readonly days: readonly number[] } | undefined;
  #part: BudgetPart = 'common';
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
    this.sinceMs = used ? Date.parse(used.day) - (this.days.length - 1) * DAY_MS : clock.now();
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
    this.#show();
    this.#writeDown();
  }

  /** Settles, then charges another part of the budget. */
  payFrom(part: BudgetPart): void {
    this.settle();
    this.#part = part;
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
    if (passed < 0) this.#left ??= { day: this.today, days: [...this.days] };
    if (passed > 0 && day === this.#left?.day) this.days.splice(0, DAYS_MAX, ...this.#left.days);
    else if (passed > 0) this.days.unshift(...Array<number>(passed).fill(0));
    else this.days.splice(0, -passed);
    if (passed > 0) this.#left = undefined;
    this.days[0] = bytes;
    this.days.splice(DAYS_MAX);
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
    const [, ...before] = this.days;
    const stored = { ...this.budget.used, ...(before.length > 0 && { before }) };
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
});
