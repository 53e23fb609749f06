import { type JsonLine, readJsonLines } from './json-lines-reader.ts';
import {
  type ArrivedRequest,
  type MisbehavingServer,
  type MisbehavingServerOptions,
  openMisbehavingServer,
  type Reply,
} from './misbehaving-server.ts';

type Json = Readonly<Record<string, unknown>>;

/** What the server says of one document instead of taking it. */
interface ItemFault {
  readonly status: number;
  readonly type: string;
  readonly reason: string;
  /** How often; default for ever. */
  readonly times?: number;
}

export interface ElasticsearchServerOptions extends MisbehavingServerOptions {
  /** What `GET /` answers. Default: Elasticsearch 9.1.3. */
  readonly greeting?: Reply;
  /** What other questions are answered with, by their path without the query. Everything else is 404. */
  readonly answers?: Readonly<Record<string, Reply>>;
  /** Index that every action has to name. Default: the sink's default. */
  readonly index?: string;
  /** Ingest pipelines that exist. */
  readonly pipelines?: readonly string[];
  /** What every question is answered with that is not answered otherwise. Default: 404. */
  readonly unknown?: Reply;
  /** Below which the cluster is. */
  readonly prefix?: string;
}

export interface ElasticsearchServer extends MisbehavingServer {
  /** Documents that were taken, in order, with their ids; those in earlier backing indices included. */
  documents(): readonly { readonly id: string; readonly source: Json }[];
  /** Sources of the documents. */
  records(): readonly Json[];
  /** Ids that were created a second time. */
  readonly conflicts: readonly string[];
  /** Says `fault` of the document of this id. */
  refuse(id: string, fault: ItemFault): void;
  /** Puts the document of this id into the failure store. */
  setAside(id: string): void;
  /** Begins a new backing index, in which all ids are new. */
  rollOver(): void;
  /** Changes the next bulk answer before it is sent. */
  distort(change: (answer: { items: unknown[] } & Record<string, unknown>) => unknown): void;
}

const GREETING: Reply = {
  status: 200,
  body: JSON.stringify({ cluster_name: 'test', version: { number: '9.1.3', build_flavor: 'default' } }),
};
/** What `strict_date_optional_time_nanos` takes of RFC 3339. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;
const ID_BYTES_MAX = 512;

/** The part of Elasticsearch that a data stream needs, strict about the bulk interface. */
export async function openElasticsearchServer(options: ElasticsearchServerOptions = {}): Promise<ElasticsearchServer> {
  const { greeting = GREETING, answers = {}, index = 'logs-router-default', pipelines = [], prefix = '' } = options;
  const { unknown = { status: 404, body: `{"error":{"type":"resource_not_found_exception"},"status":404}` } } = options;
  const documents: { id: string; source: Json }[] = [];
  const conflicts: string[] = [];
  const faults = new Map<string, { fault: ItemFault; times: number }>();
  const aside = new Set<string>();
  const distortions: ((answer: { items: unknown[] } & Record<string, unknown>) => unknown)[] = [];
  let ids = new Set<string>();

  const createItem = (id: string, source: Json, pipeline: string | null): Json => {
    const base = { _index: `.ds-${index}-000001`, _id: id, _version: 1 };
    const refuse = ({ status, type, reason }: ItemFault) => ({
      ...base,
      status,
      error: { type, reason, caused_by: { type: 'illegal_state_exception', reason: 'because of this' } },
    });
    if (pipeline !== null && !pipelines.includes(pipeline)) {
      const reason = `pipeline with id [${pipeline}] does not exist`;
      return refuse({ status: 400, type: 'illegal_argument_exception', reason });
    }
    const planned = faults.get(id);
    if (planned && planned.times > 0) {
      planned.times--;
      return refuse(planned.fault);
    }
    if (ids.has(id)) {
      conflicts.push(id);
      const reason = `[${id}]: version conflict, document already exists (current version [1])`;
      return refuse({ status: 409, type: 'version_conflict_engine_exception', reason });
    }
    const timestamp = source['@timestamp'];
    if (typeof timestamp !== 'string' || !INSTANT.test(timestamp)) {
      return refuse({
        status: 400,
        type: 'document_parsing_exception',
        reason: `[1:15] failed to parse field [@timestamp] in document with id '${id}'`,
      });
    }
    const isAside = aside.has(id);
    ids.add(id);
    documents.push({ id, source });
    return {
      ...base,
      ...(isAside && { _index: `.fs-${index}-000002`, _id: 'made-up', failure_store: 'used' }),
      result: 'created',
      status: 201,
    };
  };

  const bulk = ({ headers, body }: ArrivedRequest, query: URLSearchParams, violations: string[]): Reply => {
    const type = headers['content-type'];
    if (type !== 'application/x-ndjson' && type !== 'application/json') {
      violations.push(`content type ${type}`);
      return { status: 406, body: '{"error":"Content-Type header is not supported","status":406}' };
    }
    let actions: readonly { readonly id: string; readonly source: Json }[];
    try {
      actions = readActions(readJsonLines(body), index);
    } catch (cause) {
      violations.push(String(cause));
      return { status: 400, body: `{"error":{"type":"illegal_argument_exception","reason":"malformed"}}` };
    }
    const items = actions.map(({ id, source }) => ({ create: createItem(id, source, query.get('pipeline')) }));
    const answer = { took: 3, errors: items.some(({ create }) => Number(create['status']) >= 300), items };
    const filtered = filterPaths(answer, query.get('filter_path')) as { items: unknown[] };
    const distorted = distortions.shift()?.(filtered) ?? filtered;
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: typeof distorted === 'string' ? distorted : JSON.stringify(distorted),
    };
  };

  const work = (request: ArrivedRequest, violations: string[]): Reply => {
    const { pathname, searchParams } = new URL(request.path, 'http://server');
    if (!pathname.startsWith(prefix)) violations.push(`outside of ${prefix}: ${pathname}`);
    const path = decodeURIComponent(pathname.slice(prefix.length));
    if (request.method === 'POST' && path === '/_bulk') return bulk(request, searchParams, violations);
    if (request.method !== 'GET') {
      violations.push(`${request.method} ${path}`);
      return { status: 405, body: '{"error":"Incorrect HTTP method"}' };
    }
    if (path === '/') return greeting;
    return answers[path] ?? unknown;
  };

  const server = await openMisbehavingServer(work, options);
  return {
    ...server,
    url: `${server.url}${prefix}`,
    documents: () => documents,
    records: () => documents.map(({ source }) => source),
    conflicts,
    refuse: (id, fault) => void faults.set(id, { fault, times: fault.times ?? Number.POSITIVE_INFINITY }),
    setAside: (id) => void aside.add(id),
    rollOver: () => {
      ids = new Set();
    },
    distort: (change) => void distortions.push(change),
  };
}

