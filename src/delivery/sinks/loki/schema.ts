import { type About, checked, choice, durationOrNone, wholeNumber } from '../../../settings/index.ts';
import { batch, format } from '../common-keys.ts';
import { type OwnKeys, sinkSchema } from '../define-sink.ts';
import { baseUrl } from '../network-values.ts';
import { webShape } from '../web-keys.ts';

const STREAM_LIMIT_MAX = 10_000_000;
const SHARDS_MAX = 4096;
const AGE_MS_MIN = 60_000;
const AGE_MS_MAX = 10 * 365 * 86_400_000;
/** Bound of Loki for the name of a tenant. */
const TENANT_CHARS_MAX = 150;

/** A sink of type `loki`. */
export const lokiSchema = sinkSchema('loki', 'Grafana Loki.', {
  url: baseUrl(
    { description: 'Address of Loki. Without a path `/loki/api/v1/push` is meant.' },
    'https://loki.example.net',
  ),
  tenant: tenant({ description: 'Tenant, sent as `X-Scope-OrgID`.' }).optional(),
  layout: choice(
    {
      description:
        'Labels of the streams. `router`: one of them is the router. `shard`: routers share streams, and their names stand beside the line. `auto`: by the size of the fleet and `stream_limit`.',
    },
    ['auto', 'router', 'shard'],
  ).prefault('auto'),
  // `max_global_streams_per_user` of Loki 3.
  stream_limit: wholeNumber({ description: 'Streams that the tenant may have.' }, 1, STREAM_LIMIT_MAX).prefault(5000),
  // Each bucket has all the lines that a stream of Loki takes: 3 MB each second.
  shards: wholeNumber(
    { description: 'Buckets over which routers are spread with `layout: shard`.' },
    1,
    SHARDS_MAX,
  ).prefault(32),
  // `reject_old_samples_max_age` of Loki 3.
  max_age: durationOrNone(
    {
      description:
        'Age from which Loki refuses lines (`reject_old_samples_max_age`): they become dead letters without being sent. 0: it takes all.',
    },
    AGE_MS_MIN,
    AGE_MS_MAX,
  ).prefault('1w'),
  ...webShape,
  format: format(['native']),
  batch: batch({ recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 1000 }),
});

type LokiKeys = OwnKeys<typeof lokiSchema>;
export type LokiSettings = Readonly<ReturnType<typeof toLokiSettings>>;

export function toLokiSettings({ stream_limit: streamLimit, max_age: maxAgeMs, ...same }: LokiKeys) {
  return { ...same, streamLimit, maxAgeMs };
}

export function toLokiKeys({ streamLimit, maxAgeMs, ...same }: LokiSettings): LokiKeys {
  return { ...same, stream_limit: streamLimit, max_age: maxAgeMs };
}

/** A tenant of Loki (docs: "multi-tenancy", characters of tenant IDs). */
function tenant(about: About) {
  return checked(
    { kind: 'name', ...about },
    `the name of a tenant: letters, digits and "!-_.*'()"`,
    TENANT_CHARS_MAX,
    (value) => /^(?!\.{1,2}$)[A-Za-z0-9!_.*'()-]+$/.test(value),
  );
}
