import { Readable, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { openLogger } from '../../src/cli/serve.ts';
import { load, withRouter } from '../config/configuration-folder.ts';

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

test('the own log of the agent blanks the passwords of the configuration, wherever they turn up', async () => {
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
