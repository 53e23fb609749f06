import { type Clock, decodeObject, matchesStars, parseJson } from '../../../base/index.ts';
import type { Destination, PreflightFinding } from '../../contracts.ts';
import type { SinkHttpClient } from '../../http/client.ts';
import { type HttpAnswer, toAnswerError } from '../../http/messages.ts';
import { collectFindings, createTestRecord, toFailedFinding, toFindings } from '../../preflight.ts';

interface Target {
  readonly name: string;
  readonly index: string;
  readonly pipeline?: string | undefined;
  readonly clock: Clock;
}

type Ask = (path: string) => Promise<HttpAnswer>;
type Json = Readonly<Record<string, unknown>>;

/** Enough for a few fields of a few hundred templates. Bytes. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** Records are sent again within minutes, after an outage within days. */
const ROLLOVER_DAYS_MIN = 7;
const DAYS_PER_UNIT: Readonly<Record<string, number>> = { d: 1, h: 1 / 24, m: 1 / 1440, s: 1 / 86_400 };

/** Checks everything that a delivery needs, in the order in which it would fail. */
export function checkElasticsearch(
  client: SinkHttpClient,
  deliver: Destination['deliver'],
  target: Target,
  signal: AbortSignal,
): Promise<readonly PreflightFinding[]> {
  const toFailed = (error: unknown, found: readonly PreflightFinding[]) =>
    found.length === 0
      ? toFindings(error, 'authorise')
      : toFindings(error, 'index').filter(({ verdict }) => verdict === 'failed');
  return collectFindings(checkAll(client, deliver, target, signal), toFailed, signal);
}

async function* checkAll(
  client: SinkHttpClient,
  deliver: Destination['deliver'],
  target: Target,
  signal: AbortSignal,
): AsyncGenerator<PreflightFinding> {
  const { name, pipeline, clock } = target;
  // Any status is accepted, because receivers may offer the bulk API only.
  const ask: Ask = (path) => client.get(path, signal, ANSWER_BYTES_MAX);
  const answer = await client.get('/', signal);
  // An account with write permission may not be allowed to read the version, and a receiver with the bulk API only has none:
  // the test record decides.
  const isOpen = answer.status >= 400 && answer.status < 500 && answer.status !== 401 && answer.status !== 429;
  if (answer.status !== 200 && !isOpen) throw toAnswerError(answer, `Sink ${name}`);
  yield { step: 'connect', verdict: 'ok', message: `${client.place} can be reached` };
  yield judgeVersion(answer);
  yield* checkIndex(ask, target);
  if (pipeline !== undefined) yield await checkPipeline(ask, pipeline);
  yield await sendTestRecord(deliver, clock, signal);
}

function judgeVersion(answer: HttpAnswer): PreflightFinding {
  const step = 'authorise';
  if (answer.status === 403) {
    const message = 'The credentials do not permit reading the version of the cluster';
    return { step, verdict: 'warning', message };
  }
  const version = decodeObject(decodeObject(parseJson(answer.body))?.['version']);
  if (!version) {
    return { step, verdict: 'warning', message: 'The response does not identify Elasticsearch or OpenSearch' };
  }
  const product = version['distribution'] === 'opensearch' ? 'OpenSearch' : 'Elasticsearch';
  const number = answer.quote(String(version['number']));
  return { step, verdict: 'ok', message: `${product} ${number} accepts the credentials` };
}

/** Checks whether the index is or will be a data stream, and when it rolls over. */
async function* checkIndex(ask: Ask, target: Target): AsyncGenerator<PreflightFinding> {
  const step = 'index';
  const { index } = target;
  const answer = await ask(`/_data_stream/${encodeURIComponent(index)}`);
  if (answer.status === 200) {
    const [stream] = decodeArray(decodeObject(parseJson(answer.body))?.['data_streams']);
    if (!stream) {
      // OpenSearch answers so for an index.
      const hint = 'Add a template if there is none, and delete the index: the next record then creates a data stream';
      yield { step, verdict: 'warning', message: `${index} is an index, not a data stream`, hint };
      return;
    }
    const template = answer.quote(String(stream['template']));
    yield { step, verdict: 'ok', message: `The data stream ${index} exists (template ${template})` };
    yield* checkRollover(ask, stream['ilm_policy']);
  } else if (answer.status === 404) {
    yield await checkTemplates(ask, target);
  } else {
    const message = `Could not check whether ${index} is a data stream: status ${answer.status}`;
    yield { step, verdict: 'warning', message };
  }
}

