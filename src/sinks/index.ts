/**
 * sinks: from the spool to the receivers.
 *
 * Owns: delivery to a sink (batches, bisecting, dead letters), the types of sinks, the meaning of their responses.
 * Does not own: the spool, the store of dead letters, the timing of steps.
 * Start reading at: delivery-worker.ts.
 *
 *   delivery-worker.ts    the loop, and the policy of repetition after a loss
 *   in-flight-batch.ts    the policy of bisecting a rejected batch
 *   probe.ts              the policy for a receiver that may be misconfigured
 *   attempts.ts           one attempt: time limit, number of records
 *   contracts.ts          what a sink is: deliver, preflight, close; reports, events, errors
 *   outgoing-record.ts, otel.ts  a record in its formats
 *   preflight.ts          the test record, and findings of checks
 *   connections.ts        opens connections, and converts their errors
 *   http/                 HTTP client of the sinks: requests, responses, headers
 *   types/                one file per type of sink, or a folder whose index.ts has its keys and how records are sent;
 *                         define-sink.ts has the keys that types share, list.ts their names
 */
export type {
  DeliveryEvent,
  PreflightFleet,
  Sink,
  StepOptions,
} from './contracts.ts';
export { DeliveryError } from './contracts.ts';
export { DeliveryWorker } from './delivery-worker.ts';
export { OutgoingRecord } from './outgoing-record.ts';
export { renderIndexTemplate } from './types/elasticsearch/template.ts';
export {
  createSink,
  readSinks,
  SINKS_MAX,
  type SinkSettings,
  type SinkSettingsOf,
  sinksSchema,
  toSinkStart,
} from './types/index.ts';
