import type { BatchBounds, DeliveryReport, PreflightFleet, Sink } from '../../contracts.ts';
import { toOtelRecord } from '../../formats/otel-record.ts';
import { type HttpSinkOptions, SinkHttpClient } from '../../http/sink-http-client.ts';
import type { OutgoingRecord } from '../../outgoing-record.ts';
import { createTestRecord, tryTestRecord } from '../../preflight.ts';
import { encodeLogsRequest } from './encode-logs-request.ts';
import { judgeOtlpAnswer } from './judge-answer.ts';
import { findLoki } from './loki.ts';

/** Settings and client of a sink of type `otlp`. */
export interface OtlpSinkOptions extends HttpSinkOptions {
  /** Batch bounds. */
  readonly batch: BatchBounds;
  /** Time limit of one delivery. Milliseconds. */
  readonly timeoutMs: number;
  /** Version of the instrumentation scope; absent = none, so that a record gives the same bytes after an update. */
  readonly version?: string | undefined;
}

const LOGS_PATH = '/v1/logs';
/** Maximum size of a response, as OTLP recommends. Bytes. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Creates a sink that sends records as protobuf over OTLP/HTTP, each batch as one `ExportLogsServiceRequest` with one
 * resource per router.
 *
 * OTLP cannot mark a record as sent before; receivers that must deduplicate compare `log.record.uid`.
 */
export function createOtlpSink(options: OtlpSinkOptions): Sink {
  const { name, batch, timeoutMs, url, version, clock } = options;
  const client = new SinkHttpClient(options);
  const path = new URL(url).pathname === '/' ? LOGS_PATH : undefined;
  const what = `Sink ${name}`;

  const deliver = async (records: readonly OutgoingRecord[], signal: AbortSignal): Promise<DeliveryReport> => {
    const body = encodeLogsRequest(
      records.map(({ fields }) => toOtelRecord(fields)),
      version,
    );
    const answer = await client.post(
      {
        path,
        contentType: 'application/x-protobuf',
        body,
        answerEncoding: 'bytes',
        answerBytesMax: ANSWER_BYTES_MAX,
      },
      signal,
    );
    return judgeOtlpAnswer(answer, records.length, what);
  };

  return {
    name,
    batch,
    timeoutMs,
    connection: client.connection,
    deliver,
    preflight: async (_fleet: PreflightFleet, signal: AbortSignal) => {
      const findings = await tryTestRecord(() => deliver([createTestRecord(clock)], signal), client.place, signal);
      if (findings.some(({ step, verdict }) => step === 'connect' && verdict === 'failed')) return findings;
      return [...findings, ...(await findLoki(client, url, signal))];
    },
    close: () => client.close(),
  };
}
