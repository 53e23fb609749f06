import { hashSync } from 'bcryptjs';
import { expect, test } from 'vitest';
import type { WebSecurity } from '../../src/web/index.ts';
import { openBench, toBasic } from './bench.ts';

const SECURITY: WebSecurity = { headers: {}, users: new Map(), rateLimit: { intervalMs: 2000, burst: 3 } };

test('a server with a limit answers a burst, then one request for each interval, and health checks always', async () => {
  await using bench = await openBench({}, { security: SECURITY });
  const ask = async (path = '/metrics') => (await bench.get(path)).status;
  expect([await ask(), await ask('/nothing'), await ask(), await ask()]).toEqual([200, 404, 200, 429]);
  const refused = await bench.get('/metrics');
  expect([refused.body.toString(), refused.headers['retry-after']]).toEqual([
    'Too many requests; try again later.\n',
    '2',
  ]);
  expect(await ask('/-/healthy')).toBe(200);
  await bench.clock.advance(1999);
  expect(await ask()).toBe(429);
  await bench.clock.advance(1);
  expect([await ask(), await ask()]).toEqual([200, 429]);
  await bench.clock.advance(3_600_000);
  expect([await ask(), await ask(), await ask(), await ask()]).toEqual([200, 200, 200, 429]);
});

test('the rate limit is checked before the password, so that guessing is limited, too', async () => {
  const users = new Map([['alice', hashSync('secret', 4)]]);
  await using bench = await openBench({}, { security: { ...SECURITY, users } });
  const guess = async (password: string) =>
    (await bench.get('/metrics', { headers: toBasic('alice', password) })).status;
  expect([await guess('a'), await guess('b'), await guess('c'), await guess('secret')]).toEqual([401, 401, 401, 429]);
});

test('a reload with the same limit fills nothing up, and one with another does', async () => {
  await using bench = await openBench({}, { security: SECURITY });
  const ask = async () => (await bench.get('/metrics')).status;
  for (let count = 0; count < 3; count++) await ask();
  bench.server.prepare({ security: { ...SECURITY, headers: { 'X-Frame-Options': 'deny' } } })();
  expect(await ask()).toBe(429);
  bench.server.prepare({ security: { ...SECURITY, rateLimit: { intervalMs: 2000, burst: 1 } } })();
  expect([await ask(), await ask()]).toEqual([200, 429]);
  bench.server.prepare({})();
  expect(await ask()).toBe(200);
});
