import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';
import { createHttpSettings } from '../support/sink-settings.ts';
import { openMisbehavingServer } from '../support/sinks/misbehaving-server.ts';

const MINUTE_MS = 60_000;
const ROUNDS = 5;
const LINES = 200;
const BATCH = { recordsMax: 50, bytesMax: 1024 ** 2, waitMs: 0 };

test('a sink that refuses nearly everything displaces no dead letter of another sink, and writes a line a minute', async () => {
  // One record of each batch is accepted, so that the sink does not count as misconfigured.
  await using flooding = await openMisbehavingServer(({ body }) => {
    const isPoor = body.toString().includes('flood');
    return isPoor ? { status: 400, body: 'no such field' } : { status: 204 };
  });
  await using picky = await openMisbehavingServer(({ body }) =>
    body.toString().includes('poison') ? { status: 400, body: 'poison' } : { status: 204 },
  );
  await using fleet = await startFleet({
    config: (config) => ({
      ...config,
      dead_letters: { ...config.dead_letters, max: 100_000 },
      sinks: [
        createHttpSettings('flooding', flooding.url, { batch: BATCH }),
        createHttpSettings('picky', picky.url, { batch: BATCH }),
      ],
    }),
    router: { logs: { enabled: true, interval: MINUTE_MS, start: 'all', components: ['network'] } },
  });
  const metrics = () => fleet.metrics('/metrics/agent');
  fleet.router().appendLog('network', 'poison');
  await fleet.advance(2 * MINUTE_MS);
  expect(await metrics()).toMatch(/^router_exporter_dead_letters\{sink="picky"\} 1$/m);
  for (let round = 0; round < ROUNDS; round++) {
    for (let line = 0; line < LINES; line++) {
      fleet.router().appendLog('network', line % 25 === 0 ? 'fine' : `flood ${round} ${line}`);
    }
    await fleet.advance(MINUTE_MS);
  }
  expect(await metrics()).toMatch(/^router_exporter_dead_letters\{sink="picky"\} 1$/m);
  expect(await metrics()).toMatch(/^router_exporter_dead_letters_dropped_total\{sink="flooding"\} [1-9]\d*$/m);
  expect(await metrics()).toContain('router_exporter_dead_letters_dropped_total{sink="picky"} 0\n');
  const sum = (text: string) => {
    const lines = fleet.ownLog.filter(
      ({ level, message, fields }) => level !== 'debug' && fields['sink'] === 'flooding' && message.startsWith(text),
    );
    expect(lines.length).toBeLessThanOrEqual(ROUNDS + 1);
    return lines.reduce((total, { fields }) => total + Number(fields['records']), 0);
  };
  expect(sum('A sink rejected records permanently')).toBeGreaterThan(500);
  expect(sum('Dead letters were dropped')).toBeGreaterThan(100);
});
