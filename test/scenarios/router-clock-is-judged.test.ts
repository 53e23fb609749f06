import { expect, test } from 'vitest';
import type { Config } from '../../src/config/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { expectEachLineOnce } from '../support/truth.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const QUIET_LOGS = ['network', 'system', 'vpn'];

/** With the one module that reads the time of a router. */
function keepSystem(config: Config): Config {
  const isKept = ({ name }: { readonly name: string }) => name === 'system';
  return { ...config, routers: config.routers.map((one) => ({ ...one, modules: one.modules.filter(isKept) })) };
}

const jumpsOf = (fleet: Fleet) => fleet.records.filter(({ event }) => event === 'log.clock_jump');

/** A line every six minutes in each of the quiet logs, and a rotation every so many lines. */
async function writeQuietly(fleet: Fleet, lines: number, perFile = 20): Promise<void> {
  for (let line = 1; line <= lines; line++) {
    await fleet.advance(6 * MINUTE_MS);
    for (const component of QUIET_LOGS) {
      if (line % perFile === 0) fleet.router().rotate(component, `line ${line}`);
      else fleet.router().appendLog(component, `line ${line}`);
    }
  }
}

test('no line of quiet logs is a jump of the clock when the agent first comes while the newest archives are being compressed', async () => {
  await using fleet = await startFleet({
    isStopped: true,
    config: keepSystem,
    simulator: { logs: { compressionMs: 12 * SECOND_MS, maxFiles: 20 } },
  });
  // Four rotations: the archives that are there prove how files follow each other, so that newer lines wait for the last.
  await writeQuietly(fleet, 80);
  await fleet.startAgent();
  await fleet.advance(5 * MINUTE_MS);
  expect(jumpsOf(fleet)).toEqual([]);
  for (const component of QUIET_LOGS) expectEachLineOnce(fleet.records, fleet.router(), component);
  await writeQuietly(fleet, 8, 4);
  await fleet.advance(5 * MINUTE_MS);

  expect(jumpsOf(fleet)).toEqual([]);
  expect(await fleet.metrics()).not.toMatch(/^router_log_clock_jumps_total.* [1-9]/m);
  for (const component of QUIET_LOGS) expectEachLineOnce(fleet.records, fleet.router(), component);
});

/** UTC by the clock of a router in Berlin in winter, of each line that it has written. */
const winterTimes = (fleet: Fleet, component: string) =>
  fleet
    .router()
    .truth(component)
    .map(({ text }) => new Date(Date.parse(`${text.slice(0, 19).replace(' ', 'T')}+01:00`)).toISOString().slice(0, 19));

const timesOf = (fleet: Fleet, component: string) =>
  fleet.records
    .filter((record) => record.component === component)
    .map(({ timestamp, flags = [] }) => [timestamp?.slice(0, 19), ...flags].join(' '));

test('the zone of a router whose clock is an hour off is learnt before its first line, without timezone', async () => {
  await using fleet = await startFleet({
    isStopped: true,
    config: keepSystem,
    router: { timezone: undefined },
    simulator: { clockOffsetMs: -60 * MINUTE_MS, logs: { compressionMs: 12 * SECOND_MS, maxFiles: 20 } },
  });
  await writeQuietly(fleet, 50);
  await fleet.startAgent();
  await writeQuietly(fleet, 8, 4);
  await fleet.advance(5 * MINUTE_MS);

  for (const component of QUIET_LOGS) expect(timesOf(fleet, component)).toEqual(winterTimes(fleet, component));
  const learnt = fleet.ownLog.filter(({ message }) => message.startsWith('Learnt'));
  expect(learnt).toEqual([
    { level: 'info', message: 'Learnt the UTC offset of the log lines', fields: { router: 'sim-1', offset: '+1h' } },
  ]);
});

test('the zone of a router that has rotated nothing is learnt from its reported time, and survives a restart of the agent', async () => {
  await using fleet = await startFleet({ isStopped: true, config: keepSystem, router: { timezone: undefined } });
  fleet.router().appendLog('network', 'the first line');
  await fleet.startAgent();
  await fleet.advance(MINUTE_MS);
  expect(timesOf(fleet, 'network')).toEqual(['2026-11-21T12:00:00']);
  await fleet.stopAgent();
  fleet.router().setStatus('sysdetail/system', { isAbsent: true });
  await fleet.startAgent();
  fleet.router().appendLog('network', 'the second line');
  await fleet.advance(MINUTE_MS);
  expect(timesOf(fleet, 'network')).toEqual(['2026-11-21T12:00:00', '2026-11-21T12:01:00']);
});

test('a router that gives its logs and no status has its lines shipped at the first look, and what it shows later is no jump', async () => {
  await using fleet = await startFleet({ isStopped: true, config: keepSystem, router: { timezone: undefined } });
  fleet.router().setStatus('sysdetail/system', { isAbsent: true });
  fleet.router().appendLog('network', 'the first line');
  await fleet.startAgent();
  await fleet.advance(MINUTE_MS);
  expect(timesOf(fleet, 'network')).toEqual(['2026-11-21T13:00:00 zone_assumed']);
  await writeQuietly(fleet, 10, 3);
  await fleet.advance(MINUTE_MS);

  expect(timesOf(fleet, 'network').slice(-3)).toEqual(winterTimes(fleet, 'network').slice(-3));
  expect(fleet.records.filter(({ event }) => event !== undefined)).toEqual([]);
});

test('nothing is learnt where the zone is configured', async () => {
  await using fleet = await startFleet({ config: keepSystem });
  await writeQuietly(fleet, 10, 3);
  await fleet.advance(MINUTE_MS);
  expect(fleet.ownLog.filter(({ message }) => /learnt/i.test(message))).toEqual([]);
});
