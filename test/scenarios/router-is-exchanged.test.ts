import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

test('case 100: a router that takes the place of another one between two polls is recognised before its logs are read, and each line comes once', async () => {
  await using fleet = await startFleet();
  const router = fleet.router();
  for (let line = 0; line < 5; line++) router.appendLog('network', `first ${line}`);
  await fleet.advance(5 * MINUTE_MS);
  const polls = () =>
    fleet.metrics().then((text) => /^router_exporter_polls_total\{result="success"\} (\d+)$/m.exec(text)?.[1]);
  const before = await polls();
  // Logs are read half a minute after each poll.
  while ((await polls()) === before) await fleet.advance(SECOND_MS);
  await router.factoryReset();
  router.setStatus('device_info', { list: [{ serial_number: '99999999' }] });
  for (let line = 0; line < 5; line++) router.appendLog('network', `second ${line}`);
  await fleet.advance(10 * MINUTE_MS);
  for (let line = 5; line < 8; line++) router.appendLog('network', `second ${line}`);
  await fleet.advance(5 * MINUTE_MS);

  const own = fleet.records.filter(({ component }) => component === 'network');
  const messages = own.filter(({ event }) => event === undefined).map(({ message }) => message);
  const names = (which: string, count: number) => Array.from({ length: count }, (_, line) => `${which} ${line}`);
  expect(messages).toEqual([...names('first', 5), ...names('second', 8)]);
  expect(own.filter(({ event }) => event === 'log.reset')).toHaveLength(1);
  expect(new Set(fleet.records.map(({ uid }) => uid)).size).toBe(fleet.records.length);
  expect(await fleet.metrics()).toContain('serial_number="99999999"');
});
