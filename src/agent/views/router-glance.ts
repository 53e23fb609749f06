import type { Labels, MetricFamily } from '../../model/index.ts';
import type { PollResult } from '../../status/index.ts';
import { type DeviceSummary, NO_DEVICE, type SignalSummary } from '../../web/index.ts';
import { LatestFacts } from './latest-facts.ts';

/** Facts about the device from one resource. Fields that it does not report are absent. */
interface Facts {
  model?: string | undefined;
  location?: string | undefined;
  operator?: string | undefined;
  technology?: string | undefined;
  wan?: string | undefined;
  uptimeSeconds?: number | undefined;
  rsrp?: number | undefined;
  rssi?: number | undefined;
  csq?: number | undefined;
  isOnline?: boolean | undefined;
}

type Extractor = (samples: MetricFamily['samples'], facts: Facts) => void;

/** Longest text kept of a router. Longer ones are cut: no real one comes close. */
const TEXT_CHARS_MAX = 64;

/** Families of the shipped modules that are shown for each router of the fleet. */
const EXTRACTORS: ReadonlyMap<string, Extractor> = new Map<string, Extractor>([
  [
    'router_board_info',
    ([board], facts) => {
      facts.model ??= textOf(board?.labels, 'board_type');
    },
  ],
  [
    'router_device_info',
    ([device], facts) => {
      facts.model = textOf(device?.labels, 'device_type') ?? facts.model;
    },
  ],
  [
    'router_location_info',
    ([place], facts) => {
      facts.location = textOf(place?.labels, 'location');
    },
  ],
  [
    'router_modem_info',
    ([modem], facts) => {
      facts.operator = textOf(modem?.labels, 'provider_name') ?? textOf(modem?.labels, 'provider');
      facts.technology = textOf(modem?.labels, 'access_technology');
    },
  ],
  [
    'router_wan_active_info',
    ([chain], facts) => {
      facts.wan = textOf(chain?.labels, 'chain');
    },
  ],
  [
    'router_modem_online',
    ([one], facts) => {
      facts.isOnline = one?.value === 1;
    },
  ],
  [
    'router_uptime_seconds',
    ([one], facts) => {
      facts.uptimeSeconds = one?.value;
    },
  ],
  [
    'router_modem_rsrp_dbm',
    ([one], facts) => {
      facts.rsrp = one?.value;
    },
  ],
  [
    'router_modem_rssi_dbm',
    ([one], facts) => {
      facts.rssi = one?.value;
    },
  ],
  [
    'router_modem_signal_csq',
    ([one], facts) => {
      facts.csq = one?.value;
    },
  ],
]);

/**
 * The few last values of a router that lists show: model, location, modem, WAN chain and uptime. They are taken from
 * the same samples as the metrics, expire with them while the router answers, and are kept while it is down. A user's
 * module that defines one of these families is shown as the shipped one is.
 */
export class RouterGlance {
  readonly #latest = new LatestFacts(extract);
  #shown: readonly Facts[] = [];
  #device: DeviceSummary = NO_DEVICE;

  /** Last known values; the same object until a poll changes one. */
  get device(): DeviceSummary {
    return this.#device;
  }

  /** Records a poll that ended at `nowMs` (monotonic). */
  record(result: Pick<PollResult, 'isUp' | 'resources' | 'withdrawn'>, nowMs: number): void {
    this.#latest.record(result);
    if (!result.isUp) return;
    const facts = this.#latest.list(nowMs);
    if (facts.length === this.#shown.length && facts.every((one, index) => one === this.#shown[index])) return;
    this.#shown = facts;
    this.#device = merge(facts);
  }
}

function extract(families: readonly MetricFamily[]): Facts | undefined {
  let facts: Facts | undefined;
  for (const { name, samples } of families) {
    const extractor = EXTRACTORS.get(name);
    if (!extractor || samples.length === 0) continue;
    facts ??= {};
    extractor(samples, facts);
  }
  return facts;
}

/** Merges the facts of all resources. Of several modems, one with a data session is shown. */
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
  };
}

function isModem({ operator, technology, isOnline, rsrp, rssi, csq }: Facts): boolean {
  return [operator, technology, isOnline, rsrp, rssi, csq].some((one) => one !== undefined);
}

/** Returns the most telling of the values that describe the strength of the signal. */
function toSignal({ rsrp, rssi, csq }: Facts): SignalSummary | null {
  if (rsrp !== undefined) return { kind: 'rsrp', value: rsrp };
  if (rssi !== undefined) return { kind: 'rssi', value: rssi };
  return csq === undefined ? null : { kind: 'csq', value: csq };
}

function textOf(labels: Labels | undefined, name: string): string | undefined {
  const text = labels?.[name];
  return text === undefined || text === '' ? undefined : text.slice(0, TEXT_CHARS_MAX).toWellFormed();
}
