import { z } from 'zod';
import { SINKS_MAX } from '../defaults.ts';
import { commonShape } from './sink-keys.ts';
import { fileSchema, natsSchema, stdoutSchema, syslogSchema } from './stream-sink-schema.ts';
import { elasticsearchSchema, httpSchema, lokiSchema, otlpSchema } from './web-sink-schema.ts';

/** One item of `sinks`. */
const sinkSchema = z
  .discriminatedUnion(
    'type',
    [stdoutSchema, fileSchema, httpSchema, lokiSchema, elasticsearchSchema, otlpSchema, syslogSchema, natsSchema],
    { error: 'a map of keys' },
  )
  .meta({ description: 'One sink. Its type decides which other keys there are.' });

/** The same without what is required. One without a type has a name at most that can be checked. */
const incompleteSinkSchema = z.discriminatedUnion('type', [
  stdoutSchema.partial().required({ type: true }),
  fileSchema.partial().required({ type: true }),
  httpSchema.partial().required({ type: true }),
  lokiSchema.partial().required({ type: true }),
  elasticsearchSchema.partial().required({ type: true }),
  otlpSchema.partial().required({ type: true }),
  syslogSchema.partial().required({ type: true }),
  natsSchema.partial().required({ type: true }),
  z.object({ type: z.undefined().optional(), name: commonShape.name.optional() }),
]);

const SINKS = `a list of at most ${SINKS_MAX} sinks`;

/** The key `sinks`. */
export const sinksSchema = z
  .array(sinkSchema, { error: SINKS })
  .max(SINKS_MAX, { error: SINKS })
  .meta({ description: 'Where log records go. Without a sink no log is read.' });
export const incompleteSinksSchema = z.array(incompleteSinkSchema);

/** What is sound of a sink. */
export type WrittenSink = z.output<typeof incompleteSinkSchema>;
/** The same of one type. */
export type WrittenSinkOf<Type extends WrittenSink['type']> = Extract<WrittenSink, { type: Type }>;
