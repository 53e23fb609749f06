import { constants, deflateSync, inflateSync } from 'node:zlib';
import { createNumbers } from '../../base/index.ts';
import type { HistoryPoint, InterfaceRate, PollFault, PollSummary } from '../../web/index.ts';
import type { DeviceFacts } from './device-facts.ts';

interface Poll {
  /** Wall time in milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly durationMs: number;
  readonly failure: { readonly reason: string; readonly error: string } | undefined;
  readonly fault: PollFault | undefined;
}

const RECENT_MAX = 12;
/** Older failed polls, so that a failure at night is still visible in the morning. */
const FAILED_MAX = 12;
/** Partial failures are counted apart, so that one broken resource cannot evict real outages. */
const PARTIAL_MAX = 4;

/** The last polls of a router; failed ones are kept longer. */
export class RecentPolls {
  /** The newest first. */
  #recent: readonly Poll[] = [];
  readonly #failed: Poll[] = [];
  readonly #partial: Poll[] = [];

  /** Duration of the last poll in milliseconds; `undefined` before the first. */
  get lastDurationMs(): number | undefined {
    return this.#recent[0]?.durationMs;
  }

  add(poll: Poll): void {
    const oldest = this.#recent[RECENT_MAX - 1];
    if (oldest?.failure) keep(this.#failed, oldest, FAILED_MAX);
    else if (oldest?.fault) keep(this.#partial, oldest, PARTIAL_MAX);
    this.#recent = [poll].concat(this.#recent.slice(0, RECENT_MAX - 1));
  }

  describe(): readonly PollSummary[] {
    const kept = [...this.#failed, ...this.#partial].toSorted((a, b) => b.atMs - a.atMs);
    return [...this.#recent, ...kept].map(({ atMs, durationMs, failure, fault }) => ({
      at: new Date(atMs).toISOString(),
      durationSeconds: durationMs / 1000,
      ok: failure === undefined,
      reason: failure?.reason ?? null,
      error: failure?.error ?? null,
      fault: fault ?? null,
    }));
  }
}

function keep(polls: Poll[], poll: Poll, max: number): void {
  polls.unshift(poll);
  if (polls.length > max) polls.pop();
}

/** Length of one slot of the history. Milliseconds. */
const SLOT_MS = 3 * 60_000;
/** 24 hours. */
const SLOTS = 480;
/** Slots in one letter of {@link RouterHistory.describeResults}. */
const LETTER_SLOTS = 4;
/** No value. Only signals can be negative, and they are not so small. */
const NONE = -128;
/** Steps in which a rate doubles: 1 % each, finer than any plot. */
const RATE_STEPS = 64;

/** Results of a slot: bits for successful and failed polls. */
const [UP, DOWN] = [1, 2];
const RESULT_NAMES = [null, 'up', 'down', 'mixed'] as const;
const LETTER_CODES = Buffer.from('-udm');
const ORDERED = Buffer.alloc(2 * SLOTS);
const RESULTS = Buffer.alloc(SLOTS / LETTER_SLOTS);

interface HistoryEntry {
  readonly isUp: boolean;
  /** In its own unit; `undefined` without a modem. Of several modems, that of the one that is shown. */
  readonly signal: number | undefined;
  /** All modems. Default: none. */
  readonly modems?: DeviceFacts['modems'];
  /** Longest lag of the logs; `undefined` without any. Milliseconds. */
  readonly lagMs: number | undefined;
  /** Milliseconds. */
  readonly durationMs: number;
  readonly traffic: Pick<InterfaceRate, 'receiveBytesPerSecond' | 'transmitBytesPerSecond'> | undefined;
  /** Time for which its result holds unless another poll ends. Milliseconds. */
  readonly holdMs: number;
}

/** A history as it is stored. */
interface PackedHistory {
  /** Start of the newest slot. Wall time in milliseconds since the Unix epoch. */
  readonly newestMs: number;
  readonly slots: string;
  /** By name; absent without several. */
  readonly modems?: Readonly<Record<string, PackedHistory | undefined>> | undefined;
}

export interface Moment {
  /** Wall time in milliseconds since the Unix epoch. */
  readonly wallMs: number;
  /** Monotonic milliseconds. */
  readonly ms: number;
}

/** Columns of numbers by slot: a fleet has ten thousand of these. */
class Slots {
  readonly results = createNumbers(Uint8Array, SLOTS);
  /** Signals in whole dB. */
  readonly signal = createNumbers(Int8Array, SLOTS);
  readonly weakest = createNumbers(Int8Array, SLOTS);
  readonly strongest = createNumbers(Int8Array, SLOTS);
  /** Seconds. */
  readonly lag = createNumbers(Int16Array, SLOTS);
  /** Hundredths of a second. */
  readonly response = createNumbers(Int16Array, SLOTS);
  /** Bits per second, on a logarithmic scale. */
  readonly received = createNumbers(Int16Array, SLOTS);
  readonly sent = createNumbers(Int16Array, SLOTS);

  constructor() {
    for (let slot = 0; slot < SLOTS; slot++) this.clear(slot);
  }

