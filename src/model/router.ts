import type { Labels } from './sample.ts';

/** Identity of a router. Its address is not part of it, because it may change. */
export interface RouterIdentity {
  /** Unique configured name: label `router`. */
  readonly name: string;
  /** Configured labels that the router's series and records carry in addition to its name. */
  readonly labels: Labels;
}
