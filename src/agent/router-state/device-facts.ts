import type { Labels, MetricFamily } from '../../model/index.ts';
import type { PollResult, ResourceResult } from '../../status/index.ts';
import { type DeviceSummary, type InterfaceRate, NO_DEVICE, type SignalSummary } from '../../web/index.ts';

/** The last facts about a router before the agent started: pages show them as expired until it has been reached again. */
export interface LastFacts {
  /** Wall time. */
  readonly readAtMs: number;
  readonly device: DeviceSummary;
}

interface Facts {
  /** Where they were read: of a modem, its name. */
  readonly resource: string;
  model?: string | undefined;
  location?: string | undefined;
  operator?: string | undefined;
  technology?: string | undefined;
  wan?: string | undefined;
  /** Those of the WAN chain that are online. */
  wanInterfaces?: readonly string[] | undefined;
  uptimeSeconds?: number | undefined;
  drift?: DeviceSummary['drift'];
  rsrp?: number | undefined;
  rssi?: number | undefined;
  csq?: number | undefined;
  /** Best value over all modems, which decides if the signal is poor. */
  bestRsrp?: number | undefined;
  bestRssi?: number | undefined;
  isOnline?: boolean | undefined;
}

type Extractor = (samples: MetricFamily['samples'], facts: Facts) => void;

const TEXT_CHARS_MAX = 64;
const WAN_INTERFACES_MAX = 8;

/** Families of the shipped modules that are shown for each router of the fleet. */
const EXTRACTORS: ReadonlyMap<string, Extractor> = new Map(
  Object.entries<Extractor>({
    router_board_info([board], facts) {
      facts.model ??= textOf(board?.labels, 'board_type');
    },
    router_device_info([device], facts) {
      facts.model = textOf(device?.labels, 'device_type') ?? facts.model;
    },
    router_location_info([place], facts) {
      facts.location = textOf(place?.labels, 'location');
    },
    router_modem_info([modem], facts) {
      facts.operator = textOf(modem?.labels, 'provider_name') ?? textOf(modem?.labels, 'provider');
    },
    router_modem_access_technology([modem], facts) {
      facts.technology = textOf(modem?.labels, 'access_technology');
    },
    router_wan_active_info([chain], facts) {
      facts.wan = textOf(chain?.labels, 'chain');
    },
    router_wan_chain_member_online(members, facts) {
      const online = members.filter(({ value }) => value === 1).slice(0, WAN_INTERFACES_MAX);
      facts.wanInterfaces = online.map(({ labels }) => labels['interface'] ?? '');
    },
    router_profile_modified(profiles, facts) {
      if (profiles.some(({ value }) => value === 1)) facts.drift = 'profile';
    },
    router_config_expected(rules, facts) {
      if (rules.some(({ value }) => value === 0)) facts.drift ??= 'rule';
    },
    router_modem_online([one], facts) {
      facts.isOnline = one?.value === 1;
    },
    router_uptime_seconds([one], facts) {
      facts.uptimeSeconds = one?.value;
    },
    router_modem_rsrp_dbm(all, facts) {
      facts.rsrp = all[0]?.value;
      facts.bestRsrp = toBest(all);
    },
    router_modem_rssi_dbm(all, facts) {
      facts.rssi = all[0]?.value;
      facts.bestRssi = toBest(all);
    },
    router_modem_signal_csq([one], facts) {
      facts.csq = one?.value;
    },
  }),
);

/** Resources of one router with cached facts. A router names its modems, so their number needs a bound. */
const RESOURCES_MAX = 16;
/** Values below which a signal is poor: the limits of the alert `RouterSignalPoor`. RSSI only counts without RSRP. */
const POOR_BELOW = { rsrp: -110, rssi: -95 } as const;

/**
 * The last values of a router that lists show: model, location, modem, WAN chain and uptime. They come from the same
 * samples as the metrics, expire with them while the router answers, and are kept while it is down. A user's module
 * that defines one of these families is shown too.
 */
export class DeviceFacts {
  #known: Map<string, { readonly facts: Facts; readonly untilMs: number }> | undefined;
  #shown: readonly Facts[] = [];
  #summary: DeviceSummary = NO_DEVICE;

  /** Last known values; the same object until a poll changes one. */
  get summary(): DeviceSummary {
    return this.#summary;
  }

