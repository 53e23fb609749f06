import { readNatsSecrets } from '../../../net/index.ts';
import { defineSink, toConnection } from '../define-sink.ts';
import { checkNats, natsSchema, toNatsKeys, toNatsSettings } from './schema.ts';
import { createNatsSink } from './sink.ts';

export const nats = defineSink({
  schema: natsSchema,
  check: checkNats,
  readSecrets: readNatsSecrets,
  toSettings: toNatsSettings,
  toKeys: toNatsKeys,
  open: (settings, around) => createNatsSink({ ...settings, ...toConnection(settings, around) }),
});
