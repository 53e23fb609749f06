import { defineSink, toClientOptions } from '../define-sink.ts';
import { checkSyslog, syslogSchema } from './schema.ts';
import { createSyslogSink } from './sink.ts';

export const syslog = defineSink({
  schema: syslogSchema,
  check: checkSyslog,
  open: ({ address, app_name: appName, message_max: messageBytesMax, ...settings }, around) =>
    createSyslogSink({ ...settings, ...toClientOptions(settings, around), ...address, appName, messageBytesMax }),
});
