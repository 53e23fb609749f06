import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startRouterExporter } from '../support/child.ts';
import { findFreePort } from '../support/free-port.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { withPrograms } from '../support/tools.ts';

for (const name of ['KV_rx_plant', 'RX_plant', 'RXD_plant']) {
  withPrograms(['nats-server'], test)(
    `a replica that finds another format in ${name} leaves it as it is, ends with 1 and names what to do`,
    { timeout: 60_000 },
    async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-format-'));
      await using server = await openNatsServer();
      const file = join(folder.path, 'router-exporter.yaml');
      await writeFile(
        file,
        `web: { listen: ["127.0.0.1:${await findFreePort()}"] }
cluster: { nats: { servers: ["${server.url}"], name: plant, replica: a, lease: 3s, replicas: 1, max_bytes: 32MiB } }
routers: [{ name: hall-1, url: "http://127.0.0.1:9", auth: none }]
sinks: [{ name: late, type: http, url: "http://127.0.0.1:9" }]
`,
      );
      const init = await startRouterExporter('cluster', 'init', '--config.file', file).ended;
      expect(init, init.stderr).toMatchObject({ code: 0 });
      // As a version before this one has left it.
      const { metadata: _, ...right } = await server.readConfig(name);
      await server.removeStream(name);
      await server.addStream(right);
      const before = await server.readConfig(name);
      const end = await startRouterExporter('run', '--config.file', file).ended;
      expect(end.code, end.stderr).toBe(1);
      expect(end.stderr).toContain(
        `"The stream ${name} has another format, and this program knows 1; it was left as it is. Let the version that wrote it deliver what it holds, then remove the streams of the cluster, or set another cluster.nats.name, and run router-exporter cluster init"`,
      );
      expect([await server.read(name), await server.readConfig(name)]).toEqual([[], before]);
    },
  );
}
