import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countRuns } from '../support/sampled.ts';
import { openAdmin, withQuery } from './client.ts';

const USERS = '/configuration/administration/users';

type Bench = Awaited<ReturnType<typeof openAdmin>>;

/** Sends bytes that no HTTP library would, and returns the status line of what comes back. */
async function sendRaw(bench: Bench, bytes: string): Promise<string> {
  const { hostname, port } = new URL(bench.router.url);
  const answered = Promise.withResolvers<string>();
  const socket = connect(Number(port), hostname, () => socket.write(bytes));
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
    if (text.includes('\r\n')) socket.end();
  });
  socket.once('close', () => answered.resolve(text.split('\r\n')[0] ?? ''));
  socket.once('error', answered.reject);
  return answered.promise;
}

const isAlive = async (bench: Bench) => (await bench.call('GET', '/profiles')).status === 200;

describe('hostile bodies', () => {
  const deep = '['.repeat(400_000);
  test.each([
    ['a deep list', `{"config":{"list":${deep}`],
    ['a deep and closed list', `{"config":{"list":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`],
    ['a million small entries', `{"config":{"list":[${'{},'.repeat(300_000)}{}]}}`],
    [
      'many unknown keys',
      JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_one, key) => [`k${key}`, 1]))),
    ],
    ['a long key', JSON.stringify({ config: { unique: { ['x'.repeat(900_000)]: '1' } } })],
    ['a prototype', '{"config":{"unique":{"__proto__":"1","constructor":"x","toString":"y"}}}'],
    ['a prototype as an entry', '{"config":{"list":[{"__proto__":{"username":"x"},"password":"y"}]}}'],
    ['half a character', '{"config":"\\ud800"}'],
    ['only a byte order mark', '\ufeff'],
  ])('%s is refused with a short list of faults', async (_what, body) => {
    await using bench = await openAdmin();
    for (const [method, path] of [
      ['POST', USERS],
      ['PUT', USERS],
      ['POST', '/operation'],
      ['POST', '/auth/login'],
    ] as const) {
      const { status, bytes } = await bench.client.send(method, path, { token: bench.access, body });
      expect([400, 413]).toContain(status);
      expect(bytes.length).toBeLessThan(5000);
    }
    expect(await isAlive(bench)).toBe(true);
  });

  test('a body over the bound is refused with 413 also when its length is not stated', async () => {
    await using bench = await openAdmin();
    const chunks = `10000\r\n${'x'.repeat(65_536)}\r\n`.repeat(17);
    const head = `POST /api/v2_0/auth/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
    expect(await sendRaw(bench, `${head}${chunks}0\r\n\r\n`)).toContain('413');
  });

  test('any JSON as an envelope, an entry, a value or an option answers below 500', async () => {
    await using bench = await openAdmin();
    const anything = fc.jsonValue({ maxDepth: 4 });
    await fc.assert(
      fc.asyncProperty(anything, fc.constantFrom('POST', 'PUT'), async (value, method) => {
        for (const body of [
          value,
          { config: value },
          { config: { list: value, unique: value }, profile: value },
          { config: { list: [value] } },
          { config: { list: [{ sublist: [value], index: value, list_uid: value }] } },
        ]) {
          const { status } = await bench.call(method, '/configuration/wan/wans', body);
          expect(status).toBeLessThan(500);
        }
        for (const params of [value, { type: value }, { type: 'output', options: value }]) {
          const { status } = await bench.call('POST', '/operation', { method: 'manual_action', params });
          expect(status).toBeLessThan(500);
        }
      }),
      { numRuns: countRuns(60), seed: 7 },
    );
  });
});

describe('hostile paths', () => {
  test.each([
    '/configuration/administration/users/',
    '/configuration/administration//users',
    '/configuration/administration/users%2f',
    '/configuration/__proto__/constructor',
    '/configuration/%00',
    '/configuration/%zz',
    '/status/__proto__',
    '/status/constructor',
    '/status/%e0%a4%a',
    '/status/../../../etc/passwd',
    '/status/lte2%00',
    `/status/${'x'.repeat(8000)}`,
    `/configuration/${'a/'.repeat(3000)}`,
    '/download/log?log_file=../../etc/passwd',
    '/download/log?log_file=%00',
    '/download/log?log_file=n/',
    '/download/log?log_file=/current',
    '/download/log?log_file=__proto__/current',
    '/download/profiles?profile=__proto__',
    '/profiles/compare?profile_left=%ff&profile_right=x',
  ])('%s answers with a refusal', async (path) => {
    await using bench = await openAdmin();
    bench.router.appendLog('n', 'one');
    const { status } = await bench.call('GET', path);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect(await isAlive(bench)).toBe(true);
  });

  test('a request line longer than any router reads is refused', async () => {
    await using bench = await openAdmin();
    const filter = { p: 'username', o: 'eq', v: Array.from({ length: 200 }, (_none, one) => 'x'.repeat(100) + one) };
    expect((await bench.call('GET', withQuery(USERS, { filter }))).status).toBe(431);
    expect(await isAlive(bench)).toBe(true);
  });

  test.each([
    ['no HTTP', 'HELO router\r\n\r\n'],
    ['a header without an end', `GET /api/v2_0/profiles HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(40_000)}`],
    [
      'two lengths',
      'POST /api/v2_0/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}',
    ],
    ['a target that is no path', 'GET ::: HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('%s is refused and harms nobody', async (_what, bytes) => {
    await using bench = await openAdmin();
    expect(await sendRaw(bench, bytes)).toMatch(/^HTTP\/1\.1 4\d\d/);
    expect(await isAlive(bench)).toBe(true);
  });

  test('any filter, profile and delete parameter answers below 500', async () => {
    await using bench = await openAdmin();
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 3 }), async (word, value) => {
        for (const query of [
          { filter: word },
          { filter: value },
          { profile: word },
          { delete: word },
          { append_scheme: word },
        ]) {
          expect((await bench.call('GET', withQuery(USERS, query))).status).toBeLessThan(500);
          const other = await bench.call('DELETE', withQuery('/configuration/services/dns', query));
          expect(other.status).toBeLessThan(500);
        }
      }),
      { numRuns: countRuns(60), seed: 7 },
    );
  });

  test('hostile requests meet faults without harm', async () => {
    await using bench = await openAdmin();
    await bench.router.fault('truncated_archive');
    for (const path of ['/download/log?log_file=%zz.bz2', '/%zz', '/download/log?log_file=a/b.bz2']) {
      expect((await bench.call('GET', path)).status).toBeLessThan(500);
    }
    expect(await sendRaw(bench, 'GET ::: HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(/^HTTP\/1\.1 4\d\d/);
    const body = 'x'.repeat(2 * 1024 * 1024);
    expect((await bench.client.send('POST', '/auth/login', { body })).status).toBe(413);
  });
});
