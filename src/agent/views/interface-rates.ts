import type { ResourceResult } from '../../status/index.ts';
import type { InterfaceRate } from '../../web/index.ts';

/** Interfaces of one router whose rates are kept: more than any device has. About 100 bytes each. */
const INTERFACES_MAX = 32;
const FAMILIES = ['router_interface_receive_bytes_total', 'router_interface_transmit_bytes_total'] as const;

/** Last count and rate in one direction. */
interface Count {
  bytes: number;
  readAtMs: number;
  perSecond: number | undefined;
}

/** Rates of the interfaces of one router, between the last two answers that told its counters. */
export class InterfaceRates {
  readonly #counts = new Map<string, Partial<Record<(typeof FAMILIES)[number], Count>>>();
  #resource: string | undefined;

  /** Records what a poll has read. */
  record(resources: readonly ResourceResult[]): void {
    for (const { name, state, isUnchanged, families, readAtMs } of resources) {
      if (state !== 'read') continue;
      if (isUnchanged && name === this.#resource) this.#settle(readAtMs);
      for (const family of families) {
        const known = FAMILIES.find((one) => one === family.name);
        if (known === undefined) continue;
        this.#resource = name;
        for (const { labels, value } of family.samples) this.#count(labels['interface'] ?? '', known, value, readAtMs);
      }
    }
  }

  /** The rates of all interfaces that have one. */
  describe(): readonly InterfaceRate[] {
    return [...this.#counts].map(([name, counts]) => ({
      interface: name,
      receiveBytesPerSecond: counts[FAMILIES[0]]?.perSecond ?? null,
      transmitBytesPerSecond: counts[FAMILIES[1]]?.perSecond ?? null,
    }));
  }

  #count(name: string, family: (typeof FAMILIES)[number], bytes: number, readAtMs: number): void {
    if (!this.#counts.has(name) && this.#counts.size >= INTERFACES_MAX) return;
    const counts = this.#counts.get(name) ?? {};
    this.#counts.set(name, counts);
    const before = counts[family];
    const seconds = before ? (readAtMs - before.readAtMs) / 1000 : 0;
    // A counter that is smaller than before began anew.
    const perSecond = before && seconds > 0 && bytes >= before.bytes ? (bytes - before.bytes) / seconds : undefined;
    counts[family] = { bytes, readAtMs, perSecond };
  }

  /** The same answer as before: no interface had any traffic. */
  #settle(readAtMs: number): void {
    for (const counts of this.#counts.values()) {
      for (const family of FAMILIES) {
        const count = counts[family];
        if (count) counts[family] = { ...count, readAtMs, perSecond: 0 };
      }
    }
  }
}
