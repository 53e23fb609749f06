import { defineSink, toClientOptions } from '../define-sink.ts';
import { checkNats, natsSchema } from './schema.ts';
import { createNatsSink } from './sink.ts';

export const nats = defineSink({
  schema: natsSchema,
  check: checkNats,
  open: ({ credentials_file: credentials, ...settings }, around) =>
    createNatsSink({ ...settings, ...toClientOptions(settings, around), credentials }),
});
