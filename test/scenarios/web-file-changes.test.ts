import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hashSync } from 'bcryptjs';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { startRouterExporter } from '../support/child.ts';
import { writeRunConfig } from '../support/run-config.ts';
import { fetchRaw, toBasic } from '../web/bench.ts';
import { createTestAuthority } from '../web/certificates.ts';

const URL_PATTERN = /"urls":\["([^"]+)"/;

test.concurrent('the agent takes new users of the file behind --web.config.file by itself, and keeps the old ones when it has a fault', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  await using config = await writeRunConfig(simulator);
  const file = join(dirname(config.file), 'web.yaml');
  const write = (password: string) => writeFile(file, `basic_auth_users: { alice: "${hashSync(password, 4)}" }\n`);
  await write('first');
  await using agent = startRouterExporter(
    'run',
    '--config.file',
    config.file,
    '--log.format',
    'json',
    '--web.config.file',
    file,
  );
  const [, url = ''] = await agent.waitFor('stderr', URL_PATTERN);
  const ask = async (password: string) =>
    (await fetchRaw(`${url}/metrics`, { headers: toBasic('alice', password) })).status;
  expect([await ask('first'), await ask('second')]).toEqual([200, 401]);
  await writeFile(file, 'basic_auth_users: { alice: second }\n');
  await agent.waitFor('stderr', /basic_auth_users\.alice.*The configuration was not loaded again/);
  expect(await ask('first')).toBe(200);
  await write('second');
  await expect.poll(() => ask('second')).toBe(200);
  expect(await ask('first')).toBe(401);
  const page = await fetchRaw(`${url}/config`, { headers: toBasic('alice', 'second') });
  expect(page.body.toString()).toContain(`config_file: ${file}`);
});

test.concurrent('the agent serves a new certificate by itself, also one that comes after a fault', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  await using config = await writeRunConfig(simulator);
  const folder = dirname(config.file);
  const [first, second] = [createTestAuthority('first'), createTestAuthority('second')];
  const write = async ({ cert, key }: { cert: string; key: string }) => {
    await writeFile(join(folder, 'web.crt'), cert);
    await writeFile(join(folder, 'web.key'), key);
  };
  await write(first.issue('server', '127.0.0.1'));
  await writeFile(join(folder, 'web.yaml'), 'tls_server_config: { cert_file: web.crt, key_file: web.key }\n');
  const text = await readFile(config.file, 'utf8');
  await writeFile(config.file, text.replace('web: {', 'web: { config_file: web.yaml,'));
  await using agent = startRouterExporter('run', '--config.file', config.file, '--log.format', 'json');
  const [, url = ''] = await agent.waitFor('stderr', URL_PATTERN);
  const ask = (ca: string) =>
    fetchRaw(`${url}/-/healthy`, { ca }).then(
      ({ status }) => status,
      () => 'refused',
    );
  expect([await ask(first.caPem), await ask(second.caPem)]).toEqual([200, 'refused']);
  await writeFile(join(folder, 'web.crt'), 'nothing yet');
  await agent.waitFor('stderr', /The configuration was not loaded again/);
  await write(second.issue('server', '127.0.0.1'));
  await expect.poll(() => ask(second.caPem)).toBe(200);
  expect(await ask(first.caPem)).toBe('refused');
});
