/**
 * model: the nouns that rooms share.
 *
 * Owns: router identity, metric samples and families, log records. Types only: nothing here does anything.
 * Does not own: a noun that only one room uses.
 * Start reading at: record.ts.
 */
export type { GapCertainty, LogRecord, RecordFlag, Severity } from './record.ts';
export type { RouterIdentity } from './router.ts';
export type { Labels, MetricFamily, Sample } from './sample.ts';
