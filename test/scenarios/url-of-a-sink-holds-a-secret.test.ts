import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import { DeadLetterStore } from '../../src/store/index.ts';
import { runCommand } from '../cli/run-command.ts';
import { startFleet } from '../support/fleet.ts';
import { createHttpSettings } from '../support/sink-settings.ts';
import { type ArrivedRequest, openMisbehavingServer, type Reply } from '../support/sinks/misbehaving-server.ts';

const MINUTE_MS = 60_000;
/** As it is sent, and as a server that decodes it repeats it. */
const CANARIES = ['can%61ry%2Fvalue', 'canary/value'] as const;
const QUERY = `?_stream_fields=router,component&token=${CANARIES[0]}`;

/** A server that refuses everything and repeats the address in its answer, in its headers and decoded. */
function openEcho(statuses: readonly number[]) {
  let next = 0;
  return openMisbehavingServer(({ path }: ArrivedRequest): Reply => {
    const status = statuses[next++ % statuses.length] ?? 400;
    const words = `no ${path} ${decodeURIComponent(path)}`;
    return { status, headers: { location: `${path}/${CANARIES[0]}` }, body: words };
  });
}

test('the secret in the query of a url is sent, and stands nowhere: neither on pages, in metrics and logs, nor in dead letters', async () => {
  await using server = await openEcho([302, 500, 401, 400]);
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-canary-'));
  const query = ['_stream_fields=router,component', '&token=', new Secret(CANARIES[0])];
  await using fleet = await startFleet({
    config: (config) => ({
      ...config,
      storage: { ...config.storage, path: folder },
      sinks: [createHttpSettings('web', `${server.url}/in`, { query })],
    }),
  });
  fleet.router().appendLog('network', 'one line');
  await fleet.advance(10 * MINUTE_MS);
  expect(server.requests.length).toBeGreaterThan(3);
  expect(new Set(server.requests.map(({ path }) => path))).toEqual(new Set([`/in${QUERY}`]));

  const pages = ['/', '/config', '/sinks', '/metrics', '/metrics/agent', '/api/v1/sinks', '/api/v1/routers'];
  const showPages = () => Promise.all(pages.map((page) => fleet.metrics(page)));
  const answered = await showPages();
  // The same for what is said of a receiver that does not answer at all.
  await server.close();
  fleet.router().appendLog('network', 'another line');
  await fleet.advance(10 * MINUTE_MS);
  expect(await fleet.metrics('/sinks')).toContain(`${server.url}/in`);
  const shown = [...answered, ...(await showPages()), JSON.stringify(fleet.ownLog)];
  expect(shown[1]).toContain('_stream_fields=router,component&amp;token=[secret]');
  expect(shown.at(-1)).toContain('[secret]');
  await fleet.stopAgent();
  {
    using deadLetters = new DeadLetterStore({ path: folder, now: () => 0 });
    const all = deadLetters.list({ limit: 100 });
    expect(all.length).toBeGreaterThan(0);
    shown.push(JSON.stringify(all));
  }
  await rm(folder, { recursive: true, force: true });
  for (const text of shown) for (const canary of CANARIES) expect(text).not.toContain(canary);
});

test.for([
  ['302', ['check', '--sinks']],
  ['400', ['check', '--sinks']],
  ['401', ['check', '--sinks']],
  ['403', ['doctor', '--json']],
  ['500', ['check', '--sinks']],
  ['0', ['check', '--sinks']],
] as const)('commands do not show it either: status %s, %s', async ([status, args]) => {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-canary-'));
  await using server = await openEcho([Number(status)]);
  if (status === '0') await server.close();
  const file = join(folder, 'router-exporter.yaml');
  await writeFile(
    file,
    `routers: [{ name: a, url: "https://192.0.2.1", auth: none }]
sinks: [{ name: web, type: http, url: "${server.url}/in${QUERY}" }]
`,
  );
  const { code, stdout, stderr } = await runCommand([...args, '--config.file', file]);
  await rm(folder, { recursive: true, force: true });
  expect(code).toBe(1);
  expect(stdout).toContain('web');
  for (const canary of CANARIES) expect(stdout + stderr).not.toContain(canary);
});
