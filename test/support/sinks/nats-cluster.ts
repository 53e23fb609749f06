import { findFreePort } from '../free-port.ts';
import { type NatsServer, openNatsServer } from './nats-server.ts';

const SERVERS = 3;

/** Three real nats-servers that replicate streams among each other. */
export interface NatsCluster extends AsyncDisposable {
  readonly servers: readonly NatsServer[];
  readonly urls: readonly string[];
}

/**
 * Starts three servers. They elect a leader within some seconds; until then nothing answers. `storePaths`: where each keeps its
 * streams. Default: folders of their own.
 */
export async function openNatsCluster(storePaths: readonly string[] = []): Promise<NatsCluster> {
  const ports = await Promise.all(Array.from({ length: SERVERS }, () => findFreePort()));
  const routes = ports.map((port) => `nats://127.0.0.1:${port}`).join(', ');
  const toConfig = (port: number, index: number) =>
    `server_name: s${index}\ncluster { name: engine, listen: "127.0.0.1:${port}", routes: [${routes}] }`;
  const servers = await Promise.all(
    ports.map((port, index) => openNatsServer({ config: toConfig(port, index), storePath: storePaths[index] })),
  );
  return {
    servers,
    urls: servers.map(({ url }) => url),
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    },
  };
}
