import { defineSink } from '../define-sink.ts';
import { fileSchema } from './schema.ts';
import { createFileSink } from './sink.ts';

export const file = defineSink({
  schema: fileSchema,
  findFile: ({ path }) => path,
  open: ({ timeout: timeoutMs, max_size: bytesMax, max_age: ageMs, ...same }, { clock }) =>
    createFileSink({ ...same, timeoutMs, bytesMax, ageMs, clock }),
});
