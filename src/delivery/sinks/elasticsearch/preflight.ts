import { type Clock, decodeObject, parseJson } from '../../../base/index.ts';
import type { DeliveryReport, PreflightFinding } from '../../contracts.ts';
import { type HttpAnswer, toAnswerError } from '../../http/answer.ts';
import type { SinkHttpClient } from '../../http/sink-http-client.ts';
import type { OutgoingRecord } from '../../outgoing-record.ts';
import { createTestRecord, toFindings } from '../../preflight.ts';

/** The settings of the sink that the preflight uses. */
export interface ElasticsearchTarget {
  /** Name of the sink. */
  readonly name: string;
  /** Data stream, index or alias. */
  readonly index: string;
  /** Ingest pipeline; absent = none. */
  readonly pipeline?: string | undefined;
  /** Source of the time of the test record. */
  readonly clock: Clock;
}

type Deliver = (records: readonly OutgoingRecord[], signal: AbortSignal) => Promise<DeliveryReport>;
type Json = Readonly<Record<string, unknown>>;

/** Enough for a few fields of a few hundred templates. Bytes. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** Records are sent again within minutes, after an outage within days. */
const ROLLOVER_DAYS_MIN = 7;
const DAYS_PER_UNIT: Readonly<Record<string, number>> = { d: 1, h: 1 / 24, m: 1 / 1440, s: 1 / 86_400 };

/** Checks everything that a delivery needs, in the order in which it would fail. */
export async function checkElasticsearch(
  client: SinkHttpClient,
  deliver: Deliver,
  target: ElasticsearchTarget,
  signal: AbortSignal,
): Promise<readonly PreflightFinding[]> {
  const check = new ElasticsearchCheck(client, target, signal);
  try {
    if (!(await check.checkVersion())) return check.findings;
    await check.checkIndex();
    await check.checkPipeline();
  } catch (error) {
    signal.throwIfAborted();
    check.findings.push(...toFindings(error, 'index').filter(({ verdict }) => verdict === 'failed'));
    return check.findings;
  }
  check.findings.push(await sendTestRecord(deliver, target, signal));
  return check.findings;
}

/** The checks before the test record. */
class ElasticsearchCheck {
  readonly #client: SinkHttpClient;
  readonly #target: ElasticsearchTarget;
  readonly #signal: AbortSignal;
  readonly findings: PreflightFinding[] = [];

  constructor(client: SinkHttpClient, target: ElasticsearchTarget, signal: AbortSignal) {
    this.#client = client;
    this.#target = target;
    this.#signal = signal;
  }

