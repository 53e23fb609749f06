import type { Configuration } from '../configuration/state.ts';
import type { Hardware } from '../device/hardware.ts';
import type { RouterClock } from '../device/router-clock.ts';
import type { Modem } from './modem.ts';

/** Inputs of a router's status. */
export interface LifeContext {
  /** Stands for this router of this fleet: everything random hangs on it. */
  readonly key: string;
  readonly hardware: Hardware;
  readonly clock: RouterClock;
  /** The configuration that the router works with. */
  readonly configuration: Configuration;
  /** By the name of the interface: `lte2`. */
  readonly modems: ReadonlyMap<string, Modem>;
  /** State set by operations, such as the LED or an output; by topic. */
  readonly settings: ReadonlyMap<string, string>;
}
