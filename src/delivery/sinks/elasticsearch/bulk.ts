import type { DeliveryReport } from '../../contracts.ts';
import { DeliveryError } from '../../errors.ts';
import { renderEcs } from '../../formats/ecs.ts';
import type { RecordFormat } from '../../formats/format.ts';
import { renderOtelDocument } from '../../formats/otel.ts';
import { toWords } from '../../http/words.ts';
import type { OutgoingRecord } from '../../outgoing-record.ts';

/** What became of one record, in the words of the bulk interface. */
interface ItemVerdict {
  readonly status: number;
  /** Type of the error, such as `document_parsing_exception`; empty when there is none. */
  readonly type: string;
  /** Type and reason of the error and of what caused it. */
  readonly reason: string;
  /** The record went to the failure store of the data stream instead of to its indices. */
  readonly isSetAside: boolean;
}

const RENDERERS: Readonly<Record<RecordFormat, (record: OutgoingRecord) => string>> = {
  native: renderNativeDocument,
  ecs: renderEcs,
  otel: renderOtelDocument,
};

/**
 * The body of a bulk request: for every record an action and a document. The action is `create`, the only one that a data
 * stream takes, and the uid is the id, so that a record that comes again is found to be there. The action names the index,
 * as those of the usual shippers do: receivers that speak the interface under a prefix know no path with an index in it.
 */
export function renderBulk(records: readonly OutgoingRecord[], format: RecordFormat, index: string): string {
  const render = RENDERERS[format];
  const action = `{"create":{"_index":${JSON.stringify(index)},"_id":`;
  return records.map((record) => `${action}${JSON.stringify(record.fields.uid)}}}\n${render(record)}\n`).join('');
}

/** A record as it was stored, with the field that every data stream asks for. */
function renderNativeDocument({ line, fields }: OutgoingRecord): string {
  return `{"@timestamp":"${fields.timestamp ?? fields.observed_timestamp}",${line.slice(1)}`;
}

/**
 * What a bulk answer says about each of `records`. Throws `protocol_error` when it does not say that, and the error of the
 * whole sink when an item shows that it is not the records that stand in the way.
 */
export function readBulkReport(sink: string, records: readonly OutgoingRecord[], body: string): DeliveryReport {
  const verdicts = decodeVerdicts(sink, records, body);
  const refused: { index: number; reason: string; code: string }[] = [];
  const retry: number[] = [];
  let retryReason = '';
  let duplicates = 0;
  let setAside = 0;
  for (const [index, verdict] of verdicts.entries()) {
    const { status, type, reason } = verdict;
    if (isTaken(verdict)) {
      if (status === 409) duplicates++;
      if (verdict.isSetAside) setAside++;
    } else if (isForLater(verdict)) {
      retry.push(index);
      retryReason ||= `Status ${status}: ${reason}`;
    } else {
      const fault = findFaultOfAll(sink, status, type, reason);
      if (fault) throw fault;
      refused.push({ index, reason, code: String(status) });
    }
  }
  return {
    duplicates,
    ...(refused.length > 0 && { refused }),
    ...(retry.length > 0 && { retry: { indexes: retry, reason: retryReason } }),
    ...(setAside > 0 && { warning: `${setAside} records went to the failure store of the data stream` }),
  };
}

function isTaken({ status, type }: ItemVerdict): boolean {
  // "Conflict" means for `create` that the id is there already.
  return (status >= 200 && status < 300) || (status === 409 && /^(version_conflict_engine_exception)?$/.test(type));
}

function isForLater({ status, type }: ItemVerdict): boolean {
  return (
    status >= 500 ||
    status === 408 ||
    status === 409 ||
    status === 429 ||
    type === 'es_rejected_execution_exception' ||
    type === 'rejected_execution_exception'
  );
}

/** What is wrong when a single record is refused for something that holds for every record. */
function findFaultOfAll(sink: string, status: number, type: string, reason: string): DeliveryError | undefined {
  const message = `Sink ${sink} refused a record with status ${status}: ${reason}`;
  if (status === 401 || status === 403) {
    return new DeliveryError('unauthorized', message, {
      disposition: 'operator',
      hint: 'Check what the credentials of this sink are allowed to do, and whether its index is blocked',
      answer: String(status),
    });
  }
  // From the first letter on: further behind, a reason may repeat what stands in the record.
  const isPipelineMissing = /^illegal_argument_exception: pipeline with id \[.*\] does not exist/.test(reason);
  if (status === 404 || isPipelineMissing || type === 'index_closed_exception') {
    return new DeliveryError('misconfigured', message, {
      disposition: 'operator',
      hint: isPipelineMissing ? 'Check pipeline of this sink' : 'Check index of this sink',
      answer: String(status),
    });
  }
  return undefined;
}

function decodeVerdicts(sink: string, records: readonly OutgoingRecord[], body: string): readonly ItemVerdict[] {
  const items = decodeObject(parseJson(body))?.['items'];
  if (!Array.isArray(items)) throw toUnintelligible(sink, 'the answer to a bulk request has no items');
  if (items.length !== records.length) {
    throw toUnintelligible(sink, `${records.length} records were answered with ${items.length} items`);
  }
  return records.map((record, index) => {
    const item = decodeObject(decodeObject(items[index])?.['create']);
    const status = item?.['status'];
    if (!item || typeof status !== 'number' || !Number.isInteger(status) || status < 200) {
      throw toUnintelligible(sink, `item ${index} has no status of an action "create"`);
    }
    const isSetAside = item['failure_store'] === 'used';
    const id = item['_id'];
    // The failure store gives ids of its own. Imitations of the interface may give none at all.
    if (id !== undefined && id !== record.fields.uid && !isSetAside) {
      throw toUnintelligible(sink, `item ${index} is about another record`);
    }
    return { status, isSetAside, ...decodeError(item['error']) };
  });
}

function decodeError(value: unknown): { readonly type: string; readonly reason: string } {
  if (typeof value === 'string') return { type: '', reason: toWords(value) };
  const error = decodeObject(value);
  const cause = decodeObject(error?.['caused_by']);
  const parts = [error?.['type'], error?.['reason'], cause?.['reason']].filter((part) => typeof part === 'string');
  const type = error?.['type'];
  return { type: typeof type === 'string' ? type : '', reason: toWords(parts.join(': ')) };
}

function toUnintelligible(sink: string, what: string): DeliveryError {
  return new DeliveryError('protocol_error', `Sink ${sink} cannot be understood: ${what}`, {
    disposition: 'retry',
    hint: 'Check that the url of this sink is that of Elasticsearch or OpenSearch, and that no pipeline changes ids',
  });
}

/** `undefined` for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** `undefined` for what is no object. */
export function decodeObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}
