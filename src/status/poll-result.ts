import type { MetricFamily } from '../model/index.ts';
import type { MappingFault } from './mapping/mapping-fault.ts';

/** Reason why a resource cannot be read: the router does not have it, or this account may not read it. */
export type Refusal = 'unsupported' | 'forbidden';

/** Result of reading one resource. */
export interface ResourceResult {
  /** Value of the label `resource`: the path below `/status/`, other paths without their leading slash, or a reader's name. */
  readonly name: string;
  /** Modules that use the resource. */
  readonly modules: readonly string[];
  /** `unsupported`: the router does not have it. `forbidden`: the account may not read it. Neither is a failure. */
  readonly state: 'read' | 'failed' | Refusal;
  /** True if the answer is the same as before, and so are its values, which the caller holds. */
  readonly isUnchanged: boolean;
  /** Families with samples; none unless the resource was read and is not unchanged. */
  readonly families: readonly MetricFamily[];
  readonly faults: readonly MappingFault[];
  /**
   * True if the resource was read but none of its values became a series, for example because another firmware has
   * another format.
   */
  readonly isUnread: boolean;
  readonly durationMs: number;
  /** Time of the answer on the monotonic clock. */
  readonly readAtMs: number;
  readonly isIdentity: boolean;
  /** Time for which the values may be served without being renewed; `Infinity` for identity. Milliseconds. */
  readonly staleAfterMs: number;
  /** True if some devices lack the resource. */
  readonly isOptional: boolean;
  /** The error thrown by the source; `undefined` if the resource was read. */
  readonly error: unknown;
}

/** Availability of a resource on a router, and the right to read it. */
export interface ResourceCapability {
  /** Name of the resource, or a path with a star if the router has no such slot. */
  readonly resource: string;
  readonly isSupported: boolean;
  readonly isPermitted: boolean;
  /** True if some devices lack the resource. */
  readonly isOptional: boolean;
}

/** Result of one poll. */
export interface PollResult {
  /** True if at least one resource was read; for an idle poll, the value of the previous poll. */
  readonly isUp: boolean;
  /** True if nothing was due, so nothing was read. */
  readonly isIdle: boolean;
  /** Reason of a failed poll: a code from the source's closed list. `undefined` on success. */
  readonly failure: string | undefined;
  /** The first error of a failed resource, or of a refused one if none was read; the cause of `failure`, if set. */
  readonly error: unknown;
  readonly durationMs: number;
  /** Resources that were read; a poll that loses the router does not reach all of them. */
  readonly resources: readonly ResourceResult[];
  /** Names of resources that are not for the router any more, as after an update of its firmware: their values are over. */
  readonly withdrawn: readonly string[];
  /** Availability of every resource that was ever read. */
  readonly capabilities: readonly ResourceCapability[];
  /** Last known firmware version of the main board; `undefined` if the router did not report it. */
  readonly firmwareVersion: string | undefined;
  /** Last known serial number of the main board, which is the device's; `undefined` if the router did not report it. */
  readonly serialNumber: string | undefined;
  /** Last known hash of the configuration; `undefined` if the router does not report one. */
  readonly configHash: string | undefined;
}
