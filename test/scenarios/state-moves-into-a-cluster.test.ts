import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { type Program, startRouterExporter } from '../support/child.ts';
import { findFreePort } from '../support/free-port.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { withPrograms } from '../support/tools.ts';

const ROUTERS = 4;
const PATIENCE = { timeout: 60_000, interval: 100 };

/** A proxy in front of simulated routers that records requested archives; and a receiver of records. */
async function openFront(simulator: Simulator) {
  const archives: string[] = [];
  const received: LogRecord[] = [];
  const front = { archives, received, takes: false, url: '', close: async () => {} };
  const forward = (incoming: IncomingMessage, response: ServerResponse, path: string) => {
    const [, name = ''] = path.split('/');
    const router = simulator.routers.find((one) => one.name === name);
    if (path.includes('.bz2')) archives.push(decodeURIComponent(path));
    const { method, headers } = incoming;
    const options = { method, headers, ca: simulator.caPem };
    const onward = request(`${router?.url}${path.slice(name.length + 1)}`, options, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    incoming.pipe(onward);
  };
  const take = async (incoming: IncomingMessage, response: ServerResponse) => {
    let body = '';
    for await (const chunk of incoming) body += String(chunk);
    if (!front.takes) return void response.writeHead(503).end();
    for (const line of body.split('\n')) if (line) received.push(JSON.parse(line) as LogRecord);
    response.writeHead(204).end();
  };
  const server = createServer((incoming, response) => {
    const { url = '' } = incoming;
    if (url === '/sink') void take(incoming, response);
    else forward(incoming, response, url);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  front.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  front.close = async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  return front;
}

async function expectDone(...args: string[]): Promise<string> {
  const end = await startRouterExporter(...args).ended;
  expect(end, end.stderr).toMatchObject({ code: 0 });
  return end.stdout;
}

async function stop(...programs: Program[]): Promise<void> {
  for (const { process } of programs) process.kill('SIGTERM');
  for (const program of programs) expect((await program.ended).code, program.stderr).toBe(0);
}

withPrograms(['nats-server'], test.skipIf(sampled('processes of a fleet', false, true)))(
  `a process with a disk becomes a cluster and a process again: every log goes on at its byte, and no archive is fetched again${sampleNote('processes of a fleet')}`,
  { timeout: 240_000 },
  async () => {
    await using server = await openNatsServer();
    await using simulator = await startSimulator({ routers: ROUTERS, clock: createSystemClock(), seed: 1 });
    const front = await openFront(simulator);
    const folder = await mkdtemp(join(tmpdir(), 'router-exporter-moving-'));
    const write = async (name: string, isCluster: boolean) => {
      const port = await findFreePort();
      const file = join(folder, `${name}.yaml`);
      const nats = `{ servers: ["${server.url}"], name: plant, replica: ${name}, lease: 3s, replicas: 1, max_bytes: 32MiB }`;
      await writeFile(
        file,
        `web: { listen: ["127.0.0.1:${port}"] }
storage: { path: state-${name} }
${isCluster ? `cluster: { nats: ${nats} }` : ''}
defaults:
  username: monitor
  password: simulated
  timezone: Europe/Berlin
  poll: { interval: 1s, timeout: 1s, deadline: 1s, stale_after: 1m }
  logs: { interval: 1s, start: all }
routers:
${simulator.routers.map((router) => `  - { name: ${router.name}, url: "${front.url}/${router.name}" }\n`).join('')}
sinks: [{ name: late, type: http, url: "${front.url}/sink", batch: { wait: 0s } }]
`,
      );
      return ['--config.file', file];
    };
    let lines = 0;
    const append = (count: number) => {
      for (const router of simulator.routers)
        for (let left = count; left > 0; left--) router.appendLog('network', `moved line ${++lines}`);
    };
    /** The current files become archives. */
    const rotate = async () => {
      for (const router of simulator.routers) router.rotate('network', `moved line ${++lines}`);
      await Promise.all(simulator.routers.map((router) => router.whenQuiet()));
    };
    const spooled = async (program: Program) => {
      const [, url] = /"urls":\["([^"]+)"/.exec(program.stderr) ?? [];
      const text = await (await fetch(`${url}/metrics/agent`)).text();
      return Number(/^router_exporter_spool_records (\S+)$/m.exec(text)?.[1]);
    };
    const arrived = () => {
      const own = front.received.filter(({ message }) => message?.startsWith('moved line'));
      return { records: own.length, uids: new Set(own.map(({ uid }) => uid)).size };
    };
    try {
      append(200);
      await rotate();
      append(200);
      const disk = await write('disk', false);
      {
        await using program = startRouterExporter('run', ...disk, '--log.format', 'json');
        await program.waitFor('stderr', /"urls":\["/);
        await vi.waitFor(async () => expect(await spooled(program)).toBeGreaterThanOrEqual(lines), PATIENCE);
        await stop(program);
      }
      const before = new Set(front.archives);
      expect(before.size).toBe(ROUTERS);
      const readOnce = front.archives.length;
      append(50);
      await rotate();

      // Into the cluster, with what waits for the sink.
      const [a, b] = [await write('a', true), await write('b', true)];
      await expectDone('cluster', 'init', ...a);
      const moved = join(folder, 'moved.db');
      const storage = ['--storage.path', join(folder, 'state-disk')];
      const written = await expectDone('state', 'export', ...a, ...storage, '--remove', '--output', moved);
      expect(written).toMatch(/: 4 routers, \d+ log positions, [\d,]+ undelivered records, 0 dead letters\n$/);
      const added = await expectDone('state', 'import', ...a, moved);
      expect(added.replace(/^\w+ from/, '')).toBe(written.replace(/^\w+ to/, ''));
      front.takes = true;
      {
        await using first = startRouterExporter('run', ...a, '--log.format', 'json');
        await using second = startRouterExporter('run', ...b, '--log.format', 'json');
        await vi.waitFor(() => expect(arrived()).toEqual({ records: lines, uids: lines }), PATIENCE);
        expect(front.archives.slice(readOnce).filter((path) => before.has(path))).toEqual([]);
        // Not while replicas have the routers.
        const held = await startRouterExporter('state', 'export', ...a, '--output', join(folder, 'held.db')).ended;
        expect([held.code, held.stdout]).toEqual([1, '']);
        expect(held.stderr).toMatch(/Replicas have 4 of these routers, such as sim-1 at [ab]/);
        expect(await readdir(folder)).not.toContain('held.db');
        await stop(first, second);
      }
      for (const path of front.archives) before.add(path);
      append(50);
      await rotate();

      // And back to a disk.
      const back = join(folder, 'back.db');
      await expectDone('state', 'export', ...a, '--remove', '--output', back);
      const other = await write('other', false);
      await expectDone('state', 'import', ...other, back);
      {
        const from = front.archives.length;
        await using program = startRouterExporter('run', ...other, '--log.format', 'json');
        await vi.waitFor(() => expect(arrived()).toEqual({ records: lines, uids: lines }), PATIENCE);
        expect(front.archives.slice(from).filter((path) => before.has(path))).toEqual([]);
        await stop(program);
      }
    } finally {
      await front.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
