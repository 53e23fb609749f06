import { readPeerTls } from '../../../net/index.ts';
import { defineSink, toConnection } from '../define-sink.ts';
import { checkSyslog, syslogSchema, toSyslogKeys, toSyslogSettings } from './schema.ts';
import { createSyslogSink } from './sink.ts';

export const syslog = defineSink({
  schema: syslogSchema,
  check: checkSyslog,
  readSecrets: async (place, keys, reader) => ({ tls: await readPeerTls(place, keys.tls, reader) }),
  toSettings: toSyslogSettings,
  toKeys: toSyslogKeys,
  open: (settings, around) => createSyslogSink({ ...settings, ...toConnection(settings, around) }),
});
