import { expect, test } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import type { Config } from '../../src/config/index.ts';
import { startFleet } from '../support/fleet.ts';
import { createHttpSettings } from '../support/sink-settings.ts';
import { openHttpServer } from '../support/sinks/http-server.ts';

const MINUTE_MS = 60_000;
const LINES = 400;

test('case 72: a sink that answers 401 loses nothing: the spool fills to its bound, then no log is downloaded, until the credentials are right', async () => {
  const authorization = `Basic ${Buffer.from('agent:right').toString('base64')}`;
  await using server = await openHttpServer({ authorization });
  const withPassword = (password: string) => (config: Config) => ({
    ...config,
    storage: { ...config.storage, spool_max: 8 * 1024 },
    sinks: [
      createHttpSettings('collector', server.url, {
        username: 'agent',
        password: new Secret(password),
      }),
    ],
  });
  await using fleet = await startFleet({
    config: withPassword('wrong'),
    router: { logs: { enabled: true, interval: MINUTE_MS, start: 'all', components: ['network'] } },
  });
  const write = (from: number, to: number) => {
    for (let line = from; line < to; line++) {
      // Noise, so that compression does not make room for all of it.
      fleet.router().appendLog('network', `line ${line} ${Math.sin(line)} ${Math.cos(line)} ${Math.tan(line)}`);
    }
  };
  // One batch fits an empty spool whatever its size; what comes then does not.
  write(0, LINES / 2);
  await fleet.advance(5 * MINUTE_MS);
  write(LINES / 2, LINES);
  await fleet.advance(10 * MINUTE_MS);

  const agentMetrics = await fleet.metrics('/metrics/agent');
  expect(agentMetrics).toMatch(/^router_exporter_sink_up\{sink="collector"\} 0$/m);
  expect(agentMetrics).toMatch(/^router_exporter_spool_held_back 1$/m);
  expect(agentMetrics).toMatch(/^router_exporter_sink_failures_total\{sink="collector",reason="unauthorized"\} \d+$/m);
  expect(await fleet.metrics('/')).toContain('Log reading is paused');
  expect(fleet.ownLog.filter(({ message }) => message.startsWith('Log reading paused'))).toHaveLength(1);
  expect(JSON.stringify(fleet.ownLog)).not.toContain('wrong');

  // Not a byte of a log is paid for meanwhile.
  const lines = () => fleet.metrics().then((text) => /^router_log_bytes_total\{.*\} (\d+)$/m.exec(text)?.[1]);
  const requestsBefore = server.requests.length;
  const linesBefore = await lines();
  expect(linesBefore).toBeDefined();
  await fleet.advance(60 * MINUTE_MS);
  expect(await lines()).toBe(linesBefore);
  // Once a minute at most, lest the account is locked.
  expect(server.requests.length - requestsBefore).toBeLessThanOrEqual(60);

  expect(await fleet.reload(withPassword('right'))).toEqual({ ok: true });
  await fleet.advance(10 * MINUTE_MS);
  const messages = server.records().map(({ message }) => String(message).split(' ', 2).join(' '));
  expect(messages).toEqual(Array.from({ length: LINES }, (_, index) => `line ${index}`));
  expect(server.violations).toEqual([]);
  expect(await fleet.metrics('/metrics/agent')).toMatch(/^router_exporter_spool_held_back 0$/m);
  expect(fleet.ownLog.filter(({ message }) => message.startsWith('Log reading resumed'))).toHaveLength(1);
});
