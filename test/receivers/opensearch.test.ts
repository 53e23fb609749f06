import { expect, test } from 'vitest';
import { runCommand } from '../cli/run-command.ts';
import { findFreePort } from '../support/free-port.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';
import { expectNothingLost, type HeldRecord, TRIAL_TIMEOUT_MS } from './receiver.ts';
import { createServerProgram } from './server-program.ts';

/** The runner takes no other ports. */
const PORTS = { from: 9201, to: 9299 };
/** Most that OpenSearch gives in one answer. */
const RECORDS_MAX = 10_000;
const STREAM = 'logs-router-default';

withPrograms(['opensearch', 'java'], test.skipIf(sampled('real receivers', false, true)))(
  `OpenSearch holds each awkward line once, also after a kill -9 in the middle${sampleNote('real receivers')}`,
  async () => {
    const port = await findFreePort(PORTS);
    const url = `http://127.0.0.1:${port}`;
    const health = `${url}/_cluster/health?wait_for_status=yellow&timeout=5s`;
    await using server = await createServerProgram(
      'opensearch',
      (folder) => [folder, String(port)],
      () => fetch(health),
    );
    await server.start();
    await expectNothingLost({
      sink: `type: elasticsearch, url: "${url}", index: ${STREAM}`,
      isKeyed: true,
      async prepare(configFile) {
        const { stdout } = await runCommand(['schema', '--index-template', 'receiver', '--config.file', configFile]);
        await call(`${url}/_index_template/routers`, 'PUT', stdout);
      },
      start: () => server.start(),
      kill: () => server.kill(),
      read: () => readAll(url),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    });
  },
  TRIAL_TIMEOUT_MS,
);

async function readAll(url: string): Promise<HeldRecord[]> {
  await call(`${url}/${STREAM}/_refresh`, 'POST');
  const found = await call(`${url}/${STREAM}/_search?size=${RECORDS_MAX}`, 'GET');
  const { hits } = found as { hits: { hits: readonly Hit[] } };
  for (const { _id, _source } of hits.hits) expect(_source.event.id).toBe(_id);
  return hits.hits.map(({ _id, _source }) => ({ uid: _id, message: _source.message }));
}

interface Hit {
  readonly _id: string;
  readonly _source: { readonly message: string; readonly event: { readonly id: string } };
}

async function call(url: string, method: string, body: string | null = null): Promise<unknown> {
  const answer = await fetch(url, { method, body, headers: { 'content-type': 'application/json' } });
  const text = await answer.text();
  if (!answer.ok) throw new RangeError(`OpenSearch answered ${answer.status} to ${method} ${url}: ${text}`);
  return JSON.parse(text);
}
