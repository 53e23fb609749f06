import type { DeliveryReport, Refusal } from '../../contracts.ts';
import { DeliveryError } from '../../errors.ts';
import { type HttpAnswer, toAnswerError } from '../../http/answer.ts';
import { toWords } from '../../http/words.ts';
import {
  decodeExportResponse,
  decodeExportResponseJson,
  decodeStatusMessage,
  decodeStatusMessageJson,
  type PartialSuccess,
} from './decode-answer.ts';

const JSON_TYPE = 'application/json';
/** The one that OTLP names, and what servers say that name it otherwise or not at all. */
const PROTOBUF_TYPES: ReadonlySet<string> = new Set([
  'application/x-protobuf',
  'application/protobuf',
  'application/octet-stream',
  '',
]);

/**
 * What an answer of OTLP/HTTP means for the `records` that were sent; its body holds one character per byte. Throws
 * `DeliveryError` when none was taken.
 *
 * Records that a collector rejects in part are never sent again, because the others would come twice.
 */
export function judgeOtlpAnswer(answer: HttpAnswer, records: number, what: string): DeliveryReport {
  // OTLP knows no success but 200; Loki and some gateways say 204.
  if (answer.status >= 200 && answer.status < 300) return judgeSuccess(answer, records, what);
  // 500 and 501 come again like every 5xx, although OTLP wants clients to retry nothing but 429, 502, 503 and 504: that
  // rule is for clients whose other choice is to drop a batch from memory. A collector that fails for a while would
  // otherwise turn everything that is spooled into dead letters.
  const message = decodeStatusWords(answer);
  throw toAnswerError(message === undefined ? { ...answer, body: toText(answer) } : { ...answer, body: message }, what);
}

function judgeSuccess(answer: HttpAnswer, records: number, what: string): DeliveryReport {
  const { rejected, message } = decodeSuccess(answer, what);
  const words = toWords(message);
  const bytes = answer.sentBytes;
  if (rejected <= 0) return words === '' ? { bytes } : { bytes, warning: `${what} says: ${words}` };
  const reason = words === '' ? 'rejected without a reason' : words;
  if (rejected < records) return { bytes, refusedUnnamed: { records: rejected, reason } };
  // Then it is known which ones.
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
    throw new DeliveryError(
      'protocol_error',
      `${what} answered with status ${answer.status} and a body that is broken`,
      {
        disposition: 'retry',
        answer: String(answer.status),
      },
    );
  }
  // A page for people: of a portal that wants a login, or of a server that has nothing to do with OTLP. It has no records.
  const words = toWords(toText(answer));
  throw new DeliveryError('misconfigured', `${what} answered with status ${answer.status}, but not as OTLP: ${words}`, {
    disposition: 'operator',
    hint: 'Check the url of this sink',
    answer: String(answer.status),
  });
}

/** A failure is told as `google.rpc.Status`, in the encoding of the request or in JSON. */
function decodeStatusWords(answer: HttpAnswer): string | undefined {
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
