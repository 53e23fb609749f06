import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { parseJson } from '../../../base/index.ts';
import type { DeliveryReport, Refusal } from '../../contracts.ts';
import { DeliveryError } from '../../errors.ts';
import { type HttpAnswer, toAnswerError } from '../../http/answer.ts';

const JSON_TYPE = 'application/json';
/** The type that OTLP specifies, and those of servers that deviate. */
const PROTOBUF_TYPES: ReadonlySet<string> = new Set([
  'application/x-protobuf',
  'application/protobuf',
  'application/octet-stream',
  '',
]);

/**
 * Evaluates an OTLP/HTTP response to `records` records; its body has one character per byte. Throws `DeliveryError` when
 * none was accepted.
 *
 * A partly rejected batch is never sent again, because the accepted records would be duplicated.
 */
export function judgeOtlpAnswer(answer: HttpAnswer, records: number, what: string): DeliveryReport {
  // OTLP defines 200 only; Loki and some gateways answer 204.
  if (answer.status >= 200 && answer.status < 300) return judgeSuccess(answer, records, what);
  // 500 and 501 are retried like every 5xx, although OTLP lets clients retry only 429, 502, 503 and 504. That rule suits
  // clients that would otherwise drop a batch from memory; here, a collector that fails for a while would turn the whole
  // spool into dead letters.
  const message = decodeErrorText(answer);
  throw toAnswerError(message === undefined ? { ...answer, body: toText(answer) } : { ...answer, body: message }, what);
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
    const success =
      type === JSON_TYPE ? decodeExportResponseJson(toText(answer)) : decodeExportResponse(toBytes(answer));
    if (success) return success;
    throw new DeliveryError('protocol_error', `${what} answered with status ${answer.status} and an invalid body`, {
      disposition: 'retry',
      answer: String(answer.status),
    });
  }
  // A web page, such as a login portal or a server without OTLP: it stored no records.
  const words = answer.quote(toText(answer));
  throw new DeliveryError('misconfigured', `${what} answered with status ${answer.status}, but not as OTLP: ${words}`, {
    disposition: 'operator',
    hint: 'Check the url of this sink',
    answer: String(answer.status),
  });
}

/** Decodes the error text of a failure: a `google.rpc.Status` in the encoding of the request or in JSON. */
function decodeErrorText(answer: HttpAnswer): string | undefined {
  const type = readMediaType(answer);
  if (type === JSON_TYPE) return decodeStatusMessageJson(toText(answer));
  return PROTOBUF_TYPES.has(type) ? decodeStatusMessage(toBytes(answer)) : undefined;
}

function readMediaType(answer: HttpAnswer): string {
  return (answer.header('content-type') ?? '').replace(/;.*$/s, '').trim().toLowerCase();
}

function toBytes({ body }: HttpAnswer): Uint8Array {
  return Buffer.from(body, 'latin1');
}

function toText(answer: HttpAnswer): string {
  return Buffer.from(answer.body, 'latin1').toString('utf8');
}

/** The partial result of a collector: `ExportLogsPartialSuccess`. */
interface PartialSuccess {
  /** Number of permanently rejected records. */
  readonly rejected: number;
  /** Reason, or a warning when none was rejected. Untrusted; may be empty. */
  readonly message: string;
}

const RESPONSE = { partialSuccess: 1 } as const;
const PARTIAL_SUCCESS = { rejectedLogRecords: 1, errorMessage: 2 } as const;
/** `google.rpc.Status`, the body of failures. */
const STATUS = { message: 2 } as const;

/** Decodes an `ExportLogsServiceResponse`; `undefined` when the bytes are invalid. The caller bounds their number. */
function decodeExportResponse(bytes: Uint8Array): PartialSuccess | undefined {
  const response = decodeFields(bytes);
  const partial = response?.get(RESPONSE.partialSuccess);
  const fields = partial instanceof Uint8Array ? decodeFields(partial) : new Map<number, number | Uint8Array>();
  if (!response || !fields) return undefined;
  const rejected = fields.get(PARTIAL_SUCCESS.rejectedLogRecords);
  const message = toMessage(fields.get(PARTIAL_SUCCESS.errorMessage)) ?? '';
  return { rejected: typeof rejected === 'number' ? rejected : 0, message };
}

/** Decodes the message of a `google.rpc.Status`; `undefined` when the bytes are invalid or contain none. */
function decodeStatusMessage(bytes: Uint8Array): string | undefined {
  return toMessage(decodeFields(bytes)?.get(STATUS.message));
}

/** Decodes an `ExportLogsServiceResponse` in JSON, which some servers send for a protobuf request. */
function decodeExportResponseJson(text: string): PartialSuccess | undefined {
  const answer = parseJson(text);
  if (typeof answer !== 'object' || answer === null) return undefined;
  const partial = readMember(answer, 'partialSuccess', 'partial_success');
  if (partial === undefined) return { rejected: 0, message: '' };
  // 64-bit numbers are strings in protobuf's JSON.
  const rejected = Number(readMember(partial, 'rejectedLogRecords', 'rejected_log_records') ?? 0);
  const message = readMember(partial, 'errorMessage', 'error_message');
  return { rejected: Number.isInteger(rejected) ? rejected : 0, message: typeof message === 'string' ? message : '' };
}

/** Decodes the message of a `google.rpc.Status` in JSON. */
function decodeStatusMessageJson(text: string): string | undefined {
  const message = readMember(parseJson(text), 'message');
  return typeof message === 'string' ? message : undefined;
}

/** Decodes the numbers and bytes of a message by field; `undefined` when it is invalid. */
function decodeFields(bytes: Uint8Array): Map<number, number | Uint8Array> | undefined {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, number | Uint8Array>();
  try {
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      if (type === WireType.Varint) fields.set(field, Number(reader.int64()));
      else if (type === WireType.LengthDelimited) fields.set(field, reader.bytes());
      else reader.skip(type, field);
    }
    return fields;
  } catch {
    // The reader throws for invalid protobuf; its error text is of no use.
    return undefined;
  }
}

function toMessage(value: number | Uint8Array | undefined): string | undefined {
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : undefined;
}

function readMember(value: unknown, ...names: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const name of names) if (Object.hasOwn(value, name)) return Reflect.get(value, name);
  return undefined;
}
