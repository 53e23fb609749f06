import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hashSync } from 'bcryptjs';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { startRouterExporter } from '../support/child.ts';
import { writeRunConfig } from '../support/run-config.ts';
import { fetchRaw, toBasic } from '../web/bench.ts';

test('a scraper with a token has metrics and no log lines, a probe needs nothing, and no token gets into the log', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  await using config = await writeRunConfig(simulator);
  const folder = dirname(config.file);
  await writeFile(
    join(folder, 'web.yaml'),
    `basic_auth_users: { alice: "${hashSync('secret', 4)}", bob: "${hashSync('geheim', 4)}" }\n`,
  );
  await writeFile(join(folder, 'scraper.token'), 'f00dfeedcafe\n');
  const access =
    'access: { open_health: true, users: { bob: read }, tokens: [{ name: p, role: metrics, token_file: scraper.token }] }';
  const text = await readFile(config.file, 'utf8');
  await writeFile(config.file, text.replace('web: {', `web: { config_file: web.yaml, ${access},`));
  await using agent = startRouterExporter(
    'run',
    '--config.file',
    config.file,
    '--log.format',
    'json',
    '--web.enable-lifecycle',
  );
  const [, url = ''] = await agent.waitFor('stderr', /"urls":\["([^"]+)"/);
  simulator.routers[0]?.appendLog('network', 'a line of the log');
  const ask = async (path: string, headers: Record<string, string>, method = 'GET') => {
    const { status, body } = await fetchRaw(url + path, { headers, method });
    return { status, text: body.toString() };
  };
  const scraper = { authorization: 'Bearer f00dfeedcafe' };
  const [alice, bob] = [toBasic('alice', 'secret'), toBasic('bob', 'geheim')];
  await expect.poll(async () => (await ask('/api/v1/routers/sim-1', bob)).text).toContain('a line of the log');
  expect((await ask('/metrics', scraper)).text).toContain('router_up{router="sim-1"} 1\n');
  for (const path of ['/api/v1/routers/sim-1', '/router/sim-1', '/logs', '/config']) {
    expect([path, (await ask(path, scraper)).status]).toEqual([path, 403]);
  }
  expect((await ask('/-/healthy', {})).status).toBe(200);
  expect((await ask('/metrics', {})).status).toBe(401);
  expect((await ask('/-/reload', bob, 'POST')).status).toBe(403);
  expect((await ask('/config', alice)).text).not.toContain('f00dfeedcafe');

  await writeFile(join(folder, 'scraper.token'), 'deadbeefcafe\n');
  expect((await ask('/-/reload', alice, 'POST')).status).toBe(200);
  expect((await ask('/metrics', scraper)).status).toBe(401);
  expect((await ask('/metrics', { authorization: 'Bearer deadbeefcafe' })).status).toBe(200);
  expect(agent.stderr).not.toMatch(/f00dfeed|deadbeef/);
});
