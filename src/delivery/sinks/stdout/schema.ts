import { batch, format } from '../common-keys.ts';
import { sinkSchema } from '../define-sink.ts';

/** A sink of type `stdout`. */
export const stdoutSchema = sinkSchema(
  'stdout',
  'One record per line on standard output. Delivery has no time limit and waits for slow readers.',
  {
    format: format(['native', 'ecs', 'otel']),
    batch: batch({ recordsMax: 5000, bytesMax: 1024 ** 2, waitMs: 0 }),
  },
);
