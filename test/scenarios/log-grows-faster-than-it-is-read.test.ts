import { expect, test } from 'vitest';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { createStdoutSettings } from '../support/sink-settings.ts';

const SECOND_MS = 1000;

/** A router that keeps three files of 4 KiB. */
const SMALL_LOGS = { maxSizeBytes: 4096, maxFiles: 2, compressionMs: 0 } as const;

function countLooks(fleet: Fleet): number {
  return fleet.router().counters.requests['GET /download/log?list_files'] ?? 0;
}

async function write(fleet: Fleet, seconds: number, linesPerSecond: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    for (let line = 0; line < linesPerSecond; line++) {
      fleet.router().appendLog('network', `line ${second}.${line} ${'x'.repeat(60)}`);
    }
    await fleet.advance(SECOND_MS);
  }
}

test('a log that the router would soon delete is read more often, so that nothing is lost, and the danger is shown', async () => {
  await using fleet = await startFleet({ router: { modules: [] }, simulator: { logs: SMALL_LOGS } });
  await write(fleet, 60, 1);
  const before = countLooks(fleet);
  await write(fleet, 300, 3);
  await fleet.advance(60 * SECOND_MS);

  // Ten looks at the configured interval of 30 s.
  expect(countLooks(fleet) - before).toBeGreaterThan(20);
  expect(fleet.records.filter(({ event }) => event === 'log.gap')).toEqual([]);
  expect(fleet.records.filter(({ event }) => event === undefined)).toHaveLength(60 + 900);
  const seconds = /^router_log_time_to_loss_seconds\{router="sim-1",component="network"\} (\S+)$/m.exec(
    await fleet.metrics(),
  );
  expect(Number(seconds?.[1])).toBeGreaterThan(0);
  expect(Number(seconds?.[1])).toBeLessThan(600);
});

test('a log that grows slowly is read at the configured interval and no more often', async () => {
  await using fleet = await startFleet({ router: { modules: [] } });
  for (let minute = 0; minute < 30; minute++) {
    fleet.router().appendLog('network', `line ${minute}`);
    await fleet.advance(60 * SECOND_MS);
  }

  // The first contact lists twice.
  expect(countLooks(fleet)).toBeGreaterThanOrEqual(60);
  expect(countLooks(fleet)).toBeLessThanOrEqual(61);
});

test('on first contact a log is read from now on, or as far back as configured', async () => {
  for (const [start, expected, told] of [
    // The first line behind what is passed over comes later, and with it the end of the gap.
    ['now', ['after'], ['log.gap', 'log.gap_end']],
    [{ backMs: 20 * 60 * SECOND_MS }, ['recent', 'after'], ['log.gap']],
    ['all', ['old', 'recent', 'after'], []],
  ] as const) {
    await using fleet = await startFleet({
      router: { modules: [], logs: { enabled: true, interval: 30_000, start, components: ['*'] } },
      config: (config) => ({ ...config, sinks: [] }),
    });
    fleet.router().appendLog('network', 'old');
    await fleet.advance(30 * 60 * SECOND_MS);
    fleet.router().appendLog('network', 'recent');
    await fleet.advance(60 * SECOND_MS);
    await fleet.reload((config) => ({ ...config, sinks: [createStdoutSettings('console')] }));
    await fleet.advance(60 * SECOND_MS);
    fleet.router().appendLog('network', 'after');
    await fleet.advance(60 * SECOND_MS);

    const lines = fleet.records.filter(({ event }) => event === undefined);
    expect({ start, messages: lines.map(({ message }) => message) }).toEqual({ start, messages: expected });
    // What the configuration passes over is said once, like everything that is not delivered.
    expect(fleet.records.flatMap(({ event }) => event ?? [])).toEqual(told);
  }
});

test('a removed router keeps its place in its logs for some days, and is forgotten then', async () => {
  await using fleet = await startFleet({ router: { modules: [] } });
  const nobody = (config: Parameters<NonNullable<Parameters<Fleet['reload']>[0]>>[0]) => ({ ...config, routers: [] });
  fleet.router().appendLog('network', 'one');
  await fleet.advance(60 * SECOND_MS);
  await fleet.reload(nobody);
  await fleet.advance(2 * 86_400 * SECOND_MS);
  await fleet.reload((config) => config);
  await fleet.advance(60 * SECOND_MS);
  expect(fleet.records).toHaveLength(1);

  await fleet.reload(nobody);
  await fleet.advance(8 * 86_400 * SECOND_MS);
  await fleet.reload(nobody);
  await fleet.reload((config) => config);
  await fleet.advance(60 * SECOND_MS);
  const uids = fleet.records.map(({ uid }) => uid);
  expect(uids).toHaveLength(2);
  // Read anew, and the same line all the same.
  expect(new Set(uids).size).toBe(1);
});