async function checkPipeline(ask: Ask, pipeline: string): Promise<PreflightFinding> {
  const step = 'pipeline';
  const { status } = await ask(`/_ingest/pipeline/${encodeURIComponent(pipeline)}`);
  if (status === 200) return { step, verdict: 'ok', message: `The pipeline ${pipeline} exists` };
  if (status !== 404) {
    const message = `Could not check whether the pipeline ${pipeline} exists: status ${status}`;
    return { step, verdict: 'warning', message };
  }
  const message = `The pipeline ${pipeline} does not exist`;
  return { step, verdict: 'failed', message, hint: 'Check pipeline of this sink' };
}

async function checkTemplates(ask: Ask, { name, index }: Target): Promise<PreflightFinding> {
  const step = 'index';
  const fields = ['name', ...['index_patterns', 'priority', 'data_stream'].map((field) => `index_template.${field}`)];
  const path = `/_index_template?filter_path=${fields.map((field) => `index_templates.${field}`).join(',')}`;
  const answer = await ask(path);
  if (answer.status !== 200) {
    return { step, verdict: 'warning', message: `Could not read the index templates: status ${answer.status}` };
  }
  const best = decodeArray(decodeObject(parseJson(answer.body))?.['index_templates'])
    .map((entry) => ({
      name: answer.quote(String(entry['name'])),
      template: decodeObject(entry['index_template']),
    }))
    .filter(({ template }) => {
      const patterns = template?.['index_patterns'];
      return Array.isArray(patterns) && patterns.some((pattern) => matchesStars(index, String(pattern)));
    })
    .toSorted((one, other) => readPriority(other.template) - readPriority(one.template))[0];
  if (best && decodeObject(best.template?.['data_stream'])) {
    const message = `The first record creates the data stream ${index} (template ${best.name})`;
    return { step, verdict: 'ok', message };
  }
  const message = `No index template makes ${index} a data stream: the first record creates an index with types derived from its values`;
  const hint = `\`router-exporter schema --index-template ${name}\` prints a template for it`;
  return { step, verdict: 'warning', message, hint };
}

/** Checks the age of rollovers: ids are unique within one backing index only (elasticsearch#44794). */
async function* checkRollover(ask: Ask, policy: unknown): AsyncGenerator<PreflightFinding> {
  if (typeof policy !== 'string') return;
  const answer = await ask(`/_ilm/policy/${encodeURIComponent(policy)}`);
  if (answer.status !== 200) return;
  const age = findPath(parseJson(answer.body), [policy, 'policy', 'phases', 'hot', 'actions', 'rollover', 'max_age']);
  const [, amount, unit = ''] = /^(\d{1,6})([dhms])$/.exec(typeof age === 'string' ? age : '') ?? [];
  if (amount === undefined) return;
  const isShort = Number(amount) * (DAYS_PER_UNIT[unit] ?? 0) < ROLLOVER_DAYS_MIN;
  const when = `after ${amount}${unit} (policy ${answer.quote(policy)})`;
  yield {
    step: 'rollover',
    verdict: isShort ? 'warning' : 'ok',
    message: `The index rolls over ${when}: a record sent again later is stored twice`,
    hint: isShort ? `Set the rollover age of the policy to ${ROLLOVER_DAYS_MIN} days or more` : undefined,
  };
}

async function sendTestRecord(
  deliver: Destination['deliver'],
  clock: Clock,
  signal: AbortSignal,
): Promise<PreflightFinding> {
  const step = 'test record';
  try {
    const { refused = [], retry, warning } = await deliver([createTestRecord(clock)], signal);
    const [refusal] = refused;
    if (refusal) return { step, verdict: 'failed', message: `The test record was refused: ${refusal.reason}` };
    if (retry) return { step, verdict: 'failed', message: `The test record was deferred: ${retry.reason}` };
    if (warning !== undefined) return { step, verdict: 'warning', message: warning };
    return { step, verdict: 'ok', message: 'The test record was accepted' };
  } catch (error) {
    signal.throwIfAborted();
    return toFailedFinding(step, error);
  }
}

function decodeArray(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map((entry) => decodeObject(entry) ?? {}) : [];
}

function findPath(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((found, key) => decodeObject(found)?.[key], value);
}

function readPriority(template: Json | undefined): number {
  const priority = template?.['priority'];
  return typeof priority === 'number' ? priority : 0;
}
