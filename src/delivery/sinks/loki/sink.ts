import { renderDuration } from '../../../base/index.ts';
import type {
  BatchBounds,
  DeliveryReport,
  PreflightFinding,
  PreflightFleet,
  Refusal,
  Sink,
  SinkOptions,
} from '../../contracts.ts';
import { type HttpClientOptions, SinkHttpClient } from '../../http/sink-http-client.ts';
import type { OutgoingRecord } from '../../outgoing-record.ts';
import { tryTestRecord } from '../../preflight.ts';
import type { SettingsOf } from '../define-sink.ts';
import { judgeLokiAnswer } from './answer.ts';
import { checkLokiLimits, isOtherReceiver } from './preflight.ts';
import { FUTURE_MS_MAX, findLokiTime, fitsRouterLayout, type LokiLayout, renderPush, toLokiEntry } from './push.ts';
import type { lokiSchema } from './schema.ts';

/** Settings and client of a sink of type `loki`. */
interface LokiSinkOptions
  extends Omit<HttpClientOptions, 'compress'>,
    SinkOptions,
    Pick<SettingsOf<typeof lokiSchema>, 'tenant' | 'layout' | 'shards'> {
  /** Streams that the tenant may have. */
  readonly streamLimit: number;
  /** Age at which Loki rejects lines; 0 = no limit. Milliseconds. */
  readonly maxAgeMs: number;
  /** Returns the current number of routers. */
  readonly routers: () => number;
}

const PUSH_PATH = '/loki/api/v1/push';
const OTHER_RECEIVER: PreflightFinding = {
  step: 'receiver',
  verdict: 'ok',
  message: 'The receiver is not Loki, but speaks its push API: its status 200 counts as accepted',
};

/**
 * Creates a sink that pushes records to Loki as JSON: the line is the message, the rest is structured metadata.
 *
 * Loki deduplicates lines by stream, time and text, so log queries show no duplicates after a push whose response was
 * lost; metric queries count them twice if Loki cut the block in between. Layout `auto` changes from `router` to `shard`
 * once the fleet needs more than half of the streams, and never back: a record sent again at that moment may be stored
 * twice, once per layout.
 */
export function createLokiSink(options: LokiSinkOptions): Sink {
  return new LokiSink(options);
}

class LokiSink implements Sink {
  readonly name: string;
  readonly batch: BatchBounds;
  readonly timeoutMs: number;
  readonly connection: Sink['connection'];
  readonly #options: LokiSinkOptions;
  readonly #client: SinkHttpClient;
  /** Path of the push API; `undefined` = pushes go to the URL itself, and the other paths are unknown. */
  readonly #pushPath: string | undefined;
  #isSharded: boolean;
  /** True if the receiver is not Loki, and answers 200 for records that it has stored. */
  #isOther = false;

  constructor(options: LokiSinkOptions) {
    this.name = options.name;
    this.batch = options.batch;
    this.timeoutMs = options.timeoutMs;
    this.#options = options;
    const { url, pushPath } = splitUrl(options.url);
    this.#pushPath = pushPath;
    this.#client = new SinkHttpClient({ ...options, url, compress: 'gzip' });
    this.connection = this.#client.connection;
    this.#isSharded = options.layout === 'shard';
  }

  findRefusal({ fields }: OutgoingRecord, nowMs: number): Refusal | undefined {
    const { maxAgeMs } = this.#options;
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
    const { tenant } = this.#options;
    const layout = this.#chooseLayout();
    const { body, sent } = renderPush(records.map(({ fields }) => toLokiEntry(fields, layout)));
    const headers = tenant === undefined ? undefined : { 'x-scope-orgid': tenant };
    const push = { path: this.#pushPath, headers };
    const answer = await this.#client.post(
      { ...push, contentType: 'application/json', body, isAnswerCut: true },
      signal,
    );
    if (answer.status === 200) {
      this.#isOther ||= await isOtherReceiver(this.#client, push, signal);
      if (this.#isOther) return { bytes: answer.sentBytes };
    }
    return judgeLokiAnswer(answer, sent, `Sink ${this.name}`);
  }

  async preflight(fleet: PreflightFleet, signal: AbortSignal): Promise<readonly PreflightFinding[]> {
    const { clock, streamLimit, maxAgeMs } = this.#options;
    const settings = { layout: this.#chooseLayout(fleet.routers), streamLimit, maxAgeMs };
    const client = this.#client;
    const findings = await tryTestRecord(this.deliver.bind(this), { clock, place: client.place }, signal);
    // Not reachable, so there are no limits to compare with.
    if (findings.some(({ step, verdict }) => step === 'connect' && verdict === 'failed')) return findings;
    if (this.#isOther) return [...findings, OTHER_RECEIVER];
    const isKnown = this.#pushPath !== undefined;
    return [...findings, ...(await checkLokiLimits(isKnown ? client : undefined, settings, fleet, signal))];
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #chooseLayout(routers = this.#options.routers()): LokiLayout {
    const { layout, streamLimit, shards } = this.#options;
    if (layout === 'auto' && !fitsRouterLayout(routers, streamLimit)) this.#isSharded = true;
    return this.#isSharded ? { kind: 'shard', shards } : { kind: 'router' };
  }
}

/** Splits the URL into the base URL of Loki and the path of the push API. */
function splitUrl(text: string): { readonly url: string; readonly pushPath: string | undefined } {
  const url = new URL(text);
  const path = url.pathname.replace(/\/+$/, '');
  if (path === '') return { url: text, pushPath: PUSH_PATH };
  if (!path.endsWith(PUSH_PATH)) return { url: text, pushPath: undefined };
  url.pathname = path.slice(0, -PUSH_PATH.length);
  return { url: url.href, pushPath: PUSH_PATH };
}
