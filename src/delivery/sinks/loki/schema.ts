import { baseUrl } from '../../../net/index.ts';
import { type About, checked, choice, durationOrNone, wholeNumber } from '../../../settings/index.ts';
import { batch, format } from '../common-keys.ts';
import { sinkSchema } from '../define-sink.ts';
import { webShape } from '../web-keys.ts';

const STREAM_LIMIT_MAX = 10_000_000;
const SHARDS_MAX = 4096;
const AGE_MS_MIN = 60_000;
const AGE_MS_MAX = 10 * 365 * 86_400_000;
/** Loki's limit for the name of a tenant. */
const TENANT_CHARS_MAX = 150;

/** A sink of type `loki`. */
export const lokiSchema = sinkSchema('loki', 'Grafana Loki.', {
  url: baseUrl({ description: 'URL of Loki. Default path: `/loki/api/v1/push`.' }, 'https://loki.example.net'),
  tenant: tenant({ description: 'Tenant, sent as `X-Scope-OrgID`.' }).optional(),
  layout: choice(
    {
      description:
        'Labels of the streams. `router`: the router is a label. `shard`: routers share streams, and the router is structured metadata. `auto`: chosen by the size of the fleet and `stream_limit`.',
      advanced: true,
    },
    ['auto', 'router', 'shard'],
  ).prefault('auto'),
  // `max_global_streams_per_user` of Loki 3.
  stream_limit: wholeNumber(
    { description: 'Maximum number of streams of the tenant.', advanced: true },
    1,
    STREAM_LIMIT_MAX,
  ).prefault(5000),
  // Each bucket can use the rate limit of a stream: 3 MB/s.
  shards: wholeNumber(
    { description: 'Number of buckets that routers are distributed over with `layout: shard`.', advanced: true },
    1,
    SHARDS_MAX,
  ).prefault(32),
  // `reject_old_samples_max_age` of Loki 3.
  max_age: durationOrNone(
    {
      description:
        'Age at which Loki rejects lines (`reject_old_samples_max_age`). Older lines become dead letters without being sent. 0 = no limit.',
      advanced: true,
    },
    AGE_MS_MIN,
    AGE_MS_MAX,
  ).prefault('1w'),
  ...webShape,
  format: format(['native']),
  batch: batch({ recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 1000 }),
});

/** A key for a tenant of Loki (docs: "multi-tenancy", characters of tenant IDs). */
function tenant(about: About) {
  return checked(
    { kind: 'name', ...about },
    `the name of a tenant: letters, digits and "!-_.*'()"`,
    TENANT_CHARS_MAX,
    (value) => /^(?!\.{1,2}$)[A-Za-z0-9!_.*'()-]+$/.test(value),
  );
}
