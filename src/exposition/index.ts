/**
 * exposition: renders samples in a format that Prometheus reads.
 *
 * Owns: escaping, order and description of families, rendered text of every router, expiry, the limit on series.
 * Does not own: what a sample means, and when it is renewed.
 * Start reading at: fleet-exposition.ts.
 */
export { FleetExposition, SERIES_DROPPED, toFamily } from './fleet-exposition.ts';
export type { ExpositionFormat } from './text.ts';
