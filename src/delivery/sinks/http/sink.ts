import { createHash } from 'node:crypto';
import { joinLines } from '../../../base/index.ts';
import type { Sink, SinkOptions } from '../../contracts.ts';
import { renderLines } from '../../formats/format.ts';
import { toAnswerError } from '../../http/answer.ts';
import { type HttpClientOptions, SinkHttpClient } from '../../http/sink-http-client.ts';
import type { OutgoingRecord } from '../../outgoing-record.ts';
import { tryTestRecord } from '../../preflight.ts';

/** Settings and client of a sink of type `http`. Default format: `native`. */
type HttpSinkOptions = HttpClientOptions & SinkOptions;

/**
 * Creates a sink that posts records as JSON lines. The `Idempotency-Key` of a batch is the same whenever the same records
 * are sent again. Any 2xx status means that all records are accepted.
 */
export function createHttpSink(options: HttpSinkOptions): Sink {
  const { name, batch, timeoutMs, clock, format = 'native' } = options;
  const client = new SinkHttpClient(options);

  const deliver: Sink['deliver'] = async (records, signal) => {
    const answer = await client.post(
      {
        contentType: 'application/x-ndjson',
        headers: { 'idempotency-key': renderIdempotencyKey(records) },
        body: joinLines(renderLines(records, format)),
        // Only the status matters.
        isAnswerCut: true,
      },
      signal,
    );
    if (answer.status < 200 || answer.status >= 300) throw toAnswerError(answer, `Sink ${name}`);
    return { bytes: answer.sentBytes };
  };

  return {
    name,
    batch,
    timeoutMs,
    connection: client.connection,
    deliver,
    preflight: async (_fleet, signal) => {
      const findings = await tryTestRecord(deliver, { clock, place: client.place }, signal);
      // Such a receiver may ask for no credentials.
      return findings.filter(({ step, verdict }) => step !== 'authorise' || verdict === 'failed');
    },
    close: () => client.close(),
  };
}

/** Returns the SHA-256, in hexadecimal, of the uids in order, each followed by a line feed. */
function renderIdempotencyKey(records: readonly OutgoingRecord[]): string {
  const hash = createHash('sha256');
  for (const { uid } of records) hash.update(`${uid}\n`);
  return hash.digest('hex');
}
