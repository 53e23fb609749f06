import { readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hashSync } from 'bcryptjs';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { deriveRandom } from '../../src/simulator/seeded.ts';
import { createCertificateAuthority } from '../../src/simulator/tls.ts';
import { startRouterExporter } from '../support/child.ts';
import { writeRunConfig } from '../support/run-config.ts';
import { fetchRaw, toBasic } from '../web/bench.ts';

const URL_PATTERN = /"urls":\["([^"]+)"/;

function startSimulated(routers: number): Promise<Simulator> {
  return startSimulator({ routers, clock: createSystemClock(), seed: 1 });
}

function startRun(file: string, ...flags: string[]) {
  return startRouterExporter('run', '--config.file', file, '--log.format', 'json', ...flags);
}

/** A list of routers as `router_files` has them; written to a temporary file and renamed. */
async function writeRouters(file: string, simulator: Simulator, names: readonly string[]): Promise<void> {
  const routers = simulator.routers.filter(({ name }) => names.includes(name));
  await writeFile(`${file}.new`, routers.map(({ name, url }) => `- { name: ${name}, url: "${url}" }\n`).join(''));
  await rename(`${file}.new`, file);
}

async function listNames(url: string): Promise<string[]> {
  const { routers } = (await (await fetch(`${url}/api/v1/routers`)).json()) as { routers: { name: string }[] };
  return routers.map(({ name }) => name);
}

test('run loads its configuration again at SIGHUP, also as soon as it has started, and goes on with the old one when that has a fault', async () => {
  await using simulator = await startSimulated(2);
  await using config = await writeRunConfig(simulator);
  await using agent = startRun(config.file);
  await agent.waitFor('stderr', /Started/);
  agent.process.kill('SIGHUP');
  const [, url = ''] = await agent.waitFor('stderr', URL_PATTERN);
  await agent.waitFor('stderr', /Loaded the configuration again/);
  expect(await listNames(url)).toEqual(['sim-1', 'sim-2']);

  await using one = await startSimulated(1);
  await using smaller = await writeRunConfig(one);
  await rename(smaller.file, config.file);
  await rename(join(dirname(smaller.file), 'ca.pem'), join(dirname(config.file), 'ca.pem'));
  agent.process.kill('SIGHUP');
  await agent.waitFor('stderr', /(Loaded the configuration again.*){2}/s);
  expect(await listNames(url)).toEqual(['sim-1']);

  await writeFile(config.file, 'routers: [{ nmae: x }]\n');
  agent.process.kill('SIGHUP');
  await agent.waitFor('stderr', /nmae.*The configuration was not loaded again/);
  expect(await listNames(url)).toEqual(['sim-1']);
  expect(await (await fetch(`${url}/metrics/agent`)).text()).toContain(
    'router_exporter_config_last_reload_successful 0\n',
  );

  agent.process.kill('SIGTERM');
  expect((await agent.ended).code).toBe(0);
});

test('run loads its configuration again at a SIGHUP that comes while it still reads it for the start', async () => {
  await using simulator = await startSimulated(1);
  await using config = await writeRunConfig(simulator);
  const folder = dirname(config.file);
  // The command of the password says that it runs, and waits to be let go.
  const command = 'echo >> asked; until [ -e go ]; do sleep 0.02; done; echo simulated';
  const text = await readFile(config.file, 'utf8');
  await writeFile(
    config.file,
    text.replace('password_file: password', `password: { command: [sh, -c, "${command}"] }`),
  );
  await using agent = startRun(config.file);
  await expect.poll(() => readFile(join(folder, 'asked'), 'utf8').catch(() => ''), { timeout: 20_000 }).toBe('\n');
  agent.process.kill('SIGHUP');
  await writeFile(join(folder, 'go'), '');
  await agent.waitFor('stderr', /Started.*Loaded the configuration again/s);

  agent.process.kill('SIGTERM');
  expect(await agent.ended).toMatchObject({ code: 0 });
});

test.concurrent('run follows files of routers that come, change and go', { timeout: 60_000 }, async () => {
  await using simulator = await startSimulated(3);
  await using config = await writeRunConfig(simulator);
  const folder = dirname(config.file);
  const text = `web: { listen: ["127.0.0.1:0"] }
defaults: { username: monitor, password_file: password, tls: { ca_file: ca.pem } }
router_files: ["routers-*.yaml"]
`;
  await writeFile(config.file, text);
  await writeRouters(join(folder, 'routers-a.yaml'), simulator, ['sim-1', 'sim-2']);
  await using agent = startRun(config.file);
  const [, url = ''] = await agent.waitFor('stderr', URL_PATTERN);
  expect(await listNames(url)).toEqual(['sim-1', 'sim-2']);

  await writeRouters(join(folder, 'routers-a.yaml'), simulator, ['sim-2']);
  await writeRouters(join(folder, 'routers-b.yaml'), simulator, ['sim-3']);
  await expect.poll(() => listNames(url), { timeout: 20_000 }).toEqual(['sim-2', 'sim-3']);
});