  /** Each byte of the columns as one plane, all low bytes first: bytes of one kind compress best. */
  get planes() {
    const wide = [this.lag, this.response, this.received, this.sent];
    const low = [this.results, this.signal, this.weakest, this.strongest, ...wide];
    return [...low.map((column) => [column, 0] as const), ...wide.map((column) => [column, 8] as const)];
  }

  clear(slot: number): void {
    this.results[slot] = 0;
    const { signal, weakest, strongest, lag, response, received, sent } = this;
    for (const column of [signal, weakest, strongest, lag, response, received, sent]) column[slot] = NONE;
  }

  addSignal(slot: number, signal: number): void {
    const [weakest = NONE, strongest = NONE] = [this.weakest[slot], this.strongest[slot]];
    this.signal[slot] = signal;
    this.weakest[slot] = weakest === NONE ? signal : Math.min(weakest, signal);
    this.strongest[slot] = Math.max(strongest, signal);
  }
}

/** Twelve planes. */
const PACKED_BYTES = 12 * SLOTS;
/** Modems of one router with a history of their own: those of more would not fit into a stored value. */
const MODEMS_MAX = 2;

/**
 * The last 24 hours of one router in slots of three minutes. A slot has the last value of each kind, the weakest and the
 * strongest signal, and whether polls succeeded or failed in it. Of several modems, each has a history of its signal besides.
 */
export class RouterHistory {
  #slots: Slots | undefined;
  /** Number of the newest slot on the monotonic clock, so that changes of the wall clock have no effect. */
  #newest = 0;
  #last = 0;
  /** Number of the last slot in which the result of the last poll holds. */
  #heldTo = Number.NEGATIVE_INFINITY;
  /** `undefined` until there are several: most routers of a fleet have one. */
  #modems: ReadonlyMap<string, RouterHistory> | undefined;

