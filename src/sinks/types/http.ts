import { createHash } from 'node:crypto';
import { joinLines, Secret } from '../../base/index.ts';
import { type About, parsePlainUrl, webUrl } from '../../settings/index.ts';
import type { Destination } from '../contracts.ts';
import { SinkHttpClient } from '../http/client.ts';
import { toAnswerError } from '../http/messages.ts';
import { type OutgoingRecord, renderLines } from '../outgoing-record.ts';
import { tryTestRecord } from '../preflight.ts';
import { batch, checkHttpSink, compress, defineSink, format, httpSinkShape, sinkSchema } from './define-sink.ts';

const schema = sinkSchema('http', 'One record per line in the body of a POST, as `application/x-ndjson`.', {
  url: queryUrl(
    {
      description:
        'URL to post to, including a query if the receiver needs one. Values of the query are secrets, except those of keys that begin with `_`.',
    },
    'https://logs.example.net/ingest?source=routers',
  ),
  ...httpSinkShape,
  compress: compress('none', 'bodies'),
  format: format(['native', 'ecs', 'otel']),
  batch: batch({ recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 1000 }),
});

/**
 * Posts records as JSON lines. The `Idempotency-Key` of a batch is the same whenever the same records are sent again. Any 2xx
 * status means that all records are accepted.
 */
export const http = defineSink({
  schema,
  check: (place, keys) => checkHttpSink(place, keys, keys.url?.url),
  open(settings, around) {
    const { name, format: recordFormat } = settings;
    const client = new SinkHttpClient({ ...settings, ...settings.url }, around);
    const deliver: Destination['deliver'] = async (records, signal) => {
      const answer = await client.post(
        {
          contentType: 'application/x-ndjson',
          headers: { 'idempotency-key': renderIdempotencyKey(records) },
          body: joinLines(renderLines(records, recordFormat)),
          // Only the status matters.
          isAnswerCut: true,
        },
        signal,
      );
      if (answer.status < 200 || answer.status >= 300) throw toAnswerError(answer, `Sink ${name}`);
      return { bytes: answer.sentBytes };
    };
    return {
      connection: client.connection,
      deliver,
      async preflight(_fleet, signal) {
        const findings = await tryTestRecord(deliver, { clock: around.clock, place: client.place }, signal);
        // Such a receiver may ask for no credentials.
        return findings.filter(({ step, verdict }) => step !== 'authorise' || verdict === 'failed');
      },
      close: () => client.close(),
    };
  },
});

/** Returns the SHA-256, in hexadecimal, of the uids in order, each followed by a line feed. */
function renderIdempotencyKey(records: readonly OutgoingRecord[]): string {
  const hash = createHash('sha256');
  for (const { uid } of records) hash.update(`${uid}\n`);
  return hash.digest('hex');
}

interface QueryUrl {
  readonly url: string;
  /** Percent-encoded pieces of the query, without the question mark, to be joined as they are. */
  readonly query: readonly (string | Secret)[];
}

function queryUrl(about: About, example: string) {
  const expected = 'an http or https URL of scheme, host, port, path and query alone, without credentials and fragment';
  return webUrl(about, `${expected}, such as ${example}`, parseQueryUrl, renderQueryUrl);
}

/** Parses a URL. Query values are secrets, except those of keys that begin with `_`; so are parts without a key. */
function parseQueryUrl(value: string): QueryUrl | undefined {
  const [address = '', ...rest] = value.split('?');
  const url = parsePlainUrl(address);
  // The WHATWG parser would accept these, and drop them or end the query there.
  if (url === undefined || /[\s\\#]/.test(value)) return undefined;
  const query = new URL(`${url}?${rest.join('?')}`).search.slice(1);
  const pieces = query.split('&').flatMap((part, index) => {
    const [, key = '', held = ''] = /^([^=]*=)?(.*)$/s.exec(part) ?? [];
    const separator = index === 0 ? '' : '&';
    const isShown = held === '' || part.startsWith('_');
    return isShown ? [`${separator}${part}`] : [`${separator}${key}`, new Secret(held)];
  });
  return { url, query: pieces.filter((piece) => piece !== '') };
}

/** Renders the URL, with secrets as `[secret]`. */
function renderQueryUrl({ url, query }: QueryUrl): string {
  return query.length === 0 ? url : `${url}?${query.join('')}`;
}
