import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { EventSummary, ListedRouter } from '../../src/web/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { createFileSettings } from '../support/sink-settings.ts';

const MINUTE_MS = 60_000;

async function read<T>(fleet: Fleet, path: string): Promise<T> {
  return JSON.parse(await fleet.metrics(path)) as T;
}

async function listEvents(fleet: Fleet, query = ''): Promise<readonly EventSummary[]> {
  return (await read<{ readonly events: EventSummary[] }>(fleet, `/api/v1/events${query}`)).events;
}

const strip = (page: string) => page.replaceAll(/<[^>]*>/g, '');

test('an outage with a restart of the agent in the middle, a reboot and other firmware are told once each, to pages, API and sinks', async () => {
  let file = '';
  await using fleet = await startFleet({
    config: (config) => {
      file = join(config.storage.path, 'events.jsonl');
      const sinks = [...config.sinks, createFileSettings('events', file, { events: ['router.*'] })];
      return { ...config, sinks, routers: config.routers.map((one) => ({ ...one, labels: { site: 'munich' } })) };
    },
  });
  const router = fleet.router();
  // Everything but what happens here stays as it is.
  router.setStatus('lte2', { unique: { state: 'Online', used_sim: 'SIM 1' } });
  router.setStatus('sysstat/wan', { unique: { name: 'wan1' } });
  router.setStatus('device_info', { list: [{ firmware_version: '9.4', serial_number: '7' }] });
  await fleet.advance(5 * MINUTE_MS);
  expect((await listEvents(fleet)).map(({ kind, router: of }) => [kind, of])).toEqual([['agent.start', null]]);

  await router.fault('down');
  await fleet.advance(5 * MINUTE_MS);
  const [before] = (await read<{ readonly routers: ListedRouter[] }>(fleet, '/api/v1/routers')).routers;
  expect(before).toMatchObject({ state: 'down', failure: { step: 'connect' } });
  await fleet.stopAgent();
  await fleet.advance(10 * MINUTE_MS);
  await fleet.startAgent();
  // No poll has ended yet.
  const [after] = (await read<{ readonly routers: ListedRouter[] }>(fleet, '/api/v1/routers')).routers;
  const { state, since, failure, lastSuccess, firmware } = before ?? {};
  const { reason, step } = failure ?? {};
  expect(after).toMatchObject({ state, since, lastSuccess, firmware, isFirstState: false, failure: { reason, step } });
  expect(await fleet.metrics('/metrics')).not.toContain('router_up{');
  expect(strip(await fleet.metrics('/router/sim-1'))).toContain(`down since ${since?.slice(11, 19)} (1`);
  await fleet.advance(5 * MINUTE_MS);
  expect((await read<ListedRouter>(fleet, '/api/v1/routers/sim-1')).since).toBe(since);

  router.setStatus('device_info', { list: [{ firmware_version: '9.5', serial_number: '7' }] });
  router.restart();
  await router.clearFault('down');
  await fleet.advance(5 * MINUTE_MS);
  const events = await listEvents(fleet, '?kind=router.*&site=munich&router=sim-1');
  const kinds = events.map(({ kind }) => kind).toSorted();
  expect(kinds).toEqual(['router.boot', 'router.down', 'router.firmware', 'router.up']);
  expect(events.find(({ kind }) => kind === 'router.firmware')?.message).toBe('Firmware: 9.4 → 9.5');
  expect(events.find(({ kind }) => kind === 'router.up')?.details['down_since']).toBe(since);
  expect(await listEvents(fleet, '?site=berlin')).toEqual([]);
  expect((await listEvents(fleet, `?since=${events[0]?.at}&kind=router.*`)).map(({ at }) => at)).not.toContain(since);
  expect((await listEvents(fleet, '?kind=agent.*')).map(({ kind }) => kind)).toEqual(['agent.start', 'agent.start']);

  await fleet.stopAgent();
  await fleet.startAgent();
  expect(await listEvents(fleet, '?kind=router.*')).toEqual(events);
  await fleet.advance(5 * MINUTE_MS);
  expect(await listEvents(fleet, '?kind=router.*')).toEqual(events);
  const page = strip(await fleet.metrics('/router/sim-1?view=events'));
  for (const { message } of events) expect(page).toContain(message);
  expect(strip(await fleet.metrics('/router/sim-1'))).toContain('Firmware: 9.4 → 9.5');
  const shipped = (await readFile(file, 'utf8')).trim().split('\n');
  const records = shipped.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(records.map(({ uid }) => String(uid)).toSorted()).toEqual(events.map(({ uid }) => uid).toSorted());
  expect(records[0]).toEqual({
    observed_timestamp: since,
    router: 'sim-1',
    message: expect.stringMatching(/^The router is down: /) as string,
    uid: expect.any(String) as string,
    labels: { site: 'munich' },
    event: 'router.down',
    details: { reason: 'connect', step: 'connect', error: expect.any(String) as string },
  });
  // The other sink did not ask for them.
  expect(fleet.records.filter(({ event }) => event?.startsWith('router.'))).toEqual([]);
});

test('starts and reloads of the agent are events, kept over a restart, and belong to no router and no site', async () => {
  await using fleet = await startFleet({ routers: 2 });
  await fleet.advance(MINUTE_MS);
  await fleet.reload((config) => ({ ...config, routers: config.routers.slice(1) }));
  await fleet.advance(MINUTE_MS);
  await fleet.reload(undefined);
  await fleet.stopAgent();
  await fleet.advance(MINUTE_MS);
  fleet.propose((config) => config);
  await fleet.startAgent();
  const events = await listEvents(fleet, '?kind=agent.*');
  expect(events.map(({ kind, message, router }) => [kind, message, router])).toEqual([
    ['agent.start', 'The agent 0.0.0-test started', null],
    ['agent.reload', 'Reload failed: router-exporter.yaml:3:5: routers: Expected something else', null],
    ['agent.reload', 'Reload succeeded: 0 routers added, 0 changed, 1 removed', null],
    ['agent.start', 'The agent 0.0.0-test started', null],
  ]);
  expect(new Set(events.map(({ uid }) => uid)).size).toBe(4);
  expect(await listEvents(fleet, '?kind=agent.*&router=sim-1')).toEqual([]);
  expect(await listEvents(fleet, '?kind=agent.*&site=munich')).toEqual([]);
});