  /** Checks the connection, the credentials and the version. Returns false when further checks would fail. */
  async checkVersion(): Promise<boolean> {
    let answer: HttpAnswer;
    try {
      answer = await this.#client.get('/', this.#signal);
      // An account with write permission may not be allowed to read the version, and a receiver with the bulk API only
      // has none: the test record decides.
      const isOpen = answer.status >= 400 && answer.status < 500 && answer.status !== 401 && answer.status !== 429;
      if (answer.status !== 200 && !isOpen) throw toAnswerError(answer, `Sink ${this.#target.name}`);
    } catch (error) {
      this.#signal.throwIfAborted();
      this.findings.push(...toFindings(error, 'authorise'));
      return false;
    }
    const version = decodeObject(decodeObject(parseJson(answer.body))?.['version']);
    this.#add('connect', 'ok', `${this.#client.place} can be reached`);
    if (answer.status === 403) {
      this.#add('authorise', 'warning', 'The credentials do not permit reading the version of the cluster');
    } else if (version) {
      const isOpenSearch = version['distribution'] === 'opensearch';
      const number = answer.quote(String(version['number']));
      this.#add(
        'authorise',
        'ok',
        `${isOpenSearch ? 'OpenSearch' : 'Elasticsearch'} ${number} accepts the credentials`,
      );
    } else {
      this.#add('authorise', 'warning', 'The response does not identify Elasticsearch or OpenSearch');
    }
    return true;
  }

  /** Checks whether the index is or will be a data stream, and when it rolls over. */
  async checkIndex(): Promise<void> {
    const { index } = this.#target;
    const answer = await this.#ask(`/_data_stream/${encodeURIComponent(index)}`);
    if (answer.status === 200) {
      const [stream] = decodeArray(decodeObject(parseJson(answer.body))?.['data_streams']);
      this.#add(
        'index',
        'ok',
        `The data stream ${index} exists (template ${answer.quote(String(stream?.['template']))})`,
      );
      await this.#checkRollover(stream?.['ilm_policy']);
    } else if (answer.status === 404) {
      await this.#checkTemplates();
    } else {
      this.#add('index', 'warning', `Could not check whether ${index} is a data stream: status ${answer.status}`);
    }
  }

  async checkPipeline(): Promise<void> {
    const { pipeline } = this.#target;
    if (pipeline === undefined) return;
    const { status } = await this.#ask(`/_ingest/pipeline/${encodeURIComponent(pipeline)}`);
    if (status === 200) this.#add('pipeline', 'ok', `The pipeline ${pipeline} exists`);
    else if (status !== 404) {
      this.#add('pipeline', 'warning', `Could not check whether the pipeline ${pipeline} exists: status ${status}`);
    } else this.#add('pipeline', 'failed', `The pipeline ${pipeline} does not exist`, 'Check pipeline of this sink');
  }

  async #checkTemplates(): Promise<void> {
    const { index } = this.#target;
    const fields = ['name', ...['index_patterns', 'priority', 'data_stream'].map((field) => `index_template.${field}`)];
    const path = `/_index_template?filter_path=${fields.map((field) => `index_templates.${field}`).join(',')}`;
    const answer = await this.#ask(path);
    if (answer.status !== 200) {
      this.#add('index', 'warning', `Could not read the index templates: status ${answer.status}`);
      return;
    }
    const best = decodeArray(decodeObject(parseJson(answer.body))?.['index_templates'])
      .map((entry) => ({
        name: answer.quote(String(entry['name'])),
        template: decodeObject(entry['index_template']),
      }))
      .filter(({ template }) => matches(template?.['index_patterns'], index))
      .toSorted((one, other) => readPriority(other.template) - readPriority(one.template))[0];
    if (best && decodeObject(best.template?.['data_stream'])) {
      this.#add('index', 'ok', `The first record creates the data stream ${index} (template ${best.name})`);
      return;
    }
    this.#add(
      'index',
      'warning',
      `No index template makes ${index} a data stream: the first record creates an index with guessed types`,
      `\`router-exporter schema --index-template ${this.#target.name}\` prints a template for it`,
    );
  }

  /** Checks the age of rollovers: ids are unique within one backing index only (elasticsearch#44794). */
  async #checkRollover(policy: unknown): Promise<void> {
    if (typeof policy !== 'string') return;
    const answer = await this.#ask(`/_ilm/policy/${encodeURIComponent(policy)}`);
    if (answer.status !== 200) return;
    const age = findPath(parseJson(answer.body), [policy, 'policy', 'phases', 'hot', 'actions', 'rollover', 'max_age']);
    const [, amount, unit = ''] = /^(\d{1,6})([dhms])$/.exec(typeof age === 'string' ? age : '') ?? [];
    if (amount === undefined) return;
    const isShort = Number(amount) * (DAYS_PER_UNIT[unit] ?? 0) < ROLLOVER_DAYS_MIN;
    this.#add(
      'rollover',
      isShort ? 'warning' : 'ok',
      `The index rolls over after ${amount}${unit} (policy ${answer.quote(policy)}): a record sent again later is stored twice`,
      isShort ? `Set the rollover age of the policy to ${ROLLOVER_DAYS_MIN} days or more` : undefined,
    );
  }

  /** Sends a request. Any status is accepted, because receivers may offer the bulk API only. */
  #ask(path: string): Promise<HttpAnswer> {
    return this.#client.get(path, this.#signal, ANSWER_BYTES_MAX);
  }

  #add(step: string, verdict: PreflightFinding['verdict'], message: string, hint?: string): void {
    this.findings.push({ step, verdict, message, hint });
  }
}

async function sendTestRecord(
  deliver: Deliver,
  { clock }: ElasticsearchTarget,
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
    const found = toFindings(error, step).at(-1);
    return { step, verdict: 'failed', message: found?.message ?? '', hint: found?.hint };
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

/** True when one of the patterns matches `index`; `*` matches any text. */
function matches(patterns: unknown, index: string): boolean {
  return Array.isArray(patterns) && patterns.some((pattern) => typeof pattern === 'string' && isLike(index, pattern));
}

/** Matches in linear time, whatever the pattern. */
function isLike(text: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let place = first.length;
  for (const part of rest) {
    const found = text.slice(0, text.length - last.length).indexOf(part, place);
    if (found < 0) return false;
    place = found + part.length;
  }
  return true;
}
