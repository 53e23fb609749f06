/**
 * delivery: from the spool to the sinks.
 *
 * Owns: how records are carried to a sink (batches, halving, dead letters), the sinks (one file each), what their answers
 * mean.
 * Does not own: where records and dead letters wait, and when a step is made.
 * Start reading at: courier.ts, contracts.ts.
 */
export type {
  BatchBounds,
  DeadLetter,
  DeadLetterBox,
  PreflightFinding,
  PreflightFleet,
  ReplayedLetter,
  Sink,
  Slice,
  SliceBounds,
  Spool,
} from './contracts.ts';
export { Courier, type CourierOptions, type DeliveryEvent, type StepOptions, type StepOutcome } from './courier.ts';
export { DeliveryError } from './errors.ts';
export { OutgoingRecord } from './outgoing-record.ts';
export { createElasticsearchSink } from './sinks/elasticsearch/sink.ts';
export { renderIndexTemplate } from './sinks/elasticsearch/template.ts';
export { createFileSink } from './sinks/file/sink.ts';
export { createHttpSink } from './sinks/http/sink.ts';
export { createLokiSink } from './sinks/loki/sink.ts';
export { createNatsSink } from './sinks/nats/sink.ts';
export { createOtlpSink } from './sinks/otlp/sink.ts';
export { createStdoutSink } from './sinks/stdout/sink.ts';
export { createSyslogSink } from './sinks/syslog/sink.ts';