test.concurrent('run answers while a watched file with slow YAML is read, says once what is wrong, and goes on as before', {
  timeout: 60_000,
}, async () => {
  await using simulator = await startSimulated(1);
  await using config = await writeRunConfig(simulator);
  const routers = join(dirname(config.file), 'routers.yaml');
  await writeFile(
    config.file,
    'web: { listen: ["127.0.0.1:0"] }\ndefaults: { username: monitor, password_file: password, tls: { ca_file: ca.pem } }\nrouter_files: [routers.yaml]\n',
  );
  await writeRouters(routers, simulator, ['sim-1']);
  await using agent = startRun(config.file);
  const [, url = ''] = await agent.waitFor('stderr', URL_PATTERN);

  await writeFile(routers, '- [{'.repeat(50_000));
  await agent.waitFor('stderr', /A watched file of the configuration has changed/);
  const state = { isRefused: false, answers: 0 };
  const refused = agent.waitFor('stderr', /was not loaded again/).finally(() => {
    state.isRefused = true;
  });
  while (!state.isRefused) {
    expect((await fetch(`${url}/-/healthy`)).status).toBe(200);
    state.answers++;
  }
  await refused;
  // On the thread that answers, one or two would come before the file is read.
  expect(state.answers).toBeGreaterThan(10);
  expect(await listNames(url)).toEqual(['sim-1']);
  agent.process.kill('SIGTERM');
  const { stderr } = await agent.ended;
  expect(stderr.match(/was not loaded again|more faults/g)).toHaveLength(1);
});

test('run reloads and ends over HTTP when its lifecycle is enabled, and not otherwise', async () => {
  await using simulator = await startSimulated(1);
  await using config = await writeRunConfig(simulator);
  await using closed = startRun(config.file, '--storage.path', join(dirname(config.file), 'closed'));
  await using open = startRun(config.file, '--web.enable-lifecycle');
  const [, closedUrl = ''] = await closed.waitFor('stderr', URL_PATTERN);
  const [, openUrl = ''] = await open.waitFor('stderr', URL_PATTERN);
  const post = async (url: string) => (await fetch(url, { method: 'POST' })).status;

  expect(await post(`${closedUrl}/-/reload`)).toBe(403);
  expect(await post(`${openUrl}/-/reload`)).toBe(200);
  await writeFile(config.file, 'routers: 7\n');
  const refused = await fetch(`${openUrl}/-/reload`, { method: 'POST' });
  expect(refused.status).toBe(500);
  expect(await refused.text()).toMatch(/router-exporter\.yaml:1:10: routers: Expected /);

  expect(await post(`${openUrl}/-/quit`)).toBe(200);
  expect((await open.ended).code).toBe(0);
});

test('run serves over TLS to those who have a password, by a web configuration file, below a route prefix', async () => {
  await using simulator = await startSimulated(1);
  await using config = await writeRunConfig(simulator);
  const folder = dirname(config.file);
  const authority = await createCertificateAuthority('test', deriveRandom(1, 'test'));
  const { cert, key } = authority.issue(['127.0.0.1']);
  await writeFile(join(folder, 'web.crt'), cert);
  await writeFile(join(folder, 'web.key'), key);
  await writeFile(
    join(folder, 'web.yaml'),
    `tls_server_config: { cert_file: web.crt, key_file: web.key }
http_server_config: { headers: { X-Frame-Options: deny } }
basic_auth_users: { prometheus: "${hashSync('correct-horse', 4)}" }
`,
  );
  await using agent = startRun(
    config.file,
    ...['--web.config.file', join(folder, 'web.yaml'), '--web.external-url', 'https://monitor.example/routers/'],
  );
  const [, url = ''] = await agent.waitFor('stderr', URL_PATTERN);
  const options = { ca: authority.caPem };

  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/routers$/);
  expect((await fetchRaw(`${url}/metrics`, options)).status).toBe(401);
  const headers = toBasic('prometheus', 'correct-horse');
  const metrics = await fetchRaw(`${url}/metrics`, { ...options, headers });
  expect(metrics.status).toBe(200);
  expect(metrics.headers['x-frame-options']).toBe('deny');
  const sd = await fetchRaw(`${url}/sd`, { ...options, headers });
  expect(JSON.parse(sd.body.toString())).toMatchObject([
    { targets: ['monitor.example:443'], labels: { __scheme__: 'https', __metrics_path__: '/routers/probe' } },
  ]);
  expect(agent.stderr).not.toContain('$2');
});

test('shards of a fleet take every router once', async () => {
  await using simulator = await startSimulated(12);
  await using config = await writeRunConfig(simulator);
  const names: string[][] = [];
  for (const shard of ['0', '1']) {
    const storage = join(dirname(config.file), `shard-${shard}`);
    await using agent = startRun(config.file, '--shard', shard, '--total-shards', '2', '--storage.path', storage);
    const [, url = ''] = await agent.waitFor('stderr', URL_PATTERN);
    names.push(await listNames(url));
  }

  expect(names.every((share) => share.length > 0)).toBe(true);
  expect(names.flat().toSorted()).toEqual(simulator.routers.map(({ name }) => name).toSorted());
});

test.concurrent('run uses a password that was corrected in its file from the next login on, without a reload', {
  timeout: 60_000,
}, async () => {
  await using simulator = await startSimulated(1);
  await using config = await writeRunConfig(simulator);
  const password = join(dirname(config.file), 'password');
  const right = await readFile(password, 'utf8');
  await writeFile(password, 'wrong-password');
  await using agent = startRun(config.file);
  const [, url = ''] = await agent.waitFor('stderr', URL_PATTERN);
  await agent.waitFor('stderr', /refused to log in/);
  await writeFile(password, right);
  await agent.waitFor('stderr', /A secret has changed and is used from now on/);
  await expect
    .poll(async () => (await fetch(`${url}/probe?target=sim-1&fresh=1`)).text(), { timeout: 30_000 })
    .toMatch(/^router_up\{.*\} 1$/m);
  agent.process.kill('SIGTERM');
  const { stderr } = await agent.ended;
  expect(stderr).not.toMatch(/Loaded the configuration again/);
  expect(stderr).not.toMatch(/wrong-password|"simulated"/);
});
