import { hashToUnit, type SteppedClock } from '../base/index.ts';
import { RouterReadError } from '../model/index.ts';
import { resourceTable } from './configuration/resources.ts';
import { readState, replaceState } from './configuration/state.ts';
import { readWebSettings } from './configuration/web-settings.ts';
import { type Device, type PerformedAction, restartDevice } from './device/device.ts';
import type { RouterCounts } from './device/router-counters.ts';
import type { FaultInjector } from './faults/fault-injector.ts';
import { FAULT_NAMES, type FaultName, type FaultOptions, type RouterFaults } from './faults/router-faults.ts';
import type { StatusOverride } from './life/life-context.ts';
import type { TruthLine } from './log-files/folder.ts';
import type { LogSeverity } from './log-files/writer.ts';
import type { RouterServer } from './server.ts';
import { SimulatorError } from './simulator-error.ts';
import type { Certificates } from './tls.ts';

interface RouterParts {
  readonly name: string;
  /** Base path of its interface; empty, or with captured answers `/r0`, `/r1`, … */
  readonly path: string;
  readonly device: Device;
  readonly front: RouterServer;
  readonly faults: RouterFaults;
  readonly faultInjector: FaultInjector;
  readonly certificates: Certificates;
  /** Address for clients. */
  readonly host: string;
  /** Names in its certificate. */
  readonly hosts: readonly string[];
}

/** Of answers in the past. Milliseconds. */
const ANSWER_MS = 90;
const SLOW_MS = 2500;
/** Share of the usual reception. */
const WEAK = 0.25;

/** One router of the fleet, as controlled by a test or another program. */
export class SimulatedRouter {
  readonly #parts: RouterParts;
  readonly #device: Device;

  constructor(parts: RouterParts) {
    this.#parts = parts;
    this.#device = parts.device;
  }

  /** Base URL, with captured answers with a path; the interface is at `/api/v2_0` below it. Follows the router's settings. */
  get url(): string {
    const { front, host, path } = this.#parts;
    const { http, https } = front.ports;
    const name = host.includes(':') ? `[${host}]` : host;
    return `${https === undefined ? `http://${name}:${http}` : `https://${name}:${https}`}${path}`;
  }

  /** `sim-1`, `sim-2`, … */
  get name(): string {
    return this.#parts.name;
  }

  get serial(): string {
    return this.#device.hardware.serial;
  }

  /** Such as `MRX3`. */
  get deviceType(): string {
    return this.#device.hardware.deviceType;
  }

  /** Counters of client requests so far; a copy. */
  get counters(): RouterCounts {
    return this.#device.counters.snapshot();
  }

