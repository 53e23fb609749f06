/**
 * delivery: from the spool to the sinks.
 *
 * Owns: one step of delivery, the sinks (one file each), what their failures mean.
 * Does not own: where records wait, and when a step is made.
 * Start reading at: deliver.ts.
 */
export { deliverOnce, type RecordsDelivered, type Sink, type Spool } from './deliver.ts';
export { DeliveryError } from './errors.ts';
export { createStdoutSink } from './sinks/stdout.ts';
