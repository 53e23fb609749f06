import type { Configuration } from '../configuration/state.ts';
import type { Hardware } from '../device/hardware.ts';
import type { RouterClock } from '../device/router-clock.ts';
import { listCardResources } from './cards.ts';
import { generalResources } from './general.ts';
import { applyOverride, type Describe, type LifeContext, Modem, type StatusOverride } from './life-context.ts';

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
      ...generalResources,
      ...hardware.cards.flatMap((card, position) =>
        listCardResources(card, this.modems.get(hardware.interfaces[position] ?? card)),
      ),
    ]);
  }

  /** Returns true if this router has the resource. */
  has(resource: string): boolean {
    return (
      this.#overrides.get(resource)?.isAbsent !== true &&
      (this.#resources.has(resource) || this.#overrides.has(resource))
    );
  }

  /** Returns the current resource; `undefined` if the router does not have it. */
  read(resource: string, reception = 1): object | undefined {
    if (!this.has(resource)) return undefined;
    const body = this.#resources.get(resource)?.(this.#context(reception)) ?? {};
    const override = this.#overrides.get(resource);
    return override ? applyOverride(body, override) : body;
  }

  /** Returns the resource as it was `agoMs` before now. */
  lookBack(agoMs: number, resource: string, reception: number): object | undefined {
    return this.#clock.lookBack(agoMs, () => this.read(resource, reception));
  }

  /** Overrides a resource; `undefined` removes the override. */
  override(resource: string, override: StatusOverride | undefined): void {
    if (override) this.#overrides.set(resource, override);
    else this.#overrides.delete(resource);
  }

  /** Restarts the router's status. Overrides stay, because they belong to the test and not to the router. */
  restart(): void {
    this.settings.clear();
    for (const modem of this.modems.values()) modem.restart();
  }

  #context(reception: number): LifeContext {
    return {
      key: this.#key,
      hardware: this.#hardware,
      clock: this.#clock,
      configuration: this.#configuration(),
      modems: this.modems,
      reception,
      settings: this.settings,
    };
  }
}
