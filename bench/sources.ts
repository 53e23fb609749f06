/**
 * How long the main thread of the agent is held up by a source of routers: 10,000 routers with groups from an HTTP server, again
 * as some of them change, as a group of the main file changes, and as the list is held. `node bench/sources.ts [routers]`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { StepFigures } from './watch-steps.ts';

const ROUTERS = Number(process.argv[2] ?? 10_000);
const LIMIT_MS = 180_000;
const GROUPS = 100;
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

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
const folder = mkdtempSync(join(tmpdir(), 'sources-'));
const configFile = join(folder, 'router-exporter.yaml');
const writeConfig = (interval: string) => {
  const names = Array.from({ length: GROUPS }, (_, index) => `site-${index}`);
  const groups = names.map(
    (name, index) =>
      `  ${name}: { labels: { site: "${name}" }, logs: { interval: ${index === 7 ? interval : '1m'} } }\n`,
  );
  writeFileSync(
    configFile,
    `web: { listen: ["127.0.0.1:0"] }
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
`,
  );
};
writeConfig('1m');
const agent = spawn(
  process.execPath,
  ['--import', path('watch-steps.ts'), path('../src/main.ts'), 'run', '--config.file', configFile],
  { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], env: { ...process.env, WATCH_STEPS: '1' } },
);
const waiting = new Set<(line: Readonly<Record<string, unknown>>) => void>();
createInterface({ input: agent.stderr ?? process.stdin }).on('line', (text) => {
  const line = JSON.parse(text) as Readonly<Record<string, unknown>>;
  for (const one of waiting) one(line);
});

/** Resolves with the next line of the log with this message. */
function waitFor(message: string): Promise<Readonly<Record<string, unknown>>> {
  const { promise, resolve, reject } = Promise.withResolvers<Readonly<Record<string, unknown>>>();
  const timer = setTimeout(() => reject(new RangeError(`No "${message}"`)), LIMIT_MS);
  const look = (line: Readonly<Record<string, unknown>>) => {
    if (line['message'] === message) resolve(line);
  };
  waiting.add(look);
  return promise.finally(() => {
    clearTimeout(timer);
    waiting.delete(look);
  });
}

async function measure(what: string, change: () => void): Promise<void> {
  agent.send('begin');
  const begunMs = performance.now();
  const done = waitFor('Loaded the configuration again');
  change();
  const { added, changed, removed } = await done;
  const seconds = (performance.now() - begunMs) / 1000;
  const { maxMs, p99Ms, peakMiB } = await readFigures(agent);
  const figures = [`longest step ${maxMs.toFixed(1)} ms`, `p99 ${p99Ms.toFixed(1)} ms`, `${seconds.toFixed(1)} s`];
  const routers = `+${String(added)} ~${String(changed)} -${String(removed)}`;
  process.stdout.write(`${what.padEnd(40)} ${figures.join(', ')}, peak ${peakMiB.toFixed(0)} MiB (${routers})\n`);
}

async function readFigures(child: ChildProcess): Promise<StepFigures> {
  const answer = once(child, 'message');
  child.send('end');
  const [figures] = (await answer) as [StepFigures];
  return figures;
}

try {
  await waitFor('Started');
  const count = ROUTERS.toLocaleString('en');
  await measure(`${count} routers arrive`, () => {
    list = renderRouters(ROUTERS, 0);
  });
  await measure('a hundredth of them change', () => {
    list = renderRouters(ROUTERS, ROUTERS / 100);
  });
  await measure('one group of the main file changes', () => {
    writeConfig('2m');
    agent.kill('SIGHUP');
  });
  await measure('half of them are missing: held', () => {
    list = renderRouters(ROUTERS / 2, ROUTERS / 100);
  });
  await measure('all of them change', () => {
    list = renderRouters(ROUTERS, ROUTERS);
  });
} finally {
  agent.kill('SIGKILL');
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
}
