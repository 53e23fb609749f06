import { expect, test } from 'vitest';
import type { Config } from '../../src/config/index.ts';
import type { LifecycleWish } from '../../src/model/index.ts';
import type { LifecycleSummary, RouterSummary } from '../../src/web/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { expectEachLineOnce } from '../support/truth.ts';

const MINUTE_MS = 60_000;
/** Requests for states are allowed, and routers are asked for little. */
const QUICK = { web: { isLifecycleEnabled: true }, router: { modules: [] } };

function rest(fleet: Fleet, name: string, body: object | string): Promise<Response> {
  return fetch(`${fleet.agent.urls[0]}/api/v1/routers/${name}/state`, {
    method: 'PUT',
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

async function summarize(fleet: Fleet, name: string): Promise<RouterSummary> {
  const response = await fetch(`${fleet.agent.urls[0]}/api/v1/routers/${name}`);
  return (await response.json()) as RouterSummary;
}

/** Gives the first router this state in the configuration. */
function inState(wish: LifecycleWish | undefined) {
  const state = { state: wish?.state, state_until: wish?.untilMs };
  return (config: Config): Config => ({
    ...config,
    routers: config.routers.map((router, index) => (index === 0 ? { ...router, ...state } : router)),
  });
}

function requestsOf(fleet: Fleet): number {
  return Object.values(fleet.router().counters.requests).reduce((sum, count) => sum + count, 0);
}

test('a router in maintenance is polled as before in the same session, and its series say so until the end comes', async () => {
  await using fleet = await startFleet({ routers: 2, ...QUICK });
  await fleet.advance(2 * MINUTE_MS);
  const until = new Date(fleet.clock.now() + 10 * MINUTE_MS).toISOString();

  const answer = await rest(fleet, 'sim-1', { state: 'maintenance', until });
  const during = await fleet.metrics();
  const summary = await summarize(fleet, 'sim-1');
  const page = await (await fetch(`${fleet.agent.urls[0]}/router/sim-1`)).text();
  await fleet.advance(5 * MINUTE_MS);
  const later = await fleet.metrics();
  await fleet.advance(6 * MINUTE_MS);
  const after = await fleet.metrics();

  expect([answer.status, (await answer.json()) as LifecycleSummary]).toEqual([
    200,
    { state: 'maintenance', until, setBy: 'request' },
  ]);
  for (const metrics of [during, later]) {
    expect(metrics).toContain('router_maintenance{router="sim-1"} 1\n');
    expect(metrics).not.toContain('router_maintenance{router="sim-2"}');
    expect(metrics).toContain('router_up{router="sim-1"} 1\n');
  }
  expect(summary).toMatchObject({ state: 'up', lifecycle: { state: 'maintenance', until, setBy: 'request' } });
  expect(page).toContain('In the state maintenance');
  expect(after).not.toContain('router_maintenance{');
  expect(fleet.router().counters).toMatchObject({ logins: 1, logouts: 0 });
  expect(fleet.ownLog.filter(({ message }) => message === 'The state of a router changed')).toMatchObject([
    { fields: { router: 'sim-1', state: 'maintenance', until, setBy: 'request' } },
    { fields: { router: 'sim-1', state: 'active', setBy: 'default' } },
  ]);
});

test('a paused router is logged out of and not asked, also by a restarted agent; afterwards all of its log is read', async () => {
  await using fleet = await startFleet({ ...QUICK, simulator: { logs: { compressionMs: 0 } } });
  fleet.router().appendLog('network', 'before the pause');
  await fleet.advance(2 * MINUTE_MS);

  const paused = await rest(fleet, 'sim-1', { state: 'paused' });
  const before = requestsOf(fleet);
  fleet.router().appendLog('network', 'while it is paused');
  await fleet.advance(10 * MINUTE_MS);
  await fleet.stopAgent();
  await fleet.startAgent();
  await fleet.advance(10 * MINUTE_MS);
  const metrics = await fleet.metrics();
  const summary = await summarize(fleet, 'sim-1');
  const during = requestsOf(fleet);
  await rest(fleet, 'sim-1', { state: 'active' });
  await fleet.advance(3 * MINUTE_MS);

  expect(paused.status).toBe(200);
  expect(fleet.router().counters.logouts).toBe(1);
  expect(during).toBe(before);
  expect(summary).toMatchObject({ state: 'paused', lifecycle: { state: 'paused', until: null, setBy: 'request' } });
  expect(metrics).not.toContain('router_up{');
  expect(metrics).toContain('router_exporter_routers{state="paused"} 1\n');
  expect(await fleet.metrics()).toContain('router_up{router="sim-1"} 1\n');
  expectEachLineOnce(fleet.records, fleet.router(), 'network');
  expect(fleet.agent.summary().gaps).toBe(0);
});

test('what a router deletes while it is paused is a gap with that reason, and what is left is read', async () => {
  await using fleet = await startFleet({ ...QUICK, simulator: { logs: { compressionMs: 0, maxFiles: 2 } } });
  fleet.router().appendLog('network', 'read');
  await fleet.advance(2 * MINUTE_MS);
  const until = new Date(fleet.clock.now() + 13 * MINUTE_MS).toISOString();
  await rest(fleet, 'sim-1', { state: 'paused', until });
  fleet.router().appendLog('network', 'lost');
  for (let index = 0; index < 6; index++) {
    fleet.router().rotate('network');
    fleet.router().appendLog('network', `later ${index}`);
    await fleet.advance(2 * MINUTE_MS);
  }

  await fleet.advance(20 * MINUTE_MS);

  const gaps = fleet.records.filter(({ event }) => event === 'log.gap');
  expect(gaps.map(({ details }) => details?.['reason'])).toEqual(['paused']);
  expect(fleet.records.filter(({ message }) => message === 'later 5')).toHaveLength(1);
  expect(await fleet.metrics()).toMatch(
    /^router_log_gaps_total\{router="sim-1",component="network",certainty="\w+",reason="paused"\} 1$/m,
  );
});

test('a retired router has no series, not even after a reload, and is not offered to Prometheus; afterwards it is as any', async () => {
  await using fleet = await startFleet({ routers: 2, ...QUICK });
  await fleet.advance(2 * MINUTE_MS);

  await rest(fleet, 'sim-1', { state: 'retired' });
  const before = requestsOf(fleet);
  await fleet.reload((config) => ({ ...config, log_rules: [] }));
  await fleet.advance(10 * MINUTE_MS);
  const metrics = await fleet.metrics();
  const targets = await (await fetch(`${fleet.agent.urls[0]}/sd`)).text();
  const during = requestsOf(fleet);
  const summary = await summarize(fleet, 'sim-1');
  await rest(fleet, 'sim-1', { state: 'active' });
  await fleet.advance(2 * MINUTE_MS);

  expect(metrics).not.toContain('"sim-1"');
  expect(metrics).toContain('router_exporter_routers{state="retired"} 1\n');
  expect(targets).not.toContain('"sim-1"');
  expect(targets).toContain('"sim-2"');
  expect(during).toBe(before);
  expect(summary.state).toBe('retired');
  expect(await fleet.metrics()).toContain('router_up{router="sim-1"} 1\n');
});

test('a state of the configuration is taken over by a reload and wins over requests until its end', async () => {
  await using fleet = await startFleet({ ...QUICK });
  await fleet.advance(2 * MINUTE_MS);
  const untilMs = fleet.clock.now() + 10 * MINUTE_MS;
  await fleet.reload(inState({ state: 'paused', untilMs }));
  const before = requestsOf(fleet);

  const refused = await rest(fleet, 'sim-1', { state: 'active' });
  await fleet.advance(9 * MINUTE_MS);
  const during = requestsOf(fleet);
  await fleet.advance(3 * MINUTE_MS);

  expect([refused.status, await refused.text()]).toEqual([
    409,
    expect.stringContaining('configuration sets the state'),
  ]);
  expect(during).toBe(before);
  expect(await summarize(fleet, 'sim-1')).toMatchObject({
    state: 'up',
    lifecycle: { state: 'active', setBy: 'default' },
  });
  expect((await rest(fleet, 'sim-1', { state: 'maintenance' })).status).toBe(200);
});
