import type { MetricFamily } from '../model/index.ts';
import type { Refusal } from './capability-memory.ts';
import type { MappingFault } from './mapping/mapping-fault.ts';

/** What came of one resource. */
export interface ResourceResult {
  /** Value of the label `resource`: the path below `/status/`, other paths without their leading slash, or a reader's name. */
  readonly name: string;
  /** Those that the values are of. */
  readonly modules: readonly string[];
  /** `unsupported`: the router does not have it. `forbidden`: the account may not read it. Neither is a failure. */
  readonly state: 'read' | 'failed' | Refusal;
  /** Those with samples; none unless it was read. */
  readonly families: readonly MetricFamily[];
  readonly faults: readonly MappingFault[];
  /** Whether it was read and has values of which none became a series, as when another firmware has another shape. */
  readonly isUnread: boolean;
  readonly durationMs: number;
  /** When the answer was there, on the monotonic clock. */
  readonly readAtMs: number;
  readonly isIdentity: boolean;
  /** How long the values may be served while they are not renewed; `Infinity` for identity. Milliseconds. */
  readonly staleAfterMs: number;
  /** Absent on some devices. */
  readonly isOptional: boolean;
  /** What the source threw; `undefined` when it was read. */
  readonly error: unknown;
}

/** Whether a router has a resource and lets this account read it. */
export interface ResourceCapability {
  /** Name of the resource; or a path with a star, when the router has no slot of it. */
  readonly resource: string;
  readonly isSupported: boolean;
  readonly isPermitted: boolean;
  /** Absent on some devices. */
  readonly isOptional: boolean;
}

/** What came of one turn. */
export interface PollResult {
  /** Whether at least one resource was read; of an idle turn, at the turn before. */
  readonly isUp: boolean;
  /** Nothing was due, so nothing was asked and nothing is new. */
  readonly isIdle: boolean;
  /** Why the turn failed: a code of the source's closed list. `undefined` when it did not. */
  readonly failure: string | undefined;
  /** The first error of a resource that failed, or was refused when none was read; the one behind `failure`, if there is one. */
  readonly error: unknown;
  readonly durationMs: number;
  /** Those that were asked; a turn that lost the router does not get to all. */
  readonly resources: readonly ResourceResult[];
  /** What is known by now of everything that was ever asked. */
  readonly capabilities: readonly ResourceCapability[];
  /** That of the main board, as last seen; `undefined` when the router did not say. */
  readonly firmwareVersion: string | undefined;
  /** That of the main board, which is the device's; `undefined` when the router did not say. */
  readonly serialNumber: string | undefined;
  /** The router's own hash of its configuration, as last seen; `undefined` when the router does not say. */
  readonly configHash: string | undefined;
}
