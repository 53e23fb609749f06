/**
 * model: types shared by several layers.
 *
 * Owns: router identity and life-cycle states, metric samples and families, log records, what both stores need (contracts, dead letters,
 * errors, sink positions), names of syslog facilities, the error of a request to a router and the words for
 * where it failed. Types, lists and pure functions: nothing here
 * waits, reads or writes.
 * Does not own: a type that only one layer uses.
 * Start reading at: record.ts; store/contracts.ts.
 */
export type { EventRecord, GapCertainty, LogRecord, RecordFlag, Severity, ShippedRecord } from './record.ts';
export { LOG_EVENTS, ROUTER_EVENTS } from './record.ts';
export type { RouterIdentity } from './router.ts';
export {
  LIFECYCLE_STATES,
  type LifecyclePause,
  type LifecycleState,
  type LifecycleWish,
  RouterReadError,
  type RouterReadErrorOptions,
} from './router.ts';
export {
  explainFailure,
  POLL_STEPS,
  type PollStep,
  ROUTER_FAILURES,
  type RouterFailure,
} from './router-failures.ts';
export type { FamilyDescription, Labels, MetricFamily, MetricType, Sample } from './sample.ts';
export {
  type Completion,
  EVENTS_LOG,
  type FactsCommit,
  type LogChoice,
  type LogCommit,
  RESUME_SHARE,
  type RecordLines,
  type SinkStart,
  type Slice,
  type SliceBounds,
  type SpoolCursor,
  type Store,
  StoreError,
  toValueTooLong,
  VALUE_CHARS_MAX,
} from './store/contracts.ts';
export {
  DEAD_LETTER_LIST_MAX,
  DEAD_LETTERS_BYTES_MAX,
  DEAD_LETTERS_KEEP_MS,
  type DeadLetterBounds,
  type DeadLetterSelection,
  type DeadLetters,
  type ListOptions,
  measureDeadLetter,
  type RefusedRecord,
  type StoredDeadLetter,
  toDeadLetterFields,
  type UnnumberedDeadLetter,
} from './store/dead-letters.ts';
export type {
  MovableStore,
  OpenState,
  RouterAddition,
  RouterState,
  StatePlace,
  StoredBatch,
} from './store/movable-store.ts';
export { advancePlace, beginPass, collectSlice, isBefore, type ReplayPass, type SinkPlace } from './store/slices.ts';
export { SYSLOG_FACILITIES } from './syslog.ts';
