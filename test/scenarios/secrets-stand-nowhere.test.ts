import { once } from 'node:events';
import { glob, mkdtempDisposable, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashSync } from 'bcryptjs';
import { expect, test } from 'vitest';
import { RouterClient } from '../../src/client/index.ts';
import { runCommand } from '../cli/run-command.ts';
import { startRouterExporter } from '../support/child.ts';
import { startFleet } from '../support/fleet.ts';
import { createApp } from '../web/bench.ts';

/** One for every place of a secret, so that a failure says which one it was. */
const canaries: (readonly [place: string, value: string])[] = [];
const canary = (place: string) => {
  const value = `canary-${place}-${canaries.length}x7`;
  canaries.push([place, value]);
  return value;
};

/** A router, sink, source and proxy that repeats every request. */
async function openEcho() {
  const server = createServer(({ rawHeaders, url, method }, response) => {
    const told = `${method} ${url} ${rawHeaders.join(' ')}`;
    const body = JSON.stringify({ error: [{ message: told }], errors: [told], message: told, detail: told });
    response.writeHead(url?.includes('auth') ? 200 : 400, told.slice(0, 60).replaceAll(/[^ -~]/g, ' '), {
      'Content-Type': 'application/json',
    });
    response.end(url?.includes('auth') ? JSON.stringify({ jwt: told }) : body);
  });
  server.on('connect', ({ rawHeaders }, socket) => {
    socket.on('error', () => {});
    socket.end(
      `HTTP/1.1 407 ${rawHeaders.join(' ')}\r\nX-Told: ${rawHeaders.join(' ')}\r\n\r\n${rawHeaders.join(' ')}`,
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const ROUTERS = ['basic', 'token', 'bearer', 'file', 'set', 'proxied'];
const NETWORK = ['127.0.0.0/8'];

function createSettings(url: string) {
  const proxy = (place: string) => ({ url, username: 'u', password: canary(place) });
  return {
    web: {
      listen: ['127.0.0.1:0'],
      config_file: 'web.yaml',
      access: {
        tokens: [
          { name: 'a', role: 'admin', token_file: 'admin.txt' },
          { name: 'b', role: 'read', token: canary('web-token') },
        ],
      },
    },
    storage: { path: 'state' },
    defaults: { poll: { interval: '5s', timeout: '1s', deadline: '3s' }, logs: { interval: '5s' } },
    credentials: { customer: { username: 'u', password: canary('credentials'), auth: 'basic' } },
    routers: [
      { name: 'basic', url, username: 'u', password: canary('basic'), auth: 'basic' },
      { name: 'token', url, username: 'u', password: canary('login') },
      { name: 'bearer', url, auth: 'bearer', bearer_token: canary('bearer'), headers: { 'X-Key': canary('header') } },
      { name: 'file', url, auth: 'none', header_files: { 'X-Key': 'header.txt' } },
      { name: 'set', url, credentials: 'customer' },
      { name: 'proxied', url: 'https://192.0.2.1', username: 'u', password: canary('proxied'), proxy: proxy('proxy') },
    ],
    router_sources: [
      { name: 'list', type: 'http', url, username: 'u', password: canary('source'), allowed_addresses: NETWORK },
      { name: 'list2', type: 'http', url, bearer_token: canary('source-token'), allowed_addresses: NETWORK },
      { name: 'box', type: 'netbox', url, token: canary('netbox'), allowed_addresses: NETWORK },
    ],
    sinks: [
      { name: 'http', type: 'http', url: `${url}/in?key=${canary('sink-url')}`, bearer_token: canary('sink-token') },
      {
        name: 'loki',
        type: 'loki',
        url,
        username: 'u',
        password: canary('sink-password'),
        headers: { 'X-A': canary('sink-header') },
      },
      { name: 'search', type: 'elasticsearch', url, api_key: canary('api-key') },
      { name: 'otlp', type: 'otlp', url, header_files: { 'X-A': 'header.txt' } },
      {
        name: 'nats',
        type: 'nats',
        servers: [`nats://${url.slice('http://'.length)}`],
        username: 'u',
        password: canary('nats'),
      },
    ],
    redact: [],
  };
}

test('a secret stands in no page, metric, log line, message, file or argument, though everything that is asked repeats it', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-'));
  await using echo = await openEcho();
  const inFolder = (name: string) => join(folder.path, name);
  const hash = hashSync('secret', 4);
  const admin = canary('admin-token');
  await writeFile(inFolder('admin.txt'), `${admin}\n`, { mode: 0o600 });
  await writeFile(inFolder('header.txt'), canary('header-file'), { mode: 0o600 });
  await writeFile(inFolder('web.yaml'), `basic_auth_users: { alice: "${hash}" }\n`, { mode: 0o600 });
  const file = inFolder('router-exporter.yaml');
  await writeFile(file, JSON.stringify(createSettings(echo.url), null, 2), { mode: 0o600 });
  const seen = new Map<string, string>();
  await using agent = startRouterExporter('run', '--config.file', file, '--log.format', 'json', '--log.level', 'debug');
  const [, url = ''] = await agent.waitFor('stderr', /"urls":\["([^"]+)"/);
  // All routers, sinks and sources were asked.
  const headers = { authorization: `Bearer ${admin}` };
  await expect
    .poll(async () => {
      const text = await (await fetch(`${url}/metrics`, { headers })).text();
      return text.match(/^router_exporter_polls_total\{result="[a-z]+"\} [1-9]/gm)?.length ?? 0;
    })
    .toBeGreaterThan(0);
  await agent.waitFor('stderr', /list2/);
  await agent.waitFor('stderr', /box/);
  const paths = createApp().app.routes.filter(({ method, path }) => method === 'GET' && !path.endsWith('/stream'));
  const asked = paths.flatMap(({ path }) => {
    if (path === '/probe') return ROUTERS.map((name) => `/probe?target=${name}`);
    return path.includes(':name') ? ROUTERS.map((name) => path.replace(':name', name)) : [path.replace(':id', '1')];
  });
  for (const path of asked) {
    const response = await fetch(url + path, { headers });
    seen.set(path, `${JSON.stringify([...response.headers])}${await response.text()}`);
  }
  // One in a file changes, and then all others by a reload: the new ones are repeated as well.
  await writeFile(inFolder('header.txt'), canary('header-file'), { mode: 0o600 });
  await agent.waitFor('stderr', /A secret has changed.*"router":"file"/s);
  await writeFile(file, JSON.stringify(createSettings(echo.url), null, 2), { mode: 0o600 });
  agent.process.kill('SIGHUP');
  for (const name of ['basic', 'bearer', 'list2', 'box'])
    await agent.waitFor('stderr', new RegExp(`Loaded the configuration again.*"${name}"`, 's'));
  const commands = [
    ['check'],
    ['check', '--json'],
    ...ROUTERS.map((name) => ['check', '--show', name]),
    ['doctor', ...ROUTERS, '--json'],
    ['status', 'basic'],
    ['logs', 'list', 'bearer'],
    ['dead-letters', 'list', '--json'],
  ];
  for (const command of commands) {
    const { stdout, stderr } = await runCommand([...command, '--config.file', file]);
    seen.set(command.join(' '), `${stdout}${stderr}`);
  }
  const { pid } = agent.process;
  for (const name of ['cmdline', 'comm']) seen.set(name, await readFile(`/proc/${pid}/${name}`, 'latin1'));
  agent.process.kill('SIGTERM');
  const { stdout, stderr } = await agent.ended;
  seen.set('stdout', stdout);
  seen.set('stderr', stderr);
  for await (const path of glob('state/**/*', { cwd: folder.path })) {
    if ((await stat(inFolder(path))).isFile()) seen.set(path, await readFile(inFolder(path), 'latin1'));
  }
  const forms = [...canaries, ['hash', hash] as const].flatMap(([place, value]) => [
    [place, value] as const,
    [`${place} in Base64`, Buffer.from(`u:${value}`).toString('base64')] as const,
  ]);
  const found = [...seen].flatMap(([where, text]) =>
    forms.flatMap(([place, form]) => (text.includes(form) ? [`${place}: ${where}: ${cut(text, form)}`] : [])),
  );
  expect(found).toEqual([]);
  // It was repeated to the agent, which did not pass it on.
  expect(stderr).toMatch(/GET .*\[secret\]/);
  expect(seen.get('check --show basic')).toContain('[secret]');
  expect(seen.get('/config')).toContain('[secret]');
});

function cut(text: string, form: string): string {
  const at = text.indexOf(form);
  return text.slice(Math.max(0, at - 150), at + form.length + 50);
}

test('the password of a router that quotes it stands in no label, page, line of the own log or name of a file', async () => {
  const password = 'simulated';
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-backups-'));
  await using fleet = await startFleet({
    isStopped: true,
    config: (config) => ({
      ...config,
      backup: { schedule: '* * * * *', path: folder.path, keep: 3, format: 'ascii' },
      routers: config.routers.map((router) => ({ ...router, logs: { ...router.logs, enabled: false } })),
    }),
  });
  const [router] = fleet.simulator.routers;
  if (!router) expect.fail('there is no router');
  await using admin = new RouterClient({
    url: router.url,
    username: 'admin',
    password,
    tls: { caPem: fleet.simulator.caPem },
  });
  await admin.call({
    method: 'POST',
    path: '/profiles',
    json: { profiles: [{ name: password, template: 'running_profile' }] },
  });
  router.setStatus('sysdetail/ip_addresses', { list: [{ name: `net-${password}` }] });
  router.setStatus('device_info', { unique: { device_type: `${password} MRX` } });
  await fleet.startAgent();
  await fleet.advance(5 * 60_000);
  const views = ['network', 'device', 'logs', 'configuration', 'agent'].map((view) => `/router/sim-1?view=${view}`);
  const pages = ['/metrics', '/', '/router/sim-1', '/api/v1/routers/sim-1', ...views];
  const texts = await Promise.all(pages.map((path) => fleet.metrics(path)));
  const files = await readdir(folder.path, { recursive: true });
  const seen = [...texts, JSON.stringify(fleet.ownLog), files.join(' ')];
  expect(seen.map((text) => text.includes(password))).toEqual(seen.map(() => false));
  expect(texts[0]).toContain('interface="net-[secret]"');
  expect(texts[2]).toContain('[secret] MRX');
  // The profiles without it are kept as ever.
  expect(files.join(' ')).toContain('Profile');
});