  /** Manual actions requested by clients, with their options, in order; a copy. */
  get actions(): readonly PerformedAction[] {
    return [...this.#device.actions];
  }

  /** Names of the active faults. */
  get faults(): readonly FaultName[] {
    return this.#parts.faults.names();
  }

  /** Passes a message to the log daemon. `severity` is shown only with the option `logs.severityBrackets`. */
  appendLog(component: string, message: string, tag: string = component, severity?: LogSeverity): void {
    this.#device.logs.append(component, message, tag, severity);
  }

  /**
   * Forces a rotation. Rotations happen only when a message arrives, so one is written: it becomes the first line of the new `current`.
   * Throws {@link SimulatorError} if the component has no lines yet.
   */
  rotate(component: string, message = 'rotated on request', tag: string = component): void {
    this.#device.logs.rotate(component, message, tag);
  }

  /** Restarts the router instantly: all tokens are lost and the uptime starts again; logs and settings stay. */
  restart(): void {
    restartDevice(this.#device);
  }

  /** Resets configuration, profiles, accounts and ports and deletes the logs; name and serial number stay. */
  async factoryReset(): Promise<void> {
    const { device, front } = this.#parts;
    device.profiles.reset();
    device.logs.deleteAll();
    restartDevice(device);
    const { httpPort, httpsPort, isPortOpen } = readWebSettings(device.profiles.active);
    const closeFormer = await front.change({ http: httpPort, https: httpsPort }, isPortOpen);
    closeFormer();
  }

  /** Renames the configured hosts in the running profile and activates it, like a person at the web interface. */
  changeConfiguration(): void {
    const { profiles } = this.#device;
    const definition = resourceTable.get('administration/hostnames');
    if (!definition) return;
    const state = readState(profiles.active, definition);
    const list = state.list.map(({ fields, ...entry }) => ({
      ...entry,
      fields: { ...fields, hostname: `new-${fields['hostname']}` },
    }));
    profiles.write(undefined, replaceState(profiles.active, definition, { ...state, list }));
    profiles.activate(undefined);
  }

  /** Expires all access tokens; refresh tokens stay valid. */
  expireTokens(): void {
    this.#device.sessions.expireAccessTokens();
  }

  /** Sets the router's wall clock forward or back, like a person or NTP. */
  jumpClock(offsetMs: number): void {
    this.#device.clock.jump(offsetMs);
  }

  /** Advances the time of this router alone: tokens age, counters grow, compressions end. Resolves when it has passed. */
  advanceClock(durationMs: number): Promise<void> {
    return this.#device.time.advance(durationMs);
  }

  /** Overrides a status resource such as `lte2`; `undefined` removes the override. */
  setStatus(resource: string, override: StatusOverride | undefined): void {
    this.#device.life.override(resource, override);
  }

  /**
   * Opens the status of the day before the start: as a client would have read it at the time that `clock` shows, which is advanced by
   * the time that this takes.
   */
  openPast(clock: SteppedClock) {
    const { life, time, name, hadTrouble } = this.#device;
    return {
      async readDocument(path: string) {
        const agoMs = time.now() - clock.now();
        if (hadTrouble('power-cut', agoMs)) {
          throw new RouterReadError('connect', 'POST /auth/login could not connect', { disposition: 'retry' });
        }
        if (hadTrouble('other-password', agoMs)) {
          throw new RouterReadError('auth', 'The router refused to log in', { disposition: 'operator' });
        }
        const delayMs = hadTrouble('slow', agoMs) ? SLOW_MS : ANSWER_MS * (1 + hashToUnit(`${name} ${path} ${agoMs}`));
        await clock.advance(delayMs);
        const status = life.lookBack(agoMs, path, hadTrouble('weak-signal', agoMs) ? WEAK : 1);
        if (status) return { body: { status }, digest: undefined };
        throw new RouterReadError('http', 'not found', { disposition: 'skip', isAnswered: true, status: 404 });
      },
    };
  }

  /** Activates a fault until {@link clearFault}. Resolves when it is in effect. */
  async fault(name: FaultName, options: FaultOptions = {}): Promise<void> {
    const { faults, front, certificates, hosts } = this.#parts;
    if (name === 'bad_certificate' && front.ports.https === undefined) {
      throw new SimulatorError('bad-option', `${this.name} serves no HTTPS, so it has no certificate`);
    }
    const certificate = name === 'bad_certificate' ? await certificates.issueBad(hosts) : undefined;
    faults.install(name, options);
    if (certificate) front.setCertificate(certificate);
    if (name === 'down') await front.goDown();
  }

  /** Clears a fault, or all of them. Throws {@link SimulatorError} if a port was taken while the router was down. */
  async clearFault(name?: FaultName): Promise<void> {
    const { faults, faultInjector, front, certificates, hosts } = this.#parts;
    for (const one of name === undefined ? FAULT_NAMES : [name]) {
      if (!faults.names().includes(one)) continue;
      faults.remove(one);
      if (one === 'hang') faultInjector.releaseHanging();
      if (one === 'bad_certificate') front.setCertificate(await certificates.issue(hosts));
      if (one === 'down') await front.comeUp();
    }
    // Requests stay open after a hang with `times` has ended.
    if (name === undefined) faultInjector.releaseHanging();
  }

  /** Returns every line that the component ever wrote, in order, and whether it was served or lost. */
  truth(component: string): TruthLine[] {
    return this.#device.logs.truth(component);
  }

  /** Resolves when no rotated file is being compressed. A stepped clock must be advanced in the meantime. */
  whenQuiet(): Promise<void> {
    return this.#device.logs.whenQuiet();
  }
}