/** Lines of action and document by turns. Only `create` is allowed, with the index and an id of its own and nothing else. */
function readActions(
  lines: readonly JsonLine[],
  wanted: string,
): readonly { readonly id: string; readonly source: Json }[] {
  if (lines.length % 2 !== 0) throw new SyntaxError('an action without its document');
  return lines
    .map((line, index) => [line, lines[index + 1]] as const)
    .filter((_, index) => index % 2 === 0)
    .map(([action, document]) => {
      const [[name, target] = [], ...others] = Object.entries(action.object);
      if (name !== 'create' || others.length > 0) throw new SyntaxError(`no single action create: ${action.text}`);
      const { _id: id, _index: named, ...more } = target as Json;
      if (Object.keys(more).length > 0 || typeof id !== 'string' || id === '') {
        throw new SyntaxError(`an action without an id, or with more: ${action.text}`);
      }
      if (named !== wanted) throw new SyntaxError(`an action for another index: ${action.text}`);
      if (Buffer.byteLength(id) > ID_BYTES_MAX) throw new SyntaxError(`an id that is too long: ${id}`);
      return { id, source: document?.object ?? {} };
    });
}

/** What `filter_path` leaves of an answer: paths with `*` for one step, by commas. */
function filterPaths(value: unknown, filter: string | null): unknown {
  if (filter === null) return value;
  return pick(
    value,
    filter.split(',').map((path) => path.split('.')),
  );
}

function pick(value: unknown, paths: readonly (readonly string[])[]): unknown {
  if (paths.some((path) => path.length === 0)) return value;
  // Elements of a list are no steps.
  if (Array.isArray(value)) return value.map((entry) => pick(entry, paths)).filter((entry) => entry !== undefined);
  if (typeof value !== 'object' || value === null) return undefined;
  const entries = Object.entries(value).flatMap(([key, inner]) => {
    const rest = paths.filter(([step]) => step === key || step === '*').map((path) => path.slice(1));
    const kept = rest.length > 0 ? pick(inner, rest) : undefined;
    return kept === undefined ? [] : [[key, kept] as const];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}
