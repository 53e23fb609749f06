import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { openLogger } from '../../src/cli/support/serve.ts';
import { load, withRouter } from '../config/configuration-folder.ts';
import { runCommand } from './run-command.ts';

/** The own log of an agent, and what was written to it. */
function openOwnLog() {
  const written: string[] = [];
  const stderr = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      written.push(chunk);
      done();
    },
  });
  const io = {
    stdin: Readable.from([]),
    stdout: stderr,
    stderr,
    signal: new AbortController().signal,
    onHangup: () => {},
  };
  return { ...openLogger({ level: 'info', format: 'json' }, io), written };
}

async function loadSound(text: string) {
  const { config, lines } = await load(text);
  return config ?? expect.unreachable(lines.join('\n'));
}

test('the own log of the agent blanks the passwords of the configuration, wherever they occur', async () => {
  const config = await loadSound(withRouter().replace('password: pw', 'password: correct-horse'));
  const { logger, useSecretsOf, written } = openOwnLog();
  await useSecretsOf(config);
  logger.info('sent correct-horse', { url: 'https://a:correct-horse@b' });

  expect(written.join('')).toContain('[secret]');
  expect(written.join('')).not.toContain('correct-horse');

  // While a reload is under way, and when it fails, the passwords of both configurations are in use.
  const next = await loadSound(withRouter().replace('password: pw', 'password: battery-staple'));
  await useSecretsOf(config, next);
  logger.info('sent correct-horse and battery-staple');
  expect(written.join('')).not.toMatch(/correct-horse|battery-staple/);
});

test.each([
  ['the token of a cluster', 'cluster: { nats: { servers: [nats-0], replica: a, bearer_token: SECRET } }'],
  ['the password of a cluster', 'cluster: { nats: { servers: [nats-0], replica: a, username: u, password: SECRET } }'],
  ['the token of a source', 'router_sources: [{ name: s, type: http, url: "http://list", bearer_token: SECRET }]'],
  ['a token of the web server', 'web: { access: { tokens: [{ name: a, role: admin, token: SECRET }] } }'],
  ['the token of a sink', 'sinks: [{ name: s, type: http, url: "http://sink", bearer_token: SECRET }]'],
  ['the query of the URL of a sink', 'sinks: [{ name: s, type: http, url: "http://sink/?key=SECRET" }]'],
  ['the password of a sink of NATS', 'sinks: [{ name: s, type: nats, servers: [n], username: u, password: SECRET }]'],
  ['a header of a sink', 'sinks: [{ name: s, type: http, url: "http://sink", headers: { X-Key: SECRET } }]'],
])('the own log of the agent blanks %s', async (_where, keys) => {
  const secret = 'correct-horse-battery-staple';
  const config = await loadSound(`${keys.replace('SECRET', secret)}\n${withRouter()}`);
  const { logger, useSecretsOf, written } = openOwnLog();
  await useSecretsOf(config);
  logger.info('refused', { error: `-ERR '${secret}'` });
  expect(written.join('')).toContain("-ERR '[secret]'");
});

test('run blanks in its log a secret that has changed in its file, and the one before, also where another router repeats them', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-own-log-'));
  const received = new Set<string>();
  await using server = createServer(({ headers, url: path }, response) => {
    if (headers['x-key'] !== undefined) received.add(String(headers['x-key']));
    // Otherwise both would be asked more and more rarely.
    if (path?.endsWith('/device_info')) response.end('{"status":{"unique":{}}}');
    else response.writeHead(400).end(JSON.stringify({ error: [{ message: [...received].join(' and ') }] }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const key = join(folder.path, 'key.txt');
  const file = join(folder.path, 'router-exporter.yaml');
  await writeFile(key, 'correct-horse');
  await writeFile(
    file,
    `web: { listen: ["127.0.0.1:0"] }
storage: { path: state }
defaults: { auth: none, poll: { interval: 1s, timeout: 1s, deadline: 1s } }
routers: [{ name: telling, url: "${url}", header_files: { X-Key: key.txt } }, { name: other, url: "${url}/" }]
`,
  );
  const end = new AbortController();
  let written = '';
  const ended = runCommand(['run', '--config.file', file, '--log.format', 'json', '--log.level', 'debug'], {
    signal: end.signal,
    onStderr: (text) => {
      written += text;
    },
  });
  try {
    await expect.poll(() => written).toMatch(/"router":"other"[^\n]*\[secret\]/);
    await writeFile(key, 'battery-staple');
    await expect.poll(() => written).toMatch(/"router":"other"[^\n]*\[secret\] and \[secret\]/);
  } finally {
    end.abort();
    await ended;
  }
  expect(written).not.toMatch(/correct-horse|battery-staple/);
});
