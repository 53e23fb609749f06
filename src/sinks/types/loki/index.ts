import { renderDuration } from '../../../base/index.ts';
import { baseUrl } from '../../../net/index.ts';
import { type About, checked, choice, durationOrNone, wholeNumber } from '../../../settings/index.ts';
import type { DeliveryReport, Destination, PreflightFinding, PreflightFleet, Refusal } from '../../contracts.ts';
import { SinkHttpClient } from '../../http/client.ts';
import type { OutgoingRecord } from '../../outgoing-record.ts';
import { tryTestRecord } from '../../preflight.ts';
import {
  batch,
  checkHttpSink,
  defineSink,
  format,
  httpSinkShape,
  type SettingsOf,
  type SinkSurroundings,
  sinkSchema,
} from '../define-sink.ts';
import { judgeLokiAnswer } from './answer.ts';
import { checkLokiLimits, fitsRouterLayout, isOtherReceiver } from './preflight.ts';
import { FUTURE_MS_MAX, findLokiTime, type LokiLayout, renderPush, toLokiEntry } from './push.ts';

const STREAM_LIMIT_MAX = 10_000_000;
const SHARDS_MAX = 4096;
const AGE_MS_MIN = 60_000;
const AGE_MS_MAX = 10 * 365 * 86_400_000;
/** Limit of Loki. */
const TENANT_CHARS_MAX = 150;

const schema = sinkSchema('loki', 'Grafana Loki.', {
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
  ...httpSinkShape,
  format: format(['native']),
  batch: batch({ recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 1000 }),
});

/**
 * Pushes records to Loki as JSON: the line is the message, the rest is structured metadata.
 *
 * Loki deduplicates lines by stream, time and text, so log queries show no duplicates after a push whose response was lost;
 * metric queries count them twice if Loki cut the block in between. Layout `auto` changes from `router` to `shard` once the
 * fleet needs more than half of the streams, and never back: a record sent again at that moment may be stored twice, once per
 * layout.
 */
export const loki = defineSink({
  schema,
  check: (place, keys) => checkHttpSink(place, keys, keys.url, { 'x-scope-orgid': 'tenant' }),
  open: (settings, around) => new LokiSink(settings, around),
});

type LokiSettings = SettingsOf<typeof schema>;

/** Creates the schema of a tenant name (Loki docs: "multi-tenancy", characters of tenant IDs). */
function tenant(about: About) {
  return checked(
    { kind: 'name', ...about },
    `the name of a tenant: letters, digits and "!-_.*'()"`,
    TENANT_CHARS_MAX,
    (value) => /^(?!\.{1,2}$)[A-Za-z0-9!_.*'()-]+$/.test(value),
  );
}

const PUSH_PATH = '/loki/api/v1/push';
const OTHER_RECEIVER: PreflightFinding = {
  step: 'receiver',
  verdict: 'ok',
  message: 'The receiver is not Loki, but speaks its push API: its status 200 counts as accepted',
};

class LokiSink implements Destination {
  readonly connection: Destination['connection'];
  readonly #settings: LokiSettings;
  readonly #around: SinkSurroundings;
  readonly #client: SinkHttpClient;
  /** Path of the push API; `undefined` = pushes go to the URL itself, and the other paths are unknown. */
  readonly #pushPath: string | undefined;
  #isSharded: boolean;
  /** True if the receiver is not Loki, and answers 200 for records that it has stored. */
  #isOther = false;

  constructor(settings: LokiSettings, around: SinkSurroundings) {
    this.#settings = settings;
    this.#around = around;
    const { url, pushPath } = splitUrl(settings.url);
    this.#pushPath = pushPath;
    this.#client = new SinkHttpClient({ ...settings, url, compress: 'gzip' }, around);
    this.connection = this.#client.connection;
    this.#isSharded = settings.layout === 'shard';
  }

  findRefusal({ fields }: OutgoingRecord, nowMs: number): Refusal | undefined {
    const { max_age: maxAgeMs } = this.#settings;
    const time = findLokiTime(fields);
    const ageMs = nowMs - Date.parse(time);
    const limit =
      maxAgeMs > 0 && ageMs > maxAgeMs
        ? `none older than ${renderDuration(maxAgeMs)} (max_age)`
        : ageMs < -FUTURE_MS_MAX
          ? `none more than ${renderDuration(FUTURE_MS_MAX)} ahead`
          : undefined;
    return limit === undefined ? undefined : { reason: `The line is from ${time}, and Loki accepts ${limit}` };
  }

  async deliver(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<DeliveryReport> {
    const { name, tenant: id } = this.#settings;
    const layout = this.#chooseLayout();
    const { body, sent } = renderPush(records.map(({ fields }) => toLokiEntry(fields, layout)));
    const headers = id === undefined ? undefined : { 'x-scope-orgid': id };
    const push = { path: this.#pushPath, headers };
    const answer = await this.#client.post(
      { ...push, contentType: 'application/json', body, isAnswerCut: true },
      signal,
    );
    if (answer.status === 200) {
      this.#isOther ||= await isOtherReceiver(this.#client, push, signal);
      if (this.#isOther) return { bytes: answer.sentBytes };
    }
    return judgeLokiAnswer(answer, sent, `Sink ${name}`);
  }

  async preflight(fleet: PreflightFleet, signal: AbortSignal): Promise<readonly PreflightFinding[]> {
    const { clock } = this.#around;
    const layout = this.#chooseLayout(fleet.routers);
    const client = this.#client;
    const findings = await tryTestRecord(this.deliver.bind(this), { clock, place: client.place }, signal);
    // Not reachable, so there are no limits to compare with.
    if (findings.some(({ step, verdict }) => step === 'connect' && verdict === 'failed')) return findings;
    if (this.#isOther) return [...findings, OTHER_RECEIVER];
    const isKnown = this.#pushPath !== undefined;
    return [
      ...findings,
      ...(await checkLokiLimits(isKnown ? client : undefined, layout, this.#settings, fleet, signal)),
    ];
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #chooseLayout(routers = this.#around.routers()): LokiLayout {
    const { layout, stream_limit: streamLimit, shards } = this.#settings;
    if (layout === 'auto' && !fitsRouterLayout(routers, streamLimit)) this.#isSharded = true;
    return this.#isSharded ? { kind: 'shard', shards } : { kind: 'router' };
  }
}

function splitUrl(text: string): { readonly url: string; readonly pushPath: string | undefined } {
  const url = new URL(text);
  const path = url.pathname.replace(/\/+$/, '');
  if (path === '') return { url: text, pushPath: PUSH_PATH };
  if (!path.endsWith(PUSH_PATH)) return { url: text, pushPath: undefined };
  url.pathname = path.slice(0, -PUSH_PATH.length);
  return { url: url.href, pushPath: PUSH_PATH };
}
