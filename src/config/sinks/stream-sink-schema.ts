import { renderDuration } from '../../base/index.ts';
import { SYSLOG_FACILITIES } from '../../model/index.ts';
import { byteSizeWithin, choice, duration, renderByteSize, section, text, wholeNumber } from '../../settings/index.ts';
import {
  FILE_AGE_MS,
  FILE_AGE_MS_MAX,
  FILE_AGE_MS_MIN,
  FILE_BYTES_LEAST,
  FILE_BYTES_MAX_DEFAULT,
  FILE_BYTES_MOST,
  FILE_KEEP_DEFAULT,
  FILE_KEEP_MAX,
  NATS_SUBJECT_DEFAULT,
  SYSLOG_APP_NAME_DEFAULT,
  SYSLOG_MESSAGE_BYTES_DEFAULT,
  SYSLOG_MESSAGE_BYTES_LEAST,
  SYSLOG_MESSAGE_BYTES_MOST,
  SYSLOG_REPLAY_MS,
} from '../defaults.ts';

import { accountShape, batch, commonShape, compress, format, replay, tag, timeout, tls } from './sink-keys.ts';
import { hostAndPort, natsServers, natsStream, natsSubject, syslogAppName } from './sink-values.ts';

/** A sink of type `stdout`. */
export const stdoutSchema = section(
  'One record per line on standard output. There is no time limit: a slow reader is waited for.',
  {
    ...commonShape,
    type: tag('stdout'),
    format: format(['native', 'ecs', 'otel']).optional(),
    batch: batch('stdout'),
  },
);

/** A sink of type `file`. */
export const fileSchema = section('One record per line in a file, which is put aside when it is large or old enough.', {
  ...commonShape,
  type: tag('file'),
  path: text({
    description: 'The file that is written. Those that were put aside stand beside it.',
    kind: 'path',
  }).refine((path) => !path.endsWith('/'), { error: 'the path of a file, which does not end in "/"' }),
  max_size: byteSizeWithin(
    { description: 'Size at which the file is put aside.', default: renderByteSize(FILE_BYTES_MAX_DEFAULT) },
    FILE_BYTES_LEAST,
    FILE_BYTES_MOST,
  ).optional(),
  max_age: duration(
    { description: 'Age at which the file is put aside.', default: renderDuration(FILE_AGE_MS) },
    FILE_AGE_MS_MIN,
    FILE_AGE_MS_MAX,
  ).optional(),
  keep: wholeNumber(
    { description: 'Files put aside that are kept; the oldest are deleted.', default: FILE_KEEP_DEFAULT },
    1,
    FILE_KEEP_MAX,
  ).optional(),
  compress: compress('gzip', 'files put aside'),
  fsync: choice(
    {
      description:
        'When the disk is waited for: after each `batch`, only before a file is put aside (`rotate`), or `never`. Without `batch` a power cut may take records that the agent takes for delivered.',
      default: 'batch',
    },
    ['batch', 'rotate', 'never'],
  ).optional(),
  format: format(['native', 'ecs', 'otel']).optional(),
  batch: batch('file'),
  timeout,
});

/** A sink of type `syslog`. */
export const syslogSchema = section(
  'A collector of syslog, as RFC 5424. It acknowledges nothing, so that what was on its way when a connection broke may be lost.',
  {
    ...commonShape,
    type: tag('syslog'),
    address: hostAndPort({ description: 'Host and port of the collector.' }),
    protocol: choice({ description: 'How messages are carried.', default: 'tcp' }, ['tcp', 'tls', 'udp']).optional(),
    facility: choice({ description: 'Facility of the messages.', default: 'local0' }, SYSLOG_FACILITIES).optional(),
    app_name: syslogAppName({
      description: 'Name of the program in the messages.',
      default: SYSLOG_APP_NAME_DEFAULT,
    }).optional(),
    message_max: byteSizeWithin(
      {
        description: 'Size from which messages are cut. `udp` carries no more than 65507 bytes.',
        default: renderByteSize(SYSLOG_MESSAGE_BYTES_DEFAULT),
      },
      SYSLOG_MESSAGE_BYTES_LEAST,
      SYSLOG_MESSAGE_BYTES_MOST,
    ).optional(),
    replay: replay(
      SYSLOG_REPLAY_MS,
      'How far back messages are sent again, from the spool, after a broken connection or a restart of the agent, because nobody knows whether they arrived. 0: none are. `udp` knows no connection, and sends none again.',
    ),
    timeout,
    tls,
    format: format(['native']).optional(),
    batch: batch('syslog'),
  },
);

/** A sink of type `nats`. */
export const natsSchema = section('NATS JetStream. The uid of a record is the id of its message.', {
  ...commonShape,
  type: tag('nats'),
  servers: natsServers(
    'Servers of one cluster: `host:port`, `nats://host:port`, or `tls://host:port`, all of which must use TLS then.',
  ),
  subject: natsSubject({
    description: 'First part of the subjects; site, router and component follow: `logs.munich.plant-7.network`.',
    default: NATS_SUBJECT_DEFAULT,
  }).optional(),
  stream: natsStream({
    description: 'Stream that takes the records. It is not created, but looked for at a preflight.',
  }).optional(),
  credentials_file: text({
    description: 'Credentials file (`.creds`) of a user, instead of account and token.',
    kind: 'path',
  }).optional(),
  ...accountShape,
  timeout,
  tls,
  format: format(['native', 'ecs', 'otel']).optional(),
  batch: batch('nats'),
});
