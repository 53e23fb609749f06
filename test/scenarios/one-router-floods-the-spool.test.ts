import { expect, test } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import type { Config } from '../../src/config/index.ts';
import { startFleet } from '../support/fleet.ts';
import { createHttpSettings } from '../support/sink-settings.ts';
import { openHttpServer } from '../support/sinks/http-server.ts';

const MINUTE_MS = 60_000;
const MINUTES = 20;
const FLOOD_LINES = 40;

test('a router that floods the spool while the sink is down is paused alone; the others go on, and no line is lost', async () => {
  const authorization = `Basic ${Buffer.from('agent:right').toString('base64')}`;
  await using server = await openHttpServer({ authorization });
  const withPassword = (password: string) => (config: Config) => ({
    ...config,
    storage: { ...config.storage, spool_max: 32 * 1024 },
    sinks: [
      createHttpSettings('collector', server.url, {
        username: 'agent',
        password: new Secret(password),
      }),
    ],
  });
  await using fleet = await startFleet({
    routers: 3,
    config: withPassword('wrong'),
    router: { logs: { enabled: true, interval: MINUTE_MS, start: 'all', components: ['network'] } },
  });
  for (let minute = 0; minute < MINUTES; minute++) {
    for (let line = 0; line < FLOOD_LINES; line++) {
      const seed = minute * FLOOD_LINES + line;
      fleet.router(0).appendLog('network', `line ${seed} ${Math.sin(seed)} ${Math.cos(seed)} ${Math.tan(seed)}`);
    }
    for (const index of [1, 2]) fleet.router(index).appendLog('network', `line ${minute}`);
    await fleet.advance(MINUTE_MS);
  }
  await fleet.advance(MINUTE_MS);

  const agentMetrics = () => fleet.metrics('/metrics/agent');
  expect(await agentMetrics()).toMatch(/^router_exporter_spool_held_back 0$/m);
  expect(await agentMetrics()).toMatch(/^router_exporter_spool_held_back_routers 1$/m);
  const metrics = await fleet.metrics();
  const linesOf = (name: string) =>
    Number(new RegExp(`^router_log_lines_total\\{router="${name}".*\\} (\\d+)$`, 'm').exec(metrics)?.[1]);
  expect(linesOf('sim-1')).toBeLessThan(MINUTES * FLOOD_LINES);
  expect([linesOf('sim-2'), linesOf('sim-3')]).toEqual([MINUTES, MINUTES]);
  expect(await fleet.metrics('/')).toContain('Log reading is paused for 1 of 3 routers');
  expect(await fleet.metrics('/sinks')).toContain('Log reading is paused for 1 router:</strong> sim-1.');
  expect(await fleet.metrics('/router/sim-1?view=agent')).toContain('take as much of the spool as is free');
  const pauses = fleet.ownLog.filter(({ message }) => message.startsWith('Log reading'));
  expect(pauses).toMatchObject([{ level: 'error', fields: { router: 'sim-1' } }]);

  expect(await fleet.reload(withPassword('right'))).toEqual({ ok: true });
  await fleet.advance(10 * MINUTE_MS);
  expect(await agentMetrics()).toMatch(/^router_exporter_spool_held_back_routers 0$/m);
  const messagesOf = (name: string) =>
    server
      .records()
      .filter(({ router }) => router === name)
      .map(({ message }) => String(message).split(' ', 2).join(' '));
  const count = (lines: number) => Array.from({ length: lines }, (_, index) => `line ${index}`);
  expect(messagesOf('sim-1')).toEqual(count(MINUTES * FLOOD_LINES));
  for (const name of ['sim-2', 'sim-3']) expect(messagesOf(name)).toEqual(count(MINUTES));
});
