import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { findFreePort } from '../support/free-port.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';
import { expectNothingLost, type HeldRecord, TRIAL_TIMEOUT_MS } from './receiver.ts';
import { createServerProgram } from './server-program.ts';

/** More than one trial ships. */
const RECORDS_MAX = 100_000;
const DAY_MS = 86_400_000;

withPrograms(
  ['grafana-loki'],
  test.skipIf(sampled('real receivers', false, true)).for([{ layout: 'router' }, { layout: 'shard' }]),
)(
  `Loki holds each awkward line once, also after a kill -9 in the middle (layout: $layout)${sampleNote('real receivers')}`,
  { timeout: TRIAL_TIMEOUT_MS },
  async ({ layout }) => {
    const [port, grpcPort] = [await findFreePort(), await findFreePort()];
    const url = `http://127.0.0.1:${port}`;
    const config = (folder: string) => join(folder, 'loki.yaml');
    await using server = await createServerProgram(
      'grafana-loki',
      (folder) => [`-config.file=${config(folder)}`],
      () => fetch(`${url}/ready`),
    );
    await writeFile(config(server.folder), renderConfig(server.folder, port, grpcPort));
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

/**
 * One process with its files in a folder, as in Loki's own example. Ingesters are asked for lines of any age: in one process
 * this key says so, and takes precedence over `querier.query_ingesters_within`.
 */
function renderConfig(folder: string, port: number, grpcPort: number): string {
  return `auth_enabled: false
server: { http_listen_address: 127.0.0.1, http_listen_port: ${port}, grpc_listen_address: 127.0.0.1, grpc_listen_port: ${grpcPort}, log_level: warn, grpc_server_max_recv_msg_size: 104857600, grpc_server_max_send_msg_size: 104857600 }
common:
  instance_addr: 127.0.0.1
  path_prefix: ${folder}
  replication_factor: 1
  ring: { kvstore: { store: inmemory } }
  storage: { filesystem: { chunks_directory: ${folder}/chunks, rules_directory: ${folder}/rules } }
schema_config:
  configs:
    - { from: "2020-01-01", store: tsdb, object_store: filesystem, schema: v13, index: { prefix: index_, period: 24h } }
ingester: { query_store_max_look_back_period: 8760h }
frontend_worker: { grpc_client_config: { max_send_msg_size: 104857600, max_recv_msg_size: 104857600 } }
limits_config: { max_entries_limit_per_query: ${RECORDS_MAX}, max_query_length: 0, split_queries_by_interval: 0 }
analytics: { reporting_enabled: false }
`;
}
