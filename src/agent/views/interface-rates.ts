import type { ResourceResult } from '../../status/index.ts';
import type { InterfaceRate } from '../../web/index.ts';

/** Interfaces of one router whose rates are kept: more than any device has. About 60 bytes each. */
const INTERFACES_MAX = 32;
const FAMILIES: readonly string[] = ['router_interface_receive_bytes_total', 'router_interface_transmit_bytes_total'];

/** Kept of each interface in each direction: its last count, when that was read, and its rate; NaN if they are not known. */
const COLUMNS = 3;
const [BYTES, READ_AT, PER_SECOND] = [0, 1, 2] as const;
const UNKNOWN: readonly number[] = Array.from({ length: COLUMNS * FAMILIES.length }, () => Number.NaN);

/** Rates of the interfaces of one router, between the last two answers that told its counters. */
export class InterfaceRates {
  #names: readonly string[] = [];
  /** By interface, direction and column: packed, because a fleet has fifty thousand interfaces. */
  #numbers: number[] = [];
  #resource: string | undefined;

  /** Records what a poll has read. */
  record(resources: readonly ResourceResult[]): void {
    for (const { name, state, isUnchanged, families, readAtMs } of resources) {
      if (state !== 'read') {
        if (name === this.#resource) this.#forgetRates();
        continue;
      }
      if (isUnchanged && name === this.#resource) this.#settle(readAtMs);
      for (const family of families) {
        const direction = FAMILIES.indexOf(family.name);
        if (direction < 0) continue;
        this.#resource = name;
        const told = new Set<string>();
        for (const { labels, value } of family.samples) {
          const one = labels['interface'] ?? '';
          told.add(one);
          this.#count(one, direction, value, readAtMs);
        }
        this.#forget(direction, told);
      }
    }
  }

  /** The rates of all interfaces that have one. */
  describe(): readonly InterfaceRate[] {
    const rate = (index: number, direction: number) => {
      const perSecond = this.#read(toPlace(index, direction) + PER_SECOND);
      return Number.isNaN(perSecond) ? null : perSecond;
    };
    return this.#names.map((name, index) => ({
      interface: name,
      receiveBytesPerSecond: rate(index, 0),
      transmitBytesPerSecond: rate(index, 1),
    }));
  }

  #count(name: string, direction: number, bytes: number, readAtMs: number): void {
    const index = this.#indexOf(name);
    if (index === undefined) return;
    const place = toPlace(index, direction);
    const more = bytes - this.#read(place + BYTES);
    const seconds = (readAtMs - this.#read(place + READ_AT)) / 1000;
    this.#numbers[place + BYTES] = bytes;
    this.#numbers[place + READ_AT] = readAtMs;
    // A counter that is smaller than before began anew.
    this.#numbers[place + PER_SECOND] = seconds > 0 && more >= 0 ? more / seconds : Number.NaN;
  }

  /** Returns the index of an interface, which may be a new one; `undefined` if there are too many. */
  #indexOf(name: string): number | undefined {
    const known = this.#names.indexOf(name);
    if (known >= 0) return known;
    if (this.#names.length >= INTERFACES_MAX) return undefined;
    // Neither pushed nor spread: both leave room for sixteen more.
    this.#names = this.#names.concat(name);
    this.#numbers = this.#numbers.concat(UNKNOWN);
    return this.#names.length - 1;
  }

  /** The same answer as before: no interface had any traffic. */
  #settle(readAtMs: number): void {
    for (let place = 0; place < this.#numbers.length; place += COLUMNS) {
      if (Number.isNaN(this.#read(place + BYTES))) continue;
      this.#numbers[place + READ_AT] = readAtMs;
      this.#numbers[place + PER_SECOND] = 0;
    }
  }

  /** Forgets all rates: those of the next answer are means over the time without one. */
  #forgetRates(): void {
    for (let place = 0; place < this.#numbers.length; place += COLUMNS) this.#numbers[place + PER_SECOND] = Number.NaN;
  }

  /** Forgets what is known in a direction of interfaces that were not told this time. */
  #forget(direction: number, told: ReadonlySet<string>): void {
    for (const [index, name] of this.#names.entries()) {
      const place = toPlace(index, direction);
      if (!told.has(name)) this.#numbers.fill(Number.NaN, place, place + COLUMNS);
    }
  }

  #read(place: number): number {
    return this.#numbers[place] ?? Number.NaN;
  }
}

function toPlace(index: number, direction: number): number {
  return COLUMNS * (FAMILIES.length * index + direction);
}
