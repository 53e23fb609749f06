import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { parseJson } from '../../base/index.ts';
import { baseUrl } from '../../net/index.ts';
import {
  DeliveryError,
  type DeliveryReport,
  type Destination,
  type PreflightFinding,
  type Refusal,
} from '../contracts.ts';
import { SinkHttpClient } from '../http/client.ts';
import { type HttpAnswer, toAnswerError } from '../http/messages.ts';
import { encodeLogsRequest } from '../otel.ts';
import { tryTestRecord } from '../preflight.ts';
import { batch, checkHttpSink, compress, defineSink, format, httpSinkShape, sinkSchema } from './define-sink.ts';
import { askLokiVersion } from './loki/preflight.ts';

const schema = sinkSchema('otlp', 'An OpenTelemetry collector or another receiver of OTLP over HTTP.', {
  url: baseUrl({ description: 'URL of the collector. Default path: `/v1/logs`.' }, 'https://otel.example.net:4318'),
  ...httpSinkShape,
  compress: compress('gzip', 'bodies'),
  format: format(['otel']),
  batch: batch({ recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 1000 }),
});

const LOGS_PATH = '/v1/logs';
/** Maximum size of a response, as OTLP recommends. Bytes. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Sends records as protobuf over OTLP/HTTP, each batch as one `ExportLogsServiceRequest` with one resource per router.
 *
 * OTLP cannot mark a record as sent before; receivers that must deduplicate compare `log.record.uid`.
 */
export const otlp = defineSink({
  schema,
  check: (place, keys) => checkHttpSink(place, keys, keys.url),
  open(settings, around) {
    const { name, url } = settings;
    const client = new SinkHttpClient(settings, around);
    const path = new URL(url).pathname === '/' ? LOGS_PATH : undefined;
    const deliver: Destination['deliver'] = async (records, signal) => {
      const logRecords = records.map(({ fields }) => fields);
      const body = encodeLogsRequest(logRecords, around.version);
      const answer = await client.post(
        { path, contentType: 'application/x-protobuf', body, answerBytesMax: ANSWER_BYTES_MAX },
        signal,
      );
      return judgeAnswer(answer, records.length, `Sink ${name}`);
    };
    return {
      connection: client.connection,
      deliver,
      async preflight(_fleet, signal) {
        const findings = await tryTestRecord(deliver, { clock: around.clock, place: client.place }, signal);
        if (findings.some(({ step, verdict }) => step === 'connect' && verdict === 'failed')) return findings;
        return [...findings, ...(await findLoki(client, url, signal))];
      },
      close: () => client.close(),
    };
  },
});

const LOKI_OTLP_PATH = /\/otlp(\/v1\/logs)?\/*$/;

/**
 * Checks whether the receiver at `url` is Loki. Over OTLP, all logs of a router share streams there, and Loki rejects lines
 * more than an hour older than the newest of their stream: most lines read after an outage or from archives.
 */
