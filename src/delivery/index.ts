/**
 * delivery: from the spool to the sinks.
 *
 * Owns: delivery to a sink (batches, halving, dead letters), the sinks (one folder each), the meaning of their responses.
 * Does not own: the spool, the store of dead letters, and the timing of steps.
 * Start reading at: delivery-worker.ts (the loop) and its policies: in-flight-batch.ts (bisect what was refused), repeat-after-loss.ts,
 * probe.ts (a receiver that may be misconfigured). A type of sink: the keys in schema.ts, how records are sent in sink.ts, what an answer
 * means in answer.ts or bulk.ts, what doctor checks in preflight.ts.
 */
export type {
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
} from './contracts.ts';
export { DeliveryWorker } from './delivery-worker.ts';
export { DeliveryError } from './errors.ts';
export { OutgoingRecord } from './outgoing-record.ts';
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
