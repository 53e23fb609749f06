import { z } from 'zod';
import type { SoundOf } from '../../settings/index.ts';
import { SINKS_MAX } from '../defaults.ts';
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

const SINKS = `a list of at most ${SINKS_MAX} sinks`;

/** The key `sinks`. */
export const sinksSchema = z
  .array(sinkSchema, { error: SINKS })
  .max(SINKS_MAX, { error: SINKS })
  .meta({ description: 'Where log records go. Without a sink no log is read.' });

/** What is sound of a sink. */
export type WrittenSink = SoundOf<typeof sinkSchema>;
/** The same of one type. */
export type WrittenSinkOf<Type extends WrittenSink['type']> = Extract<WrittenSink, { type: Type }>;
