import type { Device } from './device.ts';
import type { TruthLine } from './log-truth.ts';
import type { RouterCounts } from './router-counters.ts';

/** One router of the fleet, as seen by whoever directs the simulation. */
export class SimulatedRouter {
  /** Scheme, host and port; the interface begins at `/api/v2_0` below it. */
  readonly url: string;
  readonly #device: Device;

  constructor(device: Device, url: string) {
    this.#device = device;
    this.url = url;
  }

  /** `sim-1`, `sim-2`, … */
  get name(): string {
    return this.#device.name;
  }

  /** The device's serial number. */
  get serial(): string {
    return this.#device.hardware.serial;
  }

  /** What clients have done to this router so far; a copy. */
  get counters(): RouterCounts {
    return this.#device.counters.snapshot();
  }

  /** A message arrives at the log daemon for this component. The tag in the line's brackets is the component's name. */
  appendLog(component: string, message: string, tag: string = component): void {
    this.#device.logs.append(component, message, tag);
  }

  /**
   * Makes the log daemon find a limit reached. Rotations happen only when a message arrives, so one does: it becomes the
   * first line of the new `current`. Throws {@link SimulatorError} when the component has no lines yet.
   */
  rotate(component: string, message = 'rotated on request', tag: string = component): void {
    this.#device.logs.rotate(component, message, tag);
  }

  /** Restarts the router in no time: every token is lost and the uptime begins anew; logs and settings stay. */
  restart(): void {
    this.#device.clock.restart();
    this.#device.sessions.forgetAll();
  }

  /** Ends the validity of all access tokens at once; refresh tokens stay valid. */
  expireTokens(): void {
    this.#device.sessions.expireAccessTokens();
  }

  /** Sets the router's wall clock forward or back, as a person or NTP would. */
  jumpClock(offsetMs: number): void {
    this.#device.clock.jump(offsetMs);
  }

  /** Every line that the component ever wrote, in order, with what became of it. */
  truth(component: string): TruthLine[] {
    return this.#device.logs.truth(component);
  }

  /** Resolves when no rotated file is being compressed. On a stepped clock somebody has to move it meanwhile. */
  whenQuiet(): Promise<void> {
    return this.#device.logs.whenQuiet();
  }
}
