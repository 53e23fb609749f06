import { defineSink } from '../define-sink.ts';
import { fileSchema, toFileKeys, toFileSettings } from './schema.ts';
import { createFileSink } from './sink.ts';

export const file = defineSink({
  schema: fileSchema,
  findFile: ({ path }) => path,
  toSettings: toFileSettings,
  toKeys: toFileKeys,
  open: (settings, { clock }) => createFileSink({ ...settings, clock }),
});
