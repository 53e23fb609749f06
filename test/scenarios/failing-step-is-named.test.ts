import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { RouterAnswer } from '../../src/web/index.ts';
import { advanceUntil } from '../support/advance-until.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { findFreePort } from '../support/free-port.ts';

async function describeRouter(fleet: Fleet, index: number): Promise<RouterAnswer> {
  const response = await fetch(`${fleet.agent.urls[0]}/api/v1/routers/sim-${index + 1}`);
  return (await response.json()) as RouterAnswer;
}

function changeUrls(urls: Readonly<Record<number, (url: string) => string>>) {
  return <T extends { readonly routers: readonly { readonly url: string }[] }>(config: T): T => ({
    ...config,
    routers: config.routers.map((router, index) => ({ ...router, url: urls[index]?.(router.url) ?? router.url })),
  });
}

test('each router says at which step of the way it fails, and keeps its failures', async () => {
  const port = await findFreePort();
  await using fleet = await startFleet({
    routers: 8,
    config: changeUrls({
      0: () => 'https://no-such-router.invalid',
      1: () => `https://127.0.0.1:${port}`,
    }),
  });
  await fleet.router(2).fault('bad_certificate');
  await fleet.router(3).fault('unauthorized');
  await fleet.router(4).fault('http_500', { path: '/auth' });
  await fleet.router(5).fault('http_500', { path: '/status' });
  await fleet.router(6).fault('garbage_json', { path: '/status' });
  await fleet.advance(60_000);

  const routers = await Promise.all(Array.from({ length: 8 }, (_, index) => describeRouter(fleet, index)));
  expect(routers.map(({ state, failure, fault }) => [state, failure?.step, fault?.step])).toEqual([
    ['down', 'dns', 'dns'],
    ['down', 'connect', 'connect'],
    ['down', 'tls', 'tls'],
    ['down', 'auth', 'auth'],
    ['down', 'auth', 'auth'],
    ['up', undefined, 'http'],
    ['up', undefined, 'parse'],
    ['up', undefined, undefined],
  ]);
  expect(routers[0]?.fault).toMatchObject({ resource: null, error: expect.stringContaining('found no address') });
  expect(routers[6]?.fault?.resource).toMatch(/./);
  expect(routers[4]?.session).toMatchObject({ state: 'failed', logins: 0 });
  expect(routers[7]?.session).toMatchObject({ state: 'open', logins: 1 });

  // It gets well; what was wrong is still to be seen.
  await fleet.router(4).clearFault('http_500');
  await fleet.advance(20 * 60_000);
  const healed = await describeRouter(fleet, 4);
  expect([healed.state, healed.fault, healed.since]).toEqual(['up', null, expect.any(String)]);
  expect(healed.recentPolls.find(({ ok }) => !ok)?.fault?.step).toBe('auth');
  expect(healed.recentPolls[0]).toMatchObject({ ok: true, fault: null });
});

test.each([
  ['http_500', 'http', 'http'],
  ['forbidden', 'auth', 'http'],
  ['garbage_json', 'parse', 'parse'],
] as const)('a router that lets the account in and gives nothing (%s) is down: %s, %s', async (fault, reason, step) => {
  await using fleet = await startFleet();
  await fleet.advance(60_000);
  expect(await fleet.metrics()).toContain('router_up{router="sim-1"} 1\n');
  // The session is valid, so there is no login meanwhile.
  await fleet.router().fault(fault);
  await fleet.advance(60_000);

  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_up{router="sim-1"} 0\n');
  expect(metrics).toContain(`router_failure_reason{router="sim-1",reason="${reason}"} 1\n`);
  const { state, failure, fault: shown } = await describeRouter(fleet, 0);
  expect([state, failure?.reason, failure?.step, shown?.step]).toEqual(['down', reason, step, step]);
});

test('a router that was up, and then accepts connections without a word, fails at TLS', async () => {
  const sockets: Socket[] = [];
  let target: number | undefined;
  const front = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    if (target !== undefined) socket.pipe(connect(target, '127.0.0.1').on('error', () => {})).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
  const { port } = front.address() as AddressInfo;
  await using fleet = await startFleet({ config: changeUrls({ 0: () => `https://127.0.0.1:${port}` }) });
  target = Number(new URL(fleet.router().url).port);
  await fleet.advance(60_000);
  expect((await describeRouter(fleet, 0)).state).toBe('up');
  target = undefined;
  for (const socket of sockets) socket.destroy();

  const failures = async () => (await describeRouter(fleet, 0)).recentPolls.filter(({ ok }) => !ok);
  const hasFailedTwice = async () => {
    while ((await failures()).length < 2) await setImmediate();
  };
  // In small steps, so that there is time for a connection.
  await advanceUntil(hasFailedTwice(), fleet.clock, 100);
  const [newest] = await failures();
  // Otherwise stopping would wait for the clock.
  front.close();
  for (const socket of sockets) socket.destroy();
  expect(newest?.fault?.step).toBe('tls');
});

test('a resource that fails in a router that is up is the fault of the poll, and its failure is not', async () => {
  await using fleet = await startFleet();
  await fleet.router().fault('http_500', { path: '/status/sysdetail/system' });
  await fleet.advance(60_000);
  const { state, failure, fault, recentPolls } = await describeRouter(fleet, 0);
  expect([state, failure]).toEqual(['up', null]);
  expect(fault).toMatchObject({ step: 'http', resource: 'sysdetail/system' });
  expect(recentPolls[0]).toMatchObject({ ok: true, reason: null, error: null, fault });
  await fleet.router().clearFault('http_500');
});

test('the last records and positions of logs are shown as they were stored, redacted', async () => {
  await using fleet = await startFleet({
    config: (config) => ({ ...config, redact: [{ pattern: 'pw=\\S+', replacement: '[redacted]' }] }),
  });
  for (let line = 0; line < 30; line++) fleet.router().appendLog('network', `line ${line} pw=hunter2`);
  await fleet.advance(90_000);
  const { recentRecords, logs, logLagSeconds } = await describeRouter(fleet, 0);
  expect(recentRecords).toHaveLength(20);
  expect(recentRecords[0]).toMatchObject({
    component: 'network',
    message: expect.stringContaining('line 29 [redacted]'),
  });
  expect(logs.find(({ component }) => component === 'network')?.position).toEqual({
    file: 'network/current',
    offset: expect.any(Number),
  });
  expect(logLagSeconds).toBeGreaterThanOrEqual(0);
});
