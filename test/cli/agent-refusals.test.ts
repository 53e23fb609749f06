import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from './run-command.ts';

test('fleet names the flags that log in when the agent asks for a login, and those to check when it refuses one', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-'));
  const token = join(folder.path, 'token');
  await writeFile(token, 'wrong');
  await using server = createServer((_, response) => response.writeHead(401).end('Unauthorized.\n'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await runCommand(['fleet', '--url', url])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'The agent refused the request: Unauthorized. Log in with --token-file, or --username and --password-file\n',
  });
  expect((await runCommand(['fleet', '--url', url, '--token-file', token])).stderr).toBe(
    'The agent refused the request: Unauthorized. Check what was given with --token-file, or --username and --password-file\n',
  );
});

test('fleet sends no password to an address that means another one than it shows', async () => {
  const { code, stderr } = await runCommand(['fleet', '--url', 'http://127.000.000.010:9847']);
  expect(code).toBe(2);
  expect(stderr).toContain('write 127.0.0.10, for the URL standard reads it as 127.0.0.8');
});

test('fleet does not repeat the credentials in an address, and names the flags that take them', async () => {
  const { code, stdout, stderr } = await runCommand(['fleet', '--url', 'http://user:hunter2@localhost:9847']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).not.toContain('hunter2');
  expect(stderr).toContain('found credentials');
  expect(stderr).toContain('--token-file, or --username and --password-file');
});
