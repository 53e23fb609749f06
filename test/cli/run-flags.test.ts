import { mkdtempDisposable, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from './run-command.ts';

test.for([
  ['--web.external-url', 'foo', 'Write --web.external-url as in https://'],
  ['--web.external-url', 'https://example.com/a b', 'it is a blank or backslash'],
  ['--web.external-url', 'https://example.com/~a+b', 'Write --web.route-prefix as in /'],
  ['--web.external-url', 'http://127.000.000.010/', 'write 127.0.0.10, for the URL standard reads it as 127.0.0.8'],
  ['--web.route-prefix', '/a b', 'Write --web.route-prefix as in /'],
  ['--web.listen-address', 'nowhere', '--web.listen-address: expected host:port'],
  // No name that ends in 1, which would poll the routers of process 1 a second time.
  ['--shard', '-1', 'Expected a whole number from 0 to 999'],
  ['--shard', 'exporter', 'Expected a whole number from 0 to 999'],
] as const)('run and run --once refuse %s %j with exit code 2, and touch nothing', async ([flag, text, message]) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-flags-'));
  const file = join(folder.path, 'router-exporter.yaml');
  await writeFile(
    file,
    'web: { listen: ["127.0.0.1:0"] }\nrouters: [{ name: a, url: "http://127.0.0.1:1", auth: none }]\n',
  );
  for (const words of [['run'], ['run', '--once']]) {
    const { code, stdout, stderr } = await runCommand([...words, '--config.file', file, flag, text]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  }
  expect(await readdir(folder.path)).toEqual(['router-exporter.yaml']);
});

test('run refuses ports for each process that there are not, and names what it found', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-flags-'));
  const file = join(folder.path, 'router-exporter.yaml');
  await writeFile(file, 'routers: [{ name: a, url: "http://127.0.0.1:1", auth: none }]\n');
  const flags = ['--shard', '0', '--total-shards', '2', '--web.shard-ports', '--web.listen-address', '127.0.0.1:0'];
  const { code, stderr } = await runCommand(['run', '--config.file', file, ...flags]);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `${file}:1:1: web.listen: --web.shard-ports adds the index of the process to the port, so it is 1 to 65534; found 0\n`,
  });
});

test('run names all wrong flags of the web server at once', async () => {
  const wrong = ['--web.listen-address', 'nowhere', '--web.route-prefix', '/a b'];
  const { code, stderr } = await runCommand(['run', ...wrong]);
  expect(code).toBe(2);
  expect(stderr.trimEnd().split('\n')).toHaveLength(2);
});