  /** Records a poll that ended at `nowMs` (monotonic). */
  add({ isUp, signal, modems = [], lagMs, durationMs, traffic, holdMs }: HistoryEntry, nowMs: number): void {
    const number = toNumber(nowMs);
    if (!this.#slots) this.#newest = number;
    this.#slots ??= new Slots();
    const slots = this.#slots;
    for (let next = Math.max(this.#newest + 1, number - SLOTS + 1); next <= number; next++) {
      slots.clear(toSlot(next));
      if (next < number && next <= this.#heldTo) slots.results[toSlot(next)] = this.#last;
    }
    this.#newest = Math.max(this.#newest, number);
    this.#last = isUp ? UP : DOWN;
    this.#heldTo = toNumber(nowMs + holdMs);
    const slot = toSlot(number);
    slots.results[slot] = (slots.results[slot] ?? 0) | this.#last;
    if (signal !== undefined) slots.addSignal(slot, pack(signal, NONE + 1, 127));
    if (lagMs !== undefined) slots.lag[slot] = pack(lagMs / 1000);
    if (isUp) slots.response[slot] = pack(durationMs / 10);
    const { receiveBytesPerSecond: received, transmitBytesPerSecond: sent } = traffic ?? {};
    if (typeof received === 'number') slots.received[slot] = packRate(received);
    if (typeof sent === 'number') slots.sent[slot] = packRate(sent);
    if (!this.#modems && modems.length < 2) return;
    // Those that there are now come first: others may be gone for good.
    const present = modems.map(({ modem }) => [modem, this.ofModem(modem) ?? new RouterHistory()] as const);
    this.#modems = new Map([...new Map([...present, ...(this.#modems ?? [])])].slice(0, MODEMS_MAX));
    for (const [name, history] of this.#modems) {
      const own = isUp ? modems.find(({ modem }) => modem === name)?.signal?.value : undefined;
      history.add({ isUp, signal: own, lagMs: undefined, durationMs: Number.NaN, traffic: undefined, holdMs }, nowMs);
    }
  }

  /** Returns the history of a modem; `undefined` if there is only one, whose signal is that of the router. */
  ofModem(name: string): RouterHistory | undefined {
    return this.#modems?.get(name);
  }

  /** Returns the slots of the last 24 hours, the oldest first; empty before the first poll. */
  describe({ ms, wallMs }: Moment): readonly HistoryPoint[] {
    const slots = this.#slots;
    if (!slots) return [];
    const first = toFirstNumber(ms);
    return Array.from({ length: SLOTS }, (_, index): HistoryPoint => {
      const number = first + index;
      // A slot after the newest entry still has the values of a day before.
      const slot = number <= this.#newest ? toSlot(number) : -1;
      return {
        at: new Date(wallMs - ms + number * SLOT_MS).toISOString(),
        result: RESULT_NAMES[this.#resultOf(slots, number)] ?? null,
        signal: unpack(slots.signal[slot], 1),
        signalMin: unpack(slots.weakest[slot], 1),
        signalMax: unpack(slots.strongest[slot], 1),
        logLagSeconds: unpack(slots.lag[slot], 1),
        responseSeconds: unpack(slots.response[slot], 100),
        receiveBitsPerSecond: unpackRate(slots.received[slot]),
        transmitBitsPerSecond: unpackRate(slots.sent[slot]),
      };
    });
  }

  /** Returns one letter for each 12 minutes of the last 24 hours, the oldest first; empty before the first poll. */
  describeResults(nowMs: number): string {
    const slots = this.#slots;
    if (!slots) return '';
    const first = toFirstNumber(nowMs);
    // Copied twice, so that the window is in one piece: the page of the fleet reads the results of ten thousand routers.
    ORDERED.set(slots.results);
    ORDERED.set(slots.results, SLOTS);
    const start = toSlot(first);
    const known = Math.max(0, this.#newest - first + 1);
    const held = Math.max(known, Math.min(SLOTS, this.#heldTo - first + 1));
    ORDERED.fill(this.#last, start + known, start + held).fill(0, start + held);
    for (let letter = 0, at = start; letter < RESULTS.length; letter++, at += LETTER_SLOTS) {
      const four = ORDERED.readUInt32LE(at);
      RESULTS[letter] = LETTER_CODES[(four | (four >> 8) | (four >> 16) | (four >> 24)) & (UP | DOWN)] ?? 0;
    }
    return RESULTS.toString('latin1');
  }

  /** Returns the slots as text and the start of the newest one in wall time; `undefined` before the first poll. */
  pack(at: Moment): PackedHistory | undefined {
    const slots = this.#slots;
    if (!slots) return undefined;
    const bytes = Buffer.alloc(PACKED_BYTES);
    const oldest = toSlot(this.#newest + 1);
    for (const [index, [column, shift]] of slots.planes.entries()) {
      const plane = shift === 0 ? column : column.map((value) => value >> shift);
      bytes.set(plane.subarray(oldest), index * SLOTS);
      bytes.set(plane.subarray(0, oldest), (index + 1) * SLOTS - oldest);
    }
    const packed = deflateSync(bytes, { level: constants.Z_BEST_SPEED }).toString('base64');
    const modems =
      this.#modems && Object.fromEntries(this.#modems.entries().map(([name, one]) => [name, one.pack(at)]));
    return { newestMs: at.wallMs - at.ms + this.#newest * SLOT_MS, slots: packed, modems };
  }

  /** Continues a history that was packed before. The time since then has no values; text of others counts as empty. */
  recall(packed: PackedHistory, { ms, wallMs }: Moment): void {
    const bytes = unpackBytes(packed.slots);
    if (!bytes) return;
    // A wall clock that was set back says nothing about the time that has passed.
    const passedMs = Math.max(0, wallMs - packed.newestMs);
    this.#newest = Math.min(Math.round((ms - passedMs) / SLOT_MS), toNumber(ms));
    const slots = new Slots();
    const oldest = toSlot(this.#newest + 1);
    for (const [index, [column, shift]] of slots.planes.entries()) {
      const packedPlane = bytes.subarray(index * SLOTS, (index + 1) * SLOTS);
      const plane = Buffer.concat([packedPlane.subarray(SLOTS - oldest), packedPlane.subarray(0, SLOTS - oldest)]);
      column.set(shift === 0 ? plane : column.map((low, slot) => low | ((plane[slot] ?? 0) << shift)));
    }
    this.#slots = slots;
    for (const [name, one] of Object.entries(packed.modems ?? {})) {
      const history = new RouterHistory();
      if (one) history.recall(one, { ms, wallMs });
      this.#modems = new Map([...(this.#modems ?? []), [name, history]]);
    }
  }

  #resultOf(slots: Slots, number: number): number {
    if (number <= this.#newest) return (slots.results[toSlot(number)] ?? 0) & (UP | DOWN);
    return number <= this.#heldTo ? this.#last : 0;
  }
}

function toNumber(nowMs: number): number {
  return Math.floor(nowMs / SLOT_MS);
}

function toFirstNumber(nowMs: number): number {
  return toNumber(nowMs) - SLOTS + 1;
}

/** Numbers before the start of the clock are negative. */
function toSlot(number: number): number {
  return ((number % SLOTS) + SLOTS) % SLOTS;
}

function pack(value: number, least = 0, most = 32767): number {
  return Number.isFinite(value) ? Math.max(least, Math.min(most, Math.round(value))) : NONE;
}

function unpack(value: number | undefined, divisor: number): number | null {
  return value === undefined || value === NONE ? null : value / divisor;
}

function packRate(bytesPerSecond: number): number {
  return pack(RATE_STEPS * Math.log2(1 + 8 * bytesPerSecond));
}

function unpackRate(value: number | undefined): number | null {
  const steps = unpack(value, RATE_STEPS);
  return steps === null ? null : Math.round(2 ** steps - 1);
}

function unpackBytes(text: string): Buffer | undefined {
  try {
    const bytes = inflateSync(Buffer.from(text, 'base64'), { maxOutputLength: PACKED_BYTES });
    return bytes.length === PACKED_BYTES ? bytes : undefined;
  } catch {
    return undefined;
  }
}
