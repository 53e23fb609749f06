/**
 * How long the main thread of the agent is held up by a source of routers: 10,000 routers with groups from an HTTP server, again
 * as some of them change, as a group of the main file changes, and as the list is held. `node bench/sources.ts [routers] [runs]`.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StepTable } from './step-table.ts';
import { startWatchedAgent } from './watched-agent.ts';

const ROUTERS = Number(process.argv[2] ?? 10_000);
const RUNS = Number(process.argv[3] ?? 1);
const GROUPS = 100;

/** Routers that nothing answers for, in two of a hundred groups each; the first `changed` have another label. */
function renderRouters(count: number, changed: number): string {
  const render = (index: number) => ({
    targets: ['127.0.0.1:9'],
    labels: {
      __router_name__: `plant-${index}`,
      __router_groups__: `site-${index % GROUPS},site-${(index + 1) % GROUPS}`,
      line: index < changed ? 'b' : 'a',
    },
  });
  return JSON.stringify(Array.from({ length: count }, (_, index) => render(index)));
}

let list = '[]';
const server = createServer((_request, response) => response.end(list));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const table = new StepTable();
try {
  for (let run = 0; run < RUNS; run++) await measureRun();
  process.stdout.write(table.render());
} finally {
  server.close();
  server.closeAllConnections();
}

async function measureRun(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sources-'));
  const configFile = join(folder, 'router-exporter.yaml');
  const writeConfig = (interval: string) => writeFileSync(configFile, renderConfig(folder, interval));
  list = '[]';
  writeConfig('1m');
  const agent = startWatchedAgent(configFile, table);
  try {
    await agent.waitFor('Started');
    const count = ROUTERS.toLocaleString('en');
    await agent.measure(`${count} routers arrive`, () => {
      list = renderRouters(ROUTERS, 0);
    });
    await agent.measure('a hundredth of them change', () => {
      list = renderRouters(ROUTERS, ROUTERS / 100);
    });
    await agent.measure('one group of the main file changes', () => {
      writeConfig('2m');
      agent.process.kill('SIGHUP');
    });
    await agent.measure('half of them are missing: held', () => {
      list = renderRouters(ROUTERS / 2, ROUTERS / 100);
    });
    await agent.measure('all of them change', () => {
      list = renderRouters(ROUTERS, ROUTERS);
    });
  } finally {
    agent[Symbol.dispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}

function renderConfig(folder: string, interval: string): string {
  const names = Array.from({ length: GROUPS }, (_, index) => `site-${index}`);
  const groups = names.map(
    (name, index) =>
      `  ${name}: { labels: { site: "${name}" }, logs: { interval: ${index === 7 ? interval : '1m'} } }\n`,
  );
  return `web: { listen: ["127.0.0.1:0"] }
storage: { path: ${folder}/data }
defaults: { username: u, password: correct-horse, poll: { interval: 1h, stale_after: 3h } }
groups:
${groups.join('')}router_sources:
  - name: bench
    type: http
    url: http://127.0.0.1:${(server.address() as AddressInfo).port}
    interval: 5s
    allowed_addresses: [127.0.0.0/8]
    allowed_groups: [${names.join(', ')}]
`;
}
