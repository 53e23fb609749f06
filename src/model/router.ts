import type { Labels } from './sample.ts';

/** Who a router is to the people who run it. Its address is no part of that: it may change. */
export interface RouterIdentity {
  /** The configured, unique name: label `router`. */
  readonly name: string;
  /** Configured labels that the router's series and records carry beside its name. */
  readonly labels: Labels;
}
