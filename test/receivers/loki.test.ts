import { test } from 'vitest';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';
import { createLoki, RECORDS_MAX } from './loki-server.ts';
import { expectNothingLost, type HeldRecord, TRIAL_TIMEOUT_MS } from './receiver.ts';

const DAY_MS = 86_400_000;

withPrograms(
  ['grafana-loki'],
  test.skipIf(sampled('real receivers', false, true)).for([{ layout: 'router' }, { layout: 'shard' }]),
)(
  `Loki holds each awkward line once, also after a kill -9 in the middle (layout: $layout)${sampleNote('real receivers')}`,
  { timeout: TRIAL_TIMEOUT_MS },
  async ({ layout }) => {
    await using server = await createLoki();
    const { url } = server;
    await server.start();
    await expectNothingLost({
      sink: `type: loki, url: "${url}", layout: ${layout}`,
      isKeyed: true,
      start: () => server.start(),
      kill: () => server.kill(),
      read: () => readAll(url),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    });
  },
);

/** Everything of the last ten days. The metadata of a line stand among the labels of its stream. */
async function readAll(url: string): Promise<HeldRecord[]> {
  const now = Date.now();
  const query = new URLSearchParams({
    query: '{service_name="router-exporter"}',
    start: `${now - 10 * DAY_MS}000000`,
    end: `${now + DAY_MS}000000`,
    limit: String(RECORDS_MAX),
  });
  const answer = await fetch(`${url}/loki/api/v1/query_range?${query.toString()}`);
  if (answer.status !== 200) throw new RangeError(`Loki answered ${answer.status}: ${await answer.text()}`);
  const { data } = (await answer.json()) as { data: { result: readonly Stream[] } };
  return data.result.flatMap(({ stream, values }) =>
    values.map(([, message]) => ({ uid: stream['uid'] ?? '', message })),
  );
}

interface Stream {
  readonly stream: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [string, string])[];
}
