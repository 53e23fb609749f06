import { expect, test } from 'vitest';
import { DeadLetterStore } from '../../src/store/index.ts';
import { startFleet } from '../support/fleet.ts';
import { createHttpSettings } from '../support/sink-settings.ts';
import { openHttpServer } from '../support/sinks/http-server.ts';

const MINUTE_MS = 60_000;

test('records that a sink refuses are dead letters with its words; marked by a command they are tried again, and the log goes on meanwhile', async () => {
  await using server = await openHttpServer({ bodyBytesMax: 2000 });
  let folder = '';
  await using fleet = await startFleet({
    router: { logs: { enabled: true, interval: MINUTE_MS, start: 'all', components: ['network'] } },
    config: (config) => {
      folder = config.storage.path;
      return { ...config, sinks: [createHttpSettings('collector', server.url)] };
    },
  });
  fleet.router().appendLog('network', 'before');
  fleet.router().appendLog('network', 'x'.repeat(3000));
  fleet.router().appendLog('network', 'after');
  await fleet.advance(2 * MINUTE_MS);
  expect(server.records().map(({ message }) => message)).toEqual(['before', 'after']);
  expect(await fleet.metrics('/metrics/agent')).toMatch(/^router_exporter_dead_letters\{sink="collector"\} 1$/m);
  expect(await fleet.metrics('/metrics/agent')).toMatch(
    /^router_exporter_sink_records_total\{sink="collector",result="dead_letter"\} 1$/m,
  );
  const { sinks } = JSON.parse(await fleet.metrics('/api/v1/sinks')) as { sinks: unknown[] };
  expect(sinks).toMatchObject([{ name: 'collector', state: 'up', deadLetters: 1, recordsWaiting: 0 }]);
  expect(fleet.ownLog).toContainEqual(
    expect.objectContaining({ message: 'A sink rejected records permanently; they are stored as dead letters' }),
  );

  // As `dead-letters replay` does while the agent runs.
  using deadLetters = new DeadLetterStore({ path: folder, role: 'guest', now: () => fleet.clock.now() });
  expect(deadLetters.list({ limit: 10 })).toMatchObject([
    { sink: 'collector', code: '413', reason: expect.stringContaining('the body is too large') },
  ]);
  expect(deadLetters.markReplay({})).toBe(1);
  await fleet.advance(MINUTE_MS);
  expect(deadLetters.list({ limit: 10 })).toMatchObject([{ sink: 'collector', code: '413', isReplayed: false }]);

  server.allowBody(10_000);
  expect(deadLetters.markReplay({})).toBe(1);
  await fleet.advance(MINUTE_MS);
  expect(deadLetters.count()).toBe(0);
  expect(server.records().map(({ message }) => String(message).slice(0, 6))).toEqual(['before', 'after', 'xxxxxx']);
  expect(await fleet.metrics('/metrics/agent')).toMatch(/^router_exporter_dead_letters\{sink="collector"\} 0$/m);
  expect(server.violations).toEqual([]);
});
