/**
 * delivery: from the spool to the sinks.
 *
 * Owns: delivery to a sink (batches, halving, dead letters), the sinks (one folder each), the meaning of their responses.
 * Does not own: the spool, the store of dead letters, and the timing of steps.
 * Start reading at: delivery-worker.ts, contracts.ts.
 */
export type {
  BatchBounds,
  DeadLetter,
  DeadLetterBox,
  DeliveryEvent,
  DeliveryWorkerOptions,
  PreflightFinding,
  PreflightFleet,
  ReplayedLetter,
  Sink,
  Spool,
  StepOptions,
  StepOutcome,
} from './contracts.ts';
export { DeliveryWorker } from './delivery-worker.ts';
export { DeliveryError } from './errors.ts';
export { OutgoingRecord } from './outgoing-record.ts';
export type { SinkSurroundings } from './sinks/define-sink.ts';
export { renderIndexTemplate } from './sinks/elasticsearch/template.ts';
export {
  createSink,
  readSinks,
  SINKS_MAX,
  type SinkSettings,
  type SinkSettingsOf,
  sinksSchema,
  toSinkStart,
} from './sinks/index.ts';
export { createStdoutSettings } from './sinks/stdout/index.ts';
