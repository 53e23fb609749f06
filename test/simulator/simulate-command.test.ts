import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { describe, expect, test } from 'vitest';
import { startRouterExporter } from '../support/child.ts';

/** Started without fixed ports, so that tests do not meet. */
const FREE = ['--listen', '127.0.0.1:0', '--control', '127.0.0.1:0'];

describe('simulate', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'prints where its routers are and ends at %s with exit code 0',
    async (signal) => {
      await using program = startRouterExporter('simulate', '--routers', '2', '--plain-http', ...FREE);
      await program.waitFor('stdout', /Ctrl-C ends/);
      expect(program.stdout).toMatch(/^sim-1 +http:\/\/127\.0\.0\.1:\d+ +MRX3 +serial \d{8}\nsim-2 +http/);
      expect(program.stdout).toContain(
        'admin (readwrite), monitor (read), status (status); password of all: simulated',
      );
      const [, url = ''] = /^sim-2 +(\S+)/m.exec(program.stdout) ?? [];
      const body = JSON.stringify({ username: 'monitor', password: 'simulated' });
      expect((await fetch(`${url}/api/v2_0/auth/login`, { method: 'POST', body })).status).toBe(200);
      const [, control = ''] = /POST (\S+)<router>/.exec(program.stdout) ?? [];
      const answer = await fetch(`${control}sim-2`, { method: 'POST', body: '{"action":"fault","name":"http_503"}' });
      expect(answer.status).toBe(200);
      expect((await fetch(`${url}/api/v2_0/profiles`)).status).toBe(503);
      program.process.kill(signal);
      expect(await program.ended).toMatchObject({ code: 0, stderr: '' });
    },
  );

  test.each([
    ['-1h', -3600],
    ['15m', 900],
  ])('--clock-offset=%s sets the clock of each router and its Date header', async (offset, seconds) => {
    await using program = startRouterExporter('simulate', '--plain-http', `--clock-offset=${offset}`, ...FREE);
    await program.waitFor('stdout', /Ctrl-C ends/);
    const [, url = ''] = /^sim-3 +(\S+)/m.exec(program.stdout) ?? [];
    const { headers } = await fetch(`${url}/api/v2_0/profiles`);
    const aheadSeconds = (Date.parse(headers.get('date') ?? '') - Date.now()) / 1000;
    expect(Math.abs(aheadSeconds - seconds)).toBeLessThan(60);
  });

  test('serves HTTPS with an authority of its own, whose certificate it writes, and begins with faults', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'router-exporter-test-'));
    const file = join(folder, 'ca.pem');
    try {
      const faults = ['--fault', 'sim-2=http_500', '--fault', 'forbidden'];
      await using program = startRouterExporter('simulate', '--routers=2', '--ca-out', file, ...faults, ...FREE);
      await program.waitFor('stdout', /Ctrl-C ends/);
      expect(program.stdout).toMatch(/^sim-1 .* forbidden\nsim-2 .* http_500 forbidden$/m);
      const [, url = ''] = /^sim-1 +(\S+)/.exec(program.stdout) ?? [];
      const dispatcher = new Agent({ connect: { ca: await readFile(file, 'utf8') } });
      const { statusCode, body } = await request(`${url}/api/v2_0/profiles`, { dispatcher });
      expect([url.startsWith('https://'), statusCode]).toEqual([true, 403]);
      await body.dump();
      await dispatcher.close();
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test.each([
    [['--fault', 'fire'], /--fault: expected NAME or ROUTER=NAME/],
    [['--fault', 'sim-9=slow'], /--fault: there is no router "sim-9"; with --routers 3, the last one is sim-3/],
    [['--fault', 'slow=sim-1'], /--fault: expected NAME or ROUTER=NAME/],
    [['--listen', 'nowhere'], /--listen: expected host:port/],
    [['--control', '0.0.0.0:0', '--listen', '127.0.0.1:0', '--plain-http'], /loopback/],
    [['--routers', '0'], /whole number/],
    [['--seed', '1.5'], /whole number/],
    [['--clock-offset', 'late'], /Expected a duration/],
    [['--colour'], /unknown option/],
  ])('%j is wrong usage', async (args, message) => {
    const end = await startRouterExporter('simulate', ...args).ended;
    expect(end.code).toBe(2);
    expect(end.stderr).toMatch(message);
    expect(end.stdout).toBe('');
  });

  test('a control port that is taken is not called a router, and the flags for another are named', async () => {
    await using squatter = createServer();
    squatter.listen(0, '127.0.0.1');
    await once(squatter, 'listening');
    const { port } = squatter.address() as AddressInfo;
    const flags = ['--routers', '1', '--listen', '127.0.0.1:0', '--plain-http', '--control', `127.0.0.1:${port}`];
    const { code, stderr } = await startRouterExporter('simulate', ...flags).ended;
    expect(code).toBe(1);
    expect(stderr).toContain(`The simulator cannot listen on 127.0.0.1, port ${port}: listen EADDRINUSE`);
    expect(stderr).toContain('Choose other addresses with --listen and --control');
  });
});
