import type { Certificates } from './certificates.ts';
import { readWebSettings } from './configuration/web-settings.ts';
import { type Device, type PerformedAction, restartDevice } from './device.ts';
import type { FaultFront } from './fault-front.ts';
import type { StatusOverride } from './life/status-override.ts';
import type { LogSeverity } from './log-line.ts';
import type { TruthLine } from './log-truth.ts';
import type { RouterCounts } from './router-counters.ts';
import { FAULT_NAMES, type FaultName, type FaultOptions, type RouterFaults } from './router-faults.ts';
import type { RouterFront } from './router-front.ts';
import { SimulatorError } from './simulator-error.ts';

interface RouterParts {
  readonly device: Device;
  readonly front: RouterFront;
  readonly faults: RouterFaults;
  readonly faultFront: FaultFront;
  readonly certificates: Certificates;
  /** Under which clients reach it. */
  readonly host: string;
  /** All names that its certificate carries. */
  readonly hosts: readonly string[];
}

/** One router of the fleet, as seen by whoever directs the simulation. */
export class SimulatedRouter {
  readonly #parts: RouterParts;
  readonly #device: Device;

  constructor(parts: RouterParts) {
    this.#parts = parts;
    this.#device = parts.device;
  }

  /** Scheme, host and port; the interface begins at `/api/v2_0` below it. Follows the router's own settings. */
  get url(): string {
    const { front, host } = this.#parts;
    const { http, https } = front.ports;
    const name = host.includes(':') ? `[${host}]` : host;
    return https === undefined ? `http://${name}:${http}` : `https://${name}:${https}`;
  }

  /** `sim-1`, `sim-2`, … */
  get name(): string {
    return this.#device.name;
  }

  /** The device's serial number. */
  get serial(): string {
    return this.#device.hardware.serial;
  }

  /** Such as `MRX3`. */
  get deviceType(): string {
    return this.#device.hardware.deviceType;
  }

  /** What clients have done to this router so far; a copy. */
  get counters(): RouterCounts {
    return this.#device.counters.snapshot();
  }

  /** Manual actions that clients have had carried out, with the options that they sent, in their order; a copy. */
  get actions(): readonly PerformedAction[] {
    return [...this.#device.actions];
  }

  /** Names of the faults in force. */
  get faults(): readonly FaultName[] {
    return this.#parts.faults.names();
  }

  /**
   * A message arrives at the log daemon for this component. The tag in the line's brackets is the component's name;
   * the severity shows only with the option `logs.severityBrackets`.
   */
  appendLog(component: string, message: string, tag: string = component, severity?: LogSeverity): void {
    this.#device.logs.append(component, message, tag, severity);
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
    restartDevice(this.#device);
  }

  /** Back to a fresh router that keeps its name and serial: configuration, profiles, accounts and ports; no logs. */
  async factoryReset(): Promise<void> {
    const { device, front } = this.#parts;
    device.profiles.reset();
    device.logs.deleteAll();
    restartDevice(device);
    const { httpPort, httpsPort, isPortOpen } = readWebSettings(device.profiles.active);
    const closeFormer = await front.change({ http: httpPort, https: httpsPort }, isPortOpen);
    closeFormer();
  }

  /** Ends the validity of all access tokens at once; refresh tokens stay valid. */
  expireTokens(): void {
    this.#device.sessions.expireAccessTokens();
  }

  /** Sets the router's wall clock forward or back, as a person or NTP would. */
  jumpClock(offsetMs: number): void {
    this.#device.clock.jump(offsetMs);
  }

  /** Lets time pass for this router alone: tokens age, counters grow, compressions end. Resolves when it has passed. */
  advanceClock(durationMs: number): Promise<void> {
    return this.#device.time.advance(durationMs);
  }

  /** Makes a status resource such as `lte2` say something else; `undefined` gives it back to the router's own life. */
  setStatus(resource: string, override: StatusOverride | undefined): void {
    this.#device.life.override(resource, override);
  }

  /** Makes the router misbehave until {@link clearFault}. Resolves when it does. */
  async fault(name: FaultName, options: FaultOptions = {}): Promise<void> {
    const { faults, front, certificates, hosts } = this.#parts;
    if (name === 'bad_certificate') {
      if (front.ports.https === undefined) {
        throw new SimulatorError('bad-option', `${this.name} serves no HTTPS, so it has no certificate`);
      }
      front.setCertificate(await certificates.issueBad(hosts));
    }
    faults.install(name, options);
    if (name === 'down') await front.goDown();
  }

  /** Ends a fault, or all of them. Throws {@link SimulatorError} when a port was taken while the router was down. */
  async clearFault(name?: FaultName): Promise<void> {
    const { faults, faultFront, front, certificates, hosts } = this.#parts;
    for (const one of name === undefined ? FAULT_NAMES : [name]) {
      if (!faults.names().includes(one)) continue;
      faults.remove(one);
      if (one === 'hang') faultFront.releaseHanging();
      if (one === 'bad_certificate') front.setCertificate(await certificates.issue(hosts));
      if (one === 'down') await front.comeUp();
    }
    // A hang that ended by itself has left its victims hanging.
    if (name === undefined) faultFront.releaseHanging();
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
