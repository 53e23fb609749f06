import type { Clock } from '../../base/index.ts';
import { type FleetExposition, toFamily } from '../../exposition/index.ts';
import type { Labels, RouterIdentity } from '../../model/index.ts';
import type { RouterClient } from '../../router/index.ts';
import { type BudgetPart, SharedBudget, type SharedBytesUsed } from '../../schedule/index.ts';
import { FLEET_FAMILIES as F } from '../metrics/fleet-families.ts';
import type { KeptPace, RouterValues } from './kept-pace.ts';

/** Budget of one router, and storage for its use. */
interface ByteAccountOptions {
  /** Router whose bytes are counted. */
  readonly router: RouterIdentity;
  /** 0 = no budget. */
  readonly bytesPerDay: number;
  /** Share of the budget that is kept for status polls. */
  readonly statusShare: number;
  /** The pace of the router, apart from its budget. */
  readonly pace: Pick<KeptPace, 'pace'>;
  /** Counts the bytes of its connections. */
  readonly client: Pick<RouterClient, 'wireBytes'>;
  /** Exposition that serves the byte metrics. */
  readonly exposition: FleetExposition;
  /** Stored values that keep the bytes of the day over a restart. */
  readonly values: RouterValues;
  /** Clock whose wall time defines the UTC day. */
  readonly clock: Clock;
}

/** Key of the bytes of the day, so that a restart does not reset them. */
const BYTES_KEY = 'bytes';
/** Minimum interval between writes of the used bytes: a crash loses at most a minute of them. */
const WRITE_INTERVAL_MS = 60_000;
/** Without a budget, bytes that flow are counted as often as this. Milliseconds. */
const FLOW_INTERVAL_MS = 1000;

/** Bytes of one router on the wire: counted while they flow, compared with its budget, and exposed. */
export class ByteAccount {
  readonly budget: SharedBudget;
  /** The part of the budget that pays for the bytes from now on. */
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
    const used = bytesPerDay === 0 ? undefined : parseUsed(values.read(router.name, BYTES_KEY));
    this.budget = new SharedBudget({ bytesPerDay, statusShare, clock, used });
    for (const family of [F.sentBytes, F.receivedBytes]) exposition.add(router, family, {}, 0);
    this.#show();
  }

  /** Called for each piece of an answer: adds its bytes, without a budget only once a second. */
  noteFlow(): void {
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
    this.#show();
    this.#writeDown();
  }

  /** Settles, and has another part of the budget pay from now on. */
  payFrom(part: BudgetPart): void {
    this.settle();
    this.#part = part;
  }

  /** True if the part of the day's budget that pays now is used up. */
  get isSpent(): boolean {
    return this.budget.isSpent(this.#part);
  }

  /** Stores the used bytes now. */
  close(): void {
    this.#writtenAtMs = -Infinity;
    this.#writeDown();
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
    if (bytesPerDay === 0 || clock.monotonic() - this.#writtenAtMs < WRITE_INTERVAL_MS) return;
    this.#writtenAtMs = clock.monotonic();
    values.write(router.name, BYTES_KEY, JSON.stringify(this.budget.used));
  }
}

function parseUsed(text: string | undefined): SharedBytesUsed | undefined {
  const match = /^\{"day":"(\d{4}-\d{2}-\d{2})","bytes":(\d{1,15})(?:,"statusBytes":(\d{1,15}))?\}$/.exec(text ?? '');
  if (match?.[1] === undefined) return undefined;
  return { day: match[1], bytes: Number(match[2]), statusBytes: Number(match[3] ?? 0) };
}
