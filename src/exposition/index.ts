/**
 * exposition: renders samples in a format that Prometheus reads.
 *
 * Owns: escaping, the order and the single description of each family, the ready text of every router, ages, expiry,
 * the limit on series.
 * Does not own: what a sample means, and when it is renewed.
 * Start reading at: fleet-exposition.ts.
 */
export { FleetExposition, SERIES_DROPPED, toFamily } from './fleet-exposition.ts';
export type { ExpositionFormat } from './text.ts';
