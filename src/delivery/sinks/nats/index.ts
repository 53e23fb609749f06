import { readNatsSecrets } from '../../../net/index.ts';
import { revealTls } from '../../../settings/index.ts';
import { defineSink } from '../define-sink.ts';
import { checkNats, natsSchema, toNatsKeys, toNatsSettings } from './schema.ts';
import { createNatsSink } from './sink.ts';

export const nats = defineSink({
  schema: natsSchema,
  check: checkNats,
  readSecrets: readNatsSecrets,
  toSettings: toNatsSettings,
  toKeys: toNatsKeys,
  open: (settings, { clock, onShortHello }) =>
    createNatsSink({ ...settings, tls: revealTls(settings.tls), clock, onShortHello }),
});