async function findLoki(
  client: SinkHttpClient,
  url: string,
  signal: AbortSignal,
): Promise<readonly PreflightFinding[]> {
  const base = new URL(url);
  base.pathname = base.pathname.replace(LOKI_OTLP_PATH, '/').replace(/\/v1\/logs\/*$/, '/');
  const version = await askLokiVersion(client, base.pathname, signal);
  if (version === undefined) return [];
  return [
    {
      step: 'receiver',
      verdict: 'warning',
      message: `The receiver is Loki ${version}: over OTLP, logs share streams, and Loki refuses lines an hour older than the newest of their stream`,
      hint: `Use type loki with the url ${base.href.replace(/\/+$/, '')}`,
    },
  ];
}

const JSON_TYPE = 'application/json';
/** The type that OTLP specifies, and those of servers that deviate. */
const PROTOBUF_TYPES: ReadonlySet<string> = new Set([
  'application/x-protobuf',
  'application/protobuf',
  'application/octet-stream',
  '',
]);

/**
 * Evaluates an OTLP/HTTP response to `records` records. Throws `DeliveryError` when none was accepted.
 *
 * A partly rejected batch is never sent again, because the accepted records would be duplicated.
 */
function judgeAnswer(answer: HttpAnswer, records: number, what: string): DeliveryReport {
  // OTLP defines 200 only; Loki and some gateways answer 204.
  if (answer.status >= 200 && answer.status < 300) return judgeSuccess(answer, records, what);
  // 500 and 501 are retried like every 5xx, although OTLP lets clients retry only 429, 502, 503 and 504. That rule suits
  // clients that would otherwise drop a batch from memory; here, a collector that fails for a while would turn the whole
  // spool into dead letters. The body is a `google.rpc.Status`.
  const message = toText(decodeBody(answer)?.(2, 'message'));
  throw toAnswerError(message === undefined ? answer : { ...answer, body: message }, what);
}

function judgeSuccess(answer: HttpAnswer, records: number, what: string): DeliveryReport {
  const { rejected, message } = decodeSuccess(answer, what);
  const words = answer.quote(message);
  const bytes = answer.sentBytes;
  if (rejected <= 0) return words === '' ? { bytes } : { bytes, warning: `${what} warns: ${words}` };
  const reason = words === '' ? 'rejected without a reason' : words;
  if (rejected < records) return { bytes, refusedUnnamed: { records: rejected, reason } };
  // All records were rejected, so they are identified.
  const refusal: Refusal = { reason, code: 'partial_success' };
  return { bytes, refused: Array.from({ length: records }, (_, index) => ({ index, ...refusal })) };
}

function decodeSuccess(answer: HttpAnswer, what: string): PartialSuccess {
  const type = readMediaType(answer);
  if (answer.body === '') return { rejected: 0, message: '' };
  if (type === JSON_TYPE || PROTOBUF_TYPES.has(type)) {
    const success = decodePartialSuccess(decodeBody(answer));
    if (success) return success;
    throw new DeliveryError('protocol_error', `${what} answered with status ${answer.status} and an invalid body`, {
      disposition: 'retry',
      answer: String(answer.status),
    });
  }
  // A web page, such as a login portal or a server without OTLP: it stored no records.
  const words = answer.quote(answer.body);
  throw new DeliveryError('misconfigured', `${what} answered with status ${answer.status}, but not as OTLP: ${words}`, {
    disposition: 'operator',
    hint: 'Check the url of this sink',
    answer: String(answer.status),
  });
}

function readMediaType(answer: HttpAnswer): string {
  return (answer.header('content-type') ?? '').replace(/;.*$/s, '').trim().toLowerCase();
}

/** The partial result of a collector: `ExportLogsPartialSuccess`. */
interface PartialSuccess {
  readonly rejected: number;
  /** Reason, or a warning when none was rejected. Untrusted; may be empty. */
  readonly message: string;
}

/** Reads a field of a message: by its number in protobuf, by one of its names in JSON. */
type ReadField = (number: number, ...names: readonly string[]) => unknown;

/** Decodes an `ExportLogsServiceResponse`; `undefined` when it is invalid. */
function decodePartialSuccess(read: ReadField | undefined): PartialSuccess | undefined {
  const value = read?.(1, 'partialSuccess', 'partial_success');
  const partial = value instanceof Uint8Array ? decodeProtobuf(value) : decodeJson(value ?? {});
  if (!read || !partial) return undefined;
  const count = partial(1, 'rejectedLogRecords', 'rejected_log_records');
  // 64-bit numbers are strings in protobuf's JSON.
  const rejected = typeof count === 'string' ? Number(count) : count;
  const message = toText(partial(2, 'errorMessage', 'error_message')) ?? '';
  return { rejected: Number.isInteger(rejected) ? Number(rejected) : 0, message };
}

/** Decodes a body in the encoding of the request, or in JSON, which some servers send instead; `undefined` when it is neither. */
function decodeBody(answer: HttpAnswer): ReadField | undefined {
  const type = readMediaType(answer);
  if (type !== JSON_TYPE) return PROTOBUF_TYPES.has(type) ? decodeProtobuf(answer.bytes) : undefined;
  const value = parseJson(answer.body);
  return typeof value === 'object' && value !== null ? decodeJson(value) : undefined;
}

function decodeJson(value: unknown): ReadField {
  const fields = Object(value);
  return (_, ...names) => {
    const name = names.find((one) => Object.hasOwn(fields, one));
    return name === undefined ? undefined : Reflect.get(fields, name);
  };
}

/** Decodes the numbers and bytes of a message; `undefined` when it is invalid. */
function decodeProtobuf(bytes: Uint8Array): ReadField | undefined {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, unknown>();
  try {
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      if (type === WireType.Varint) fields.set(field, Number(reader.int64()));
      else if (type === WireType.LengthDelimited) fields.set(field, reader.bytes());
      else reader.skip(type, field);
    }
    return (number) => fields.get(number);
  } catch {
    // The reader throws for invalid protobuf; its error text is of no use.
    return undefined;
  }
}

function toText(value: unknown): string | undefined {
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  return typeof value === 'string' ? value : undefined;
}