  /** Names of the interfaces of the WAN chain that are online. */
  get wanInterfaces(): readonly string[] {
    return this.#shown.flatMap(({ wanInterfaces }) => wanInterfaces ?? []);
  }

  /** Modems with their signals. */
  get modems(): readonly { readonly modem: string; readonly signal: SignalSummary | null }[] {
    return this.#shown.filter(isModem).map((facts) => ({ modem: facts.resource, signal: toSignal(facts) }));
  }

  /** Records a poll that ended at `nowMs` (monotonic). A failed resource keeps its facts until they expire. */
  record({ isUp, resources, withdrawn }: Pick<PollResult, 'isUp' | 'resources' | 'withdrawn'>, nowMs: number): void {
    for (const { name, state, isUnchanged, families, readAtMs, staleAfterMs } of resources) {
      if (state === 'failed') continue;
      const known = this.#known?.get(name);
      const read = state === 'read' ? extract(name, families) : undefined;
      const facts = isUnchanged ? known?.facts : read;
      if (facts === undefined) {
        this.#known?.delete(name);
        continue;
      }
      this.#known ??= new Map();
      if (known || this.#known.size < RESOURCES_MAX) this.#known.set(name, { facts, untilMs: readAtMs + staleAfterMs });
    }
    for (const name of withdrawn) this.#known?.delete(name);
    if (!isUp) return;
    const facts = this.#list(nowMs);
    if (facts.length === this.#shown.length && facts.every((one, index) => one === this.#shown[index])) return;
    this.#shown = facts;
    this.#summary = merge(facts);
  }

  /** Returns true if the modem with the best signal has a poor one. `nowMs` is monotonic. */
  hasPoorSignal(nowMs: number): boolean {
    const modems = this.#list(nowMs).flatMap((facts) => isPoor(facts) ?? []);
    return modems.length > 0 && modems.every((one) => one);
  }

  #list(nowMs: number): readonly Facts[] {
    return [...(this.#known?.values() ?? [])].filter(({ untilMs }) => nowMs < untilMs).map(({ facts }) => facts);
  }
}

function toBest(samples: MetricFamily['samples']): number {
  return Math.max(...samples.map(({ value }) => value));
}

/** `undefined` without a signal. */
function isPoor({ bestRsrp, bestRssi }: Facts): boolean | undefined {
  if (bestRsrp !== undefined) return bestRsrp < POOR_BELOW.rsrp;
  return bestRssi === undefined ? undefined : bestRssi < POOR_BELOW.rssi;
}

function extract(resource: string, families: readonly MetricFamily[]): Facts | undefined {
  let facts: Facts | undefined;
  for (const { name, samples } of families) {
    const extractor = EXTRACTORS.get(name);
    if (!extractor || samples.length === 0) continue;
    facts ??= { resource };
    extractor(samples, facts);
  }
  return facts;
}

/** Of several modems, one with a data session is shown. */
function merge(all: readonly Facts[]): DeviceSummary {
  const modems = all.filter(isModem);
  const modem = modems.find(({ isOnline }) => isOnline) ?? modems[0];
  const first = <K extends keyof Facts>(key: K) => all.find((facts) => facts[key] !== undefined)?.[key] ?? null;
  return {
    model: first('model'),
    location: first('location'),
    operator: modem?.operator ?? null,
    technology: modem?.technology ?? null,
    signal: modem ? toSignal(modem) : null,
    wan: first('wan'),
    uptimeSeconds: first('uptimeSeconds'),
    drift: first('drift'),
  };
}

function isModem({ operator, technology, isOnline, rsrp, rssi, csq }: Facts): boolean {
  return [operator, technology, isOnline, rsrp, rssi, csq].some((one) => one !== undefined);
}

function toSignal({ rsrp, rssi, csq }: Facts): SignalSummary | null {
  if (rsrp !== undefined) return { kind: 'rsrp', value: rsrp };
  if (rssi !== undefined) return { kind: 'rssi', value: rssi };
  return csq === undefined ? null : { kind: 'csq', value: csq };
}

function textOf(labels: Labels | undefined, name: string): string | undefined {
  const text = labels?.[name];
  return text === undefined || text === '' ? undefined : text.slice(0, TEXT_CHARS_MAX).toWellFormed();
}

/** Interfaces of one router with rates, about 60 bytes each; no device has more. */
const INTERFACES_MAX = 32;
const RATE_FAMILIES: readonly string[] = [
  'router_interface_receive_bytes_total',
  'router_interface_transmit_bytes_total',
];

/** Columns of each interface in each direction: last count, time of its reading, and rate; NaN if unknown. */
const COLUMNS = 3;
const [BYTES, READ_AT, PER_SECOND] = [0, 1, 2] as const;
const UNKNOWN: readonly number[] = Array.from({ length: COLUMNS * RATE_FAMILIES.length }, () => Number.NaN);

/** Rates of the interfaces of one router, between the last two answers with its counters. */
export class InterfaceRates {
  #names: readonly string[] = [];
  /** By interface, direction and column: packed, because a fleet has fifty thousand interfaces. */
  #numbers: number[] = [];
  #resource: string | undefined;

  record(resources: readonly ResourceResult[]): void {
    for (const { name, state, isUnchanged, families, readAtMs } of resources) {
      if (state !== 'read') {
        if (name === this.#resource) this.#forgetRates();
        continue;
      }
      if (isUnchanged && name === this.#resource) this.#settle(readAtMs);
      for (const family of families) {
        const direction = RATE_FAMILIES.indexOf(family.name);
        if (direction < 0) continue;
        this.#resource = name;
        const reported = new Set<string>();
        for (const { labels, value } of family.samples) {
          const one = labels['interface'] ?? '';
          reported.add(one);
          this.#count(one, direction, value, readAtMs);
        }
        this.#forget(direction, reported);
      }
    }
  }

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

  /** Returns the rates of the interface that leads out: one of these that are online in the WAN chain, else the busiest. */
  findTraffic(wanInterfaces: readonly string[]): InterfaceRate | undefined {
    const rates = this.describe();
    const toTotal = (rate: InterfaceRate) => (rate.receiveBytesPerSecond ?? 0) + (rate.transmitBytesPerSecond ?? 0);
    const [busiest] = rates.toSorted((a, b) => toTotal(b) - toTotal(a));
    return rates.find((rate) => wanInterfaces.includes(rate.interface)) ?? busiest;
  }

  #count(name: string, direction: number, bytes: number, readAtMs: number): void {
    const index = this.#indexOf(name);
    if (index === undefined) return;
    const place = toPlace(index, direction);
    const more = bytes - this.#read(place + BYTES);
    const seconds = (readAtMs - this.#read(place + READ_AT)) / 1000;
    this.#numbers[place + BYTES] = bytes;
    this.#numbers[place + READ_AT] = readAtMs;
    // A smaller counter was reset.
    this.#numbers[place + PER_SECOND] = seconds > 0 && more >= 0 ? more / seconds : Number.NaN;
  }

  /** Adds a new interface; `undefined` if there are too many. */
  #indexOf(name: string): number | undefined {
    const known = this.#names.indexOf(name);
    if (known >= 0) return known;
    if (this.#names.length >= INTERFACES_MAX) return undefined;
    // Not push or spread: both allocate room for sixteen more.
    this.#names = this.#names.concat(name);
    this.#numbers = this.#numbers.concat(UNKNOWN);
    return this.#names.length - 1;
  }

  /** An unchanged answer means that no interface had any traffic. */
  #settle(readAtMs: number): void {
    for (let place = 0; place < this.#numbers.length; place += COLUMNS) {
      if (Number.isNaN(this.#read(place + BYTES))) continue;
      this.#numbers[place + READ_AT] = readAtMs;
      this.#numbers[place + PER_SECOND] = 0;
    }
  }

  /** The rates after the next answer are means over the time without one. */
  #forgetRates(): void {
    for (let place = 0; place < this.#numbers.length; place += COLUMNS) this.#numbers[place + PER_SECOND] = Number.NaN;
  }

  #forget(direction: number, reported: ReadonlySet<string>): void {
    for (const [index, name] of this.#names.entries()) {
      const place = toPlace(index, direction);
      if (!reported.has(name)) this.#numbers.fill(Number.NaN, place, place + COLUMNS);
    }
  }

  #read(place: number): number {
    return this.#numbers[place] ?? Number.NaN;
  }
}

function toPlace(index: number, direction: number): number {
  return COLUMNS * (RATE_FAMILIES.length * index + direction);
}
