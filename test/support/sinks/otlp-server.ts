import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';

/** One log record as a collector sees it. Numbers of 64 bits are texts; a field that was not sent is absent. */
interface ReceivedOtlpRecord {
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: Readonly<Record<string, unknown>>;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** What the server does instead of taking a request. */
type OtlpMisbehaviour =
  /** Takes all but so many; with 0 the message is a warning. */
  | { readonly kind: 'partial'; readonly rejected: number; readonly message?: string; readonly encoding?: 'json' }
  /** Answers a failure with a `google.rpc.Status`. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly message?: string;
      readonly encoding?: 'json' | 'text';
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Takes everything and answers something else. */
  | { readonly kind: 'answer'; readonly status?: number; readonly type?: string; readonly body: string | Uint8Array }
  | { readonly kind: 'hang' }
  /** Takes everything and ends the connection in the middle of its answer. */
  | { readonly kind: 'cut' };

export interface OtlpServer extends AsyncDisposable {
  /** Base, without a path. */
  readonly url: string;
  /** Raw bodies, decompressed, of every request. */
  readonly bodies: readonly Uint8Array[];
  readonly requests: number;
  records(): readonly ReceivedOtlpRecord[];
  /** What a client did that OTLP does not allow. */
  readonly violations: readonly string[];
  misbehave(misbehaviour: OtlpMisbehaviour, times?: number): void;
  close(): Promise<void>;
}

const PROTO = fileURLToPath(new URL('../opentelemetry-proto/logs.proto', import.meta.url));
const PROTOBUF_TYPE = 'application/x-protobuf';

/**
 * A collector that takes logs over OTLP/HTTP as protobuf and looks at every field. `path` is where it takes them. With
 * `lokiVersion` it says beside it that it is Loki.
 */
export async function openOtlpServer({ path = '/v1/logs', bearer = '', lokiVersion = '' } = {}): Promise<OtlpServer> {
  const root = await protobuf.load(PROTO);
  const Request = root.lookupType('otlp.ExportLogsServiceRequest');
  const Response = root.lookupType('otlp.ExportLogsServiceResponse');
  const Status = root.lookupType('otlp.Status');
  const violations: string[] = [];
  const bodies: Uint8Array[] = [];
  const taken: ReceivedOtlpRecord[] = [];
  const queue: OtlpMisbehaviour[] = [];
  let requests = 0;

  const answer = (response: ServerResponse, status: number, type: string, body: string | Uint8Array, headers = {}) => {
    response.writeHead(status, { 'content-type': type, ...headers }).end(body);
  };

  const take = (body: Uint8Array): number => {
    const records = readRequest(Request, body, violations);
    taken.push(...records);
    return records.length;
  };

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'GET') {
      const isKnown = lokiVersion !== '' && request.url === '/loki/api/v1/status/buildinfo';
      if (!isKnown) return answer(response, 404, 'text/plain', '404 page not found');
      return answer(response, 200, 'application/json', JSON.stringify({ version: lokiVersion, revision: 'f1e2d3c' }));
    }
    requests++;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks);
    if (request.method !== 'POST') violations.push(`${request.method} instead of POST`);
    if (request.url !== path) return answer(response, 404, 'text/plain', '404 page not found');
    if (bearer !== '' && request.headers.authorization !== `Bearer ${bearer}`) {
      return answer(response, 401, 'text/plain', 'no such token');
    }
    if (request.headers['content-type'] !== PROTOBUF_TYPE) {
      violations.push(`content type ${request.headers['content-type']}`);
      return answer(response, 415, 'text/plain', 'unsupported media type');
    }
    const encoding = request.headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'gzip') violations.push(`content encoding ${encoding}`);
    const body = encoding === 'gzip' ? gunzipSync(raw) : raw;
    bodies.push(body);
    const misbehaviour = queue.shift();
    switch (misbehaviour?.kind) {
      case undefined:
        take(body);
        return answer(response, 200, PROTOBUF_TYPE, Response.encode({}).finish());
      case 'partial': {
        const { rejected, message, encoding: answerEncoding } = misbehaviour;
        taken.splice(taken.length - Math.min(rejected, take(body)));
        if (answerEncoding === 'json') {
          const partialSuccess = { rejectedLogRecords: String(rejected), errorMessage: message };
          return answer(response, 200, 'application/json', JSON.stringify({ partialSuccess }));
        }
        const partial = { rejectedLogRecords: rejected, errorMessage: message };
        return answer(response, 200, PROTOBUF_TYPE, Response.encode({ partialSuccess: partial }).finish());
      }
      case 'status': {
        const { status, message = '', encoding: answerEncoding, headers } = misbehaviour;
        const code = status === 400 ? 3 : 14;
        if (answerEncoding === 'text') return answer(response, status, 'text/plain', message, headers);
        if (answerEncoding === 'json') {
          return answer(response, status, 'application/json', JSON.stringify({ code, message }), headers);
        }
        return answer(response, status, PROTOBUF_TYPE, Status.encode({ code, message }).finish(), headers);
      }
      case 'answer':
        take(body);
        return answer(response, misbehaviour.status ?? 200, misbehaviour.type ?? PROTOBUF_TYPE, misbehaviour.body);
      case 'hang':
        return;
      case 'cut':
        take(body);
        response.writeHead(200, { 'content-type': PROTOBUF_TYPE, 'content-length': '100' }).write('half');
        response.socket?.destroySoon();
    }
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((cause: unknown) => {
      violations.push(String(cause));
      response.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const close = async () => {
    server.closeAllConnections();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    bodies,
    get requests() {
      return requests;
    },
    records: () => taken,
    violations,
    misbehave(misbehaviour, times = 1) {
      for (let count = 0; count < times; count++) queue.push(misbehaviour);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function readRequest(type: protobuf.Type, body: Uint8Array, violations: string[]): ReceivedOtlpRecord[] {
  const message = type.decode(body);
  // Whatever the messages do not know is gone after this round, and so is what the encoder wrote in another way.
  const again = type.encode(message).finish();
  if (again.length !== body.length)
    violations.push(`${body.length} bytes hold only ${again.length} bytes of known fields`);
  const request = type.toObject(message, { longs: String, defaults: false }) as DecodedRequest;
  const resources = new Set<string>();
  return (request.resourceLogs ?? []).flatMap(({ resource, scopeLogs = [] }) => {
    const attributes = readAttributes(resource?.attributes, violations);
    const key = JSON.stringify(attributes);
    if (resources.has(key)) violations.push(`two ResourceLogs for ${key}`);
    resources.add(key);
    return scopeLogs.flatMap(({ scope = {}, logRecords = [] }) => {
      if (logRecords.length === 0) violations.push('a ScopeLogs without records');
      return logRecords.map((record) => readRecord(record, attributes, scope, violations));
    });
  });
}

function readRecord(
  record: DecodedRecord,
  resource: Readonly<Record<string, unknown>>,
  scope: Readonly<Record<string, unknown>>,
  violations: string[],
): ReceivedOtlpRecord {
  const { attributes, body, ...fields } = record;
  const severity = fields['severityNumber'] ?? 0;
  if (typeof severity !== 'number' || severity < 0 || severity > 24)
    violations.push(`severity ${JSON.stringify(severity)}`);
  if (!('observedTimeUnixNano' in fields)) violations.push('no observed_time_unix_nano');
  return {
    resource,
    scope,
    fields: { ...fields, body: readValue(body, violations) },
    attributes: readAttributes(attributes, violations),
  };
}

function readAttributes(list: readonly DecodedKeyValue[] = [], violations: string[]): Record<string, unknown> {
  const attributes: Record<string, unknown> = {};
  for (const { key = '', value } of list) {
    if (key === '') violations.push('an attribute without a key');
    if (Object.hasOwn(attributes, key)) violations.push(`two attributes ${key}`);
    attributes[key] = readValue(value, violations);
  }
  return attributes;
}

function readValue(value: DecodedValue | undefined, violations: string[]): unknown {
  const [entry, ...rest] = Object.entries(value ?? {});
  if (!entry || rest.length > 0) violations.push(`a value with ${rest.length} kinds too many`);
  const [kind, content] = entry ?? [];
  if (kind !== 'arrayValue') return content;
  return ((content as { values?: DecodedValue[] }).values ?? []).map((item) => readValue(item, violations));
}

type DecodedValue = Readonly<Record<string, unknown>>;

interface DecodedKeyValue {
  readonly key?: string;
  readonly value?: DecodedValue;
}

interface DecodedRecord {
  readonly [field: string]: unknown;
  readonly body?: DecodedValue;
  readonly attributes?: readonly DecodedKeyValue[];
}

interface DecodedRequest {
  readonly resourceLogs?: readonly {
    readonly resource?: { readonly attributes?: readonly DecodedKeyValue[] };
    readonly scopeLogs?: readonly {
      readonly scope?: Readonly<Record<string, unknown>>;
      readonly logRecords?: readonly DecodedRecord[];
    }[];
  }[];
}
