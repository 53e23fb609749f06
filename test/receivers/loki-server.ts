import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findFreePort } from '../support/free-port.ts';
import { createServerProgram } from './server-program.ts';

/** Lines that it gives at a time: more than one trial ships. */
export const RECORDS_MAX = 100_000;

/** A real Loki, which does not run yet. */
export async function createLoki() {
  const [port, grpcPort] = [await findFreePort(), await findFreePort()];
  const url = `http://127.0.0.1:${port}`;
  const server = await createServerProgram(
    'grafana-loki',
    (folder) => [`-config.file=${join(folder, 'loki.yaml')}`],
    () => fetch(`${url}/ready`),
  );
  await writeFile(join(server.folder, 'loki.yaml'), renderConfig(server.folder, port, grpcPort));
  return Object.assign(server, { url });
}

/**
 * One process with its files in a folder, as in Loki's own example. Ingesters are asked for lines of any age: in one process
 * this key says so, and takes precedence over `querier.query_ingesters_within`. It is ready as soon as it can be, instead of 15 s later.
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
ingester: { query_store_max_look_back_period: 8760h, lifecycler: { min_ready_duration: 0s } }
frontend: { scheduler_dns_lookup_period: 100ms }
frontend_worker: { dns_lookup_duration: 100ms, grpc_client_config: { max_send_msg_size: 104857600, max_recv_msg_size: 104857600 } }
limits_config: { max_entries_limit_per_query: ${RECORDS_MAX}, max_query_length: 0, split_queries_by_interval: 0 }
analytics: { reporting_enabled: false }
`;
}
