import { describe, test, vi } from 'vitest';
import { findFreePort } from '../support/free-port.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';
import { expectNothingLost, type HeldRecord, TRIAL_TIMEOUT_MS } from './receiver.ts';
import { createServerProgram } from './server-program.ts';

/** Stands in the place of an empty message. */
const FOR_NO_MESSAGE = 'missing _msg field;';

/** The sinks of docs/sinks.md, and the push API of Loki. */
const SINKS: readonly (readonly [string, (url: string) => string])[] = [
  [
    'http',
    (url) =>
      `type: http, url: "${url}/insert/jsonline?_stream_fields=router,component&_time_field=timestamp&_msg_field=message", compress: gzip, replay: 30s`,
  ],
  [
    'elasticsearch',
    (url) =>
      `type: elasticsearch, url: "${url}/insert/elasticsearch", format: native, headers: { VL-Stream-Fields: "router,component", VL-Time-Field: "@timestamp", VL-Msg-Field: message }, replay: 30s`,
  ],
  // It answers a push with 200, which no Loki does.
  ['loki', (url) => `type: loki, url: "${url}/insert/loki/api/v1/push", replay: 30s`],
];

withPrograms(['victoria-logs'], describe.skipIf(sampled('real receivers', false, true)))('VictoriaLogs', () => {
  test.each(SINKS)(
    `holds each awkward line, also after a kill -9 in the middle, through the sink %s${sampleNote('real receivers')}`,
    async (_type, renderSink) => {
      const port = await findFreePort();
      const url = `http://127.0.0.1:${port}`;
      await using server = await createServerProgram(
        'victoria-logs',
        (folder) => [
          `-storageDataPath=${folder}/data`,
          `-httpListenAddr=127.0.0.1:${port}`,
          // The clock of some awkward lines was not set.
          '-retentionPeriod=100y',
        ],
        () => fetch(`${url}/health`),
      );
      await server.start();
      await expectNothingLost({
        sink: renderSink(url),
        isKeyed: false,
        start: () => server.start(),
        kill: () => server.kill(),
        read: () => readAll(url),
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      });
    },
    TRIAL_TIMEOUT_MS,
  );
});

/** Everything that it holds: what it took becomes visible within a second, so until nothing comes any more. */
async function readAll(url: string): Promise<HeldRecord[]> {
  let before = -1;
  return await vi.waitFor(
    async () => {
      const records = await readVisible(url);
      const wasAll = records.length === before;
      before = records.length;
      if (!wasAll) throw new RangeError(`VictoriaLogs shows ${before} records, and more may come`);
      return records;
    },
    { timeout: 60_000, interval: 2000 },
  );
}

async function readVisible(url: string): Promise<HeldRecord[]> {
  const body = new URLSearchParams({ query: '*', start: '1900-01-01T00:00:00Z', end: '2100-01-01T00:00:00Z' });
  const answer = await fetch(`${url}/select/logsql/query`, { method: 'POST', body });
  const text = await answer.text();
  if (!answer.ok) throw new RangeError(`VictoriaLogs answered ${answer.status}: ${text}`);
  const rows = text.split('\n').filter((line) => line !== '');
  return rows.map((row) => {
    const { uid, _msg } = JSON.parse(row) as { readonly uid: string; readonly _msg: string };
    return { uid, message: _msg.startsWith(FOR_NO_MESSAGE) ? '' : _msg };
  });
}
