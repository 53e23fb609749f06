import type { PreflightFinding, Sink, SinkOptions } from '../../contracts.ts';
import { toOtelRecord } from '../../formats/otel.ts';
import { type HttpClientOptions, SinkHttpClient } from '../../http/sink-http-client.ts';
import { tryTestRecord } from '../../preflight.ts';
import { askLokiVersion } from '../loki/preflight.ts';
import { judgeOtlpAnswer } from './answer.ts';
import { encodeLogsRequest } from './encode-logs-request.ts';

/** Settings and client of a sink of type `otlp`. */
interface OtlpSinkOptions extends HttpClientOptions, SinkOptions {
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

  const deliver: Sink['deliver'] = async (records, signal) => {
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
    preflight: async (_fleet, signal) => {
      const findings = await tryTestRecord(deliver, { clock, place: client.place }, signal);
      if (findings.some(({ step, verdict }) => step === 'connect' && verdict === 'failed')) return findings;
      return [...findings, ...(await findLoki(client, url, signal))];
    },
    close: () => client.close(),
  };
}

/** Loki's OTLP path. */
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
