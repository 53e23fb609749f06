import { checkNatsServers, natsServersShape } from '../../../net/index.ts';
import { checked, type Place, type SoundOf } from '../../../settings/index.ts';
import { batch, format, timeout } from '../common-keys.ts';
import { sinkSchema } from '../define-sink.ts';

/** Leaves space for site, router and component within the limit of servers. */
const SUBJECT_CHARS_MAX = 128;
/** NATS's limit for the name of a stream. */
const STREAM_CHARS_MAX = 255;
const { servers, tls, ...account } = natsServersShape;

/** A sink of type `nats`. */
export const natsSchema = sinkSchema('nats', 'NATS JetStream. The uid of a record is the id of its message.', {
  servers,
  subject: checked(
    {
      description: 'Prefix of the subjects, followed by site, router and component: `logs.munich.plant-7.network`.',
      kind: 'subject',
    },
    'the first part of a subject: letters, digits, "_" and "-", with dots between',
    SUBJECT_CHARS_MAX,
    (value) => /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(value),
  ).prefault('logs'),
  stream: checked(
    {
      description: 'Stream that stores the records. It is not created; the preflight checks that it exists.',
      kind: 'name',
    },
    'the name of a stream: no blanks, dots, slashes, "*" and ">"',
    STREAM_CHARS_MAX,
    (value) => /^[^\s\p{Cc}.*>/\\]+$/u.test(value),
  ).optional(),
  ...account,
  timeout,
  tls,
  format: format(['native', 'ecs', 'otel']),
  batch: batch({ recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 0 }),
});

/** Rejects combinations of keys. */
export function checkNats(place: Place, keys: SoundOf<typeof natsSchema>): void {
  checkNatsServers(place, keys, { who: 'a sink', kind: 'A sink of type "nats"' });
}
