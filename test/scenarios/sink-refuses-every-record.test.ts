import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';
import { createHttpSettings } from '../support/sink-settings.ts';
import { openMisbehavingServer } from '../support/sinks/misbehaving-server.ts';

const MINUTE_MS = 60_000;
const LINES = 300;
const BATCH = { recordsMax: 50, bytesMax: 1024 ** 2, waitMs: 0 };

test('a sink that refuses every record of three batches is down, makes no more dead letters, and goes on when it takes records', async () => {
  let isRefusing = true;
  const messages: unknown[] = [];
  await using server = await openMisbehavingServer(({ body }) => {
    if (isRefusing) return { status: 400, body: 'no such field' };
    for (const line of body.toString().split('\n').filter(Boolean)) messages.push(JSON.parse(line).message);
    return { status: 204 };
  });
  await using fleet = await startFleet({
    config: (config) => ({ ...config, sinks: [createHttpSettings('collector', server.url, { batch: BATCH })] }),
    router: { logs: { enabled: true, interval: MINUTE_MS, start: 'all', components: ['network'] } },
  });
  for (let line = 0; line < LINES; line++) fleet.router().appendLog('network', `line ${line}`);
  await fleet.advance(5 * MINUTE_MS);
  const metrics = () => fleet.metrics('/metrics/agent');
  expect(await metrics()).toMatch(/^router_exporter_sink_up\{sink="collector"\} 0$/m);
  expect(await metrics()).toMatch(
    /^router_exporter_sink_failures_total\{sink="collector",reason="misconfigured"\} \d+$/m,
  );
  expect(await metrics()).toMatch(/^router_exporter_dead_letters\{sink="collector"\} 150$/m);
  expect(await fleet.metrics('/sinks')).toContain('refused every record of 3 batches in a row');
  expect(fleet.ownLog).toContainEqual(
    expect.objectContaining({
      message: 'A sink failed',
      fields: expect.objectContaining({ error: expect.stringContaining('no such field') }),
    }),
  );
  // It is tried now and then: the batch, and one record of it.
  const requestsBefore = server.requests.length;
  await fleet.advance(60 * MINUTE_MS);
  expect(server.requests.length - requestsBefore).toBeLessThanOrEqual(120);
  expect(await metrics()).toMatch(/^router_exporter_dead_letters\{sink="collector"\} 150$/m);

  isRefusing = false;
  await fleet.advance(10 * MINUTE_MS);
  expect(messages).toEqual(Array.from({ length: LINES - 150 }, (_, index) => `line ${index + 150}`));
  expect(await metrics()).toMatch(/^router_exporter_sink_up\{sink="collector"\} 1$/m);
});
