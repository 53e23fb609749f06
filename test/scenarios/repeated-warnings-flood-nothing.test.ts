import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answerJson, openRouter } from '../client/http-router.ts';
import type { OwnLine } from '../support/collecting-logger.ts';
import { startFleet } from '../support/fleet.ts';
import { createHttpSettings } from '../support/sink-settings.ts';
import { openMisbehavingServer } from '../support/sinks/misbehaving-server.ts';

const MINUTE_MS = 60_000;
const LOGS = 40;
const PROFILES = 30;

/** Lines that an operator sees at the default level, by message. */
function countWarnings(lines: readonly OwnLine[]): Record<string, OwnLine[]> {
  const warnings = lines.filter(({ level }) => level === 'warn' || level === 'error');
  return Object.fromEntries(
    Object.entries(Object.groupBy(warnings, ({ message }) => message)).map(([key, all = []]) => [key, all]),
  );
}

test('a router whose listed logs and profiles are all 404 gives a line a minute of each kind, with counts', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-backups-'));
  await using router = await openRouter((request, response) => {
    const { url = '' } = request;
    const names = (count: number, name: string) => Array.from({ length: count }, (_, index) => `${name}${index}`);
    if (url.includes('list_files')) {
      const log_files = names(LOGS, 'app').flatMap((log) => [`${log}/current`, `${log}/log-2026-11-20-10:00:00.bz2`]);
      answerJson(response, { log_files });
    } else if (url.endsWith('/profiles')) {
      answerJson(response, {
        profiles: names(PROFILES, 'p').map((name) => ({ name, last_activated: false, modified: false })),
      });
    } else answerJson(response, { error: [{ log_file: 'not found' }] }, 404);
  });
  await using fleet = await startFleet({
    router: { url: router.url },
    config: (config) => ({
      ...config,
      backup: { schedule: '* * * * *', path: folder.path, keep: 3, format: 'binary' },
    }),
  });
  await fleet.advance(10 * MINUTE_MS);
  const kinds = countWarnings(fleet.ownLog);
  expect(Object.keys(kinds)).toEqual(
    expect.arrayContaining(['A log file could not be read', 'A profile could not be backed up']),
  );
  for (const lines of Object.values(kinds)) expect(lines.length).toBeLessThanOrEqual(11);
  const [first, second] = kinds['A profile could not be backed up'] ?? [];
  // The first at once, all others of its minute in one line.
  expect(first?.fields).toEqual({ router: 'sim-1', profile: 'p0', error: expect.stringContaining('404') });
  expect(second?.fields).toEqual({ ...first?.fields, profile: `p${PROFILES - 1}`, times: PROFILES - 1 });
  const logLines = kinds['A log file could not be read'] ?? [];
  const logs = logLines.reduce((sum, { fields }) => sum + Number(fields['times'] ?? 1), 0);
  expect(logs).toBeGreaterThanOrEqual(LOGS);
  // No log hides the others: as many are named as fit into a line.
  expect(logLines[1]?.fields['components']).toHaveLength(20);
});

test('a sink that fails and one that refuses each record give a line a minute of each kind, with counts', async () => {
  await using server = await openMisbehavingServer(() => ({ status: 400, body: 'no such field' }));
  await using fleet = await startFleet({
    config: (config) => ({
      ...config,
      sinks: [
        createHttpSettings('away', 'http://127.0.0.1:1'),
        createHttpSettings('refuses', server.url, { batch: { recordsMax: 1, bytesMax: 1024 ** 2, waitMs: 0 } }),
      ],
    }),
    router: { logs: { enabled: true, interval: MINUTE_MS, start: 'all', components: ['network'] } },
  });
  for (let line = 0; line < 40; line++) fleet.router().appendLog('network', `line ${line}`);
  await fleet.advance(3 * MINUTE_MS);
  const of = (name: string, text: string) =>
    (countWarnings(fleet.ownLog)[text] ?? []).map(({ fields }) => fields).filter(({ sink }) => sink === name);
  const failures = of('away', 'A sink failed');
  expect(failures[0]).toEqual({
    sink: 'away',
    reason: 'unreachable',
    error: expect.stringContaining('could not connect'),
  });
  expect(failures[1]).toEqual({ ...failures[0], times: expect.any(Number) });
  expect(failures.length).toBeLessThanOrEqual(4);
  const [first, second, ...more] = of(
    'refuses',
    'A sink rejected records permanently; they are stored as dead letters',
  );
  const error = expect.stringContaining('no such field');
  expect(first).toEqual({ sink: 'refuses', records: 1, error });
  expect(second).toEqual({ sink: 'refuses', records: 2, error, times: 2 });
  expect(more).toEqual([]);
  // After those of three batches, the sink is down, which is another kind of failure.
  expect(of('refuses', 'A sink failed')[0]).toMatchObject({ reason: 'misconfigured' });
});

test('what a router was warned about last is written when the agent stops, before its minute is over', async () => {
  await using router = await openRouter((request, response) => {
    if (request.url?.includes('list_files')) answerJson(response, { log_files: ['a/current', 'b/current'] });
    else answerJson(response, {}, 404);
  });
  await using fleet = await startFleet({ router: { url: router.url } });
  await fleet.advance(50_000);
  const read = () => countWarnings(fleet.ownLog)['A log file could not be read'] ?? [];
  expect(read()).toHaveLength(1);
  await fleet.stopAgent();
  expect(read()).toMatchObject([{}, { fields: { component: 'b', times: 1 } }]);
});
