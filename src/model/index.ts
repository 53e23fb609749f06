/**
 * model: types shared by several layers.
 *
 * Owns: router identity, states of a router's life, metric samples and families, log records and what is stored of them,
 * names of syslog facilities, the error of a request to a router.
 * Types, lists and that one class: no behaviour.
 * Does not own: a type that only one layer uses.
 * Start reading at: record.ts.
 */
export { LIFECYCLE_STATES, type LifecyclePause, type LifecycleState, type LifecycleWish } from './lifecycle.ts';
export type { GapCertainty, LogRecord, RecordFlag, Severity } from './record.ts';
export type { RouterIdentity } from './router.ts';
export type { FamilyDescription, Labels, MetricFamily, MetricType, Sample } from './sample.ts';
export { SourceError, type SourceErrorOptions } from './source-error.ts';
export type { Completion, FactsCommit, LogCommit, RecordLines, Slice, SliceBounds } from './spool.ts';
export { SYSLOG_FACILITIES } from './syslog.ts';
