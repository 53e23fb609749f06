import { createHash } from 'node:crypto';
import type { Configuration } from '../configuration/state.ts';
import type { Hardware } from '../device/hardware.ts';
import type { RouterClock } from '../device/router-clock.ts';
import {
  describeDsl,
  describeEthernet,
  describeLines,
  describePower,
  describeSerial,
  describeSfp,
  describeWlan,
} from './cards.ts';
import {
  describeContainers,
  describeDevice,
  describeEnrollment,
  describeFeatures,
  describeLan,
  describeLeases,
  describeOverview,
  describeServices,
} from './general.ts';
import { describeInterfaces } from './interfaces.ts';
import type { LifeContext } from './life-context.ts';
import { Modem } from './modem.ts';
import { describeModem } from './modem-status.ts';
import type { StatusBody } from './status-body.ts';
import { applyOverride, type StatusOverride } from './status-override.ts';
import { describeSystem } from './system.ts';
import { describeWan } from './wan.ts';

type Describe = (life: LifeContext, resource: string) => StatusBody;

/** The status of a router, computed on request from its seed, its clock and its configuration. */
export class DeviceLife {
  /** By the name of the interface. */
  readonly modems: ReadonlyMap<string, Modem>;
  /** Settings made by operations since the last start, by topic. */
  readonly settings = new Map<string, string>();
  readonly #key: string;
  readonly #hardware: Hardware;
  readonly #clock: RouterClock;
  readonly #configuration: () => Configuration;
  readonly #resources: ReadonlyMap<string, Describe>;
  readonly #overrides = new Map<string, StatusOverride>();

  constructor(key: string, hardware: Hardware, clock: RouterClock, configuration: () => Configuration) {
    this.#key = key;
    this.#hardware = hardware;
    this.#clock = clock;
    this.#configuration = configuration;
    const modems = hardware.interfaces.filter((name) => name.startsWith('lte'));
    this.modems = new Map(modems.map((name) => [name, new Modem(`${key}/${name}`)]));
    this.#resources = new Map([
      ...general,
      ...hardware.cards.flatMap((card, position) => this.#describeCard(card, hardware.interfaces[position] ?? card)),
      ['sysdetail/system', (life: LifeContext) => describeSystem(life, () => hash(life.configuration))],
    ]);
  }

  /** Returns true if this router has the resource. */
  has(resource: string): boolean {
    return (
      this.#overrides.get(resource)?.isAbsent !== true &&
      (this.#resources.has(resource) || this.#overrides.has(resource))
    );
  }

  /** Returns the resource at this moment; `undefined` if the router does not have it. */
  read(resource: string): object | undefined {
    if (!this.has(resource)) return undefined;
    const body = this.#resources.get(resource)?.(this.#context(), resource) ?? {};
    const override = this.#overrides.get(resource);
    return override ? applyOverride(body, override) : body;
  }

  /** Overrides a resource from now on; `undefined` removes the override. */
  override(resource: string, override: StatusOverride | undefined): void {
    if (override) this.#overrides.set(resource, override);
    else this.#overrides.delete(resource);
  }

  /** Restarts the router's status. Overrides stay, because they belong to the test and not to the router. */
  restart(): void {
    this.settings.clear();
    for (const modem of this.modems.values()) modem.restart();
  }

  #context(): LifeContext {
    return {
      key: this.#key,
      hardware: this.#hardware,
      clock: this.#clock,
      configuration: this.#configuration(),
      modems: this.modems,
      settings: this.settings,
    };
  }

  #describeCard(card: string, name: string): [string, Describe][] {
    const modem = this.modems.get(name);
    if (modem) {
      return [
        [card, (life) => describeModem(life, card, modem)],
        [`${card}/providers`, () => ({ list: [] })],
      ];
    }
    if (card.startsWith('dsl')) {
      return [
        [`${card}/status`, describeDslLine(card)],
        [`${card}/statistics_spectrum`, () => ({ list: [] })],
      ];
    }
    const describe = cardKinds.find(([kind]) => card.startsWith(kind))?.[1];
    const scan: [string, Describe][] = card.startsWith('wlan') ? [[`${card}/scan_results`, () => ({ list: [] })]] : [];
    return describe ? [[card, describe], ...scan] : scan;
  }
}

const describeDslLine =
  (card: string): Describe =>
  (life) =>
    describeDsl(life, card);

const general: readonly [string, Describe][] = [
  ['overview', describeOverview],
  ['status_summary', describeOverview],
  ['device_info', describeDevice],
  ['device_features', describeFeatures],
  ['sysdetail/ip_addresses', describeInterfaces],
  ['sysdetail/dhcp_leases', describeLeases],
  ['sysdetail/init_services', describeServices],
  ['sysdetail/container', describeContainers],
  ['sysdetail/cert_enrollment', describeEnrollment],
  ['sysstat/wan', describeWan],
  ['sysstat/lan', describeLan],
];

const cardKinds: readonly [string, Describe][] = [
  ['ethernet', describeEthernet],
  ['sfp', describeSfp],
  ['power', describePower],
  ['io', describeLines],
  ['sio', describeLines],
  ['adio', describeLines],
  ['serial', describeSerial],
  ['wlan', describeWlan],
];

function hash(configuration: Configuration): string {
  return createHash('sha256')
    .update(JSON.stringify([...configuration]))
    .digest('hex')
    .slice(0, 32);
}
