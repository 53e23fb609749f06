import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { openClient, START_MS } from './client.ts';

const SECOND_MS = 1000;

test('a live router logs the states that its modem goes through, as its status shows them', async () => {
  const clock = createSteppedClock(START_MS);
  await using simulator = await startSimulator({
    routers: 1,
    clock,
    seed: 1,
    logActivity: 'live',
    logLinesPerSecond: 1,
  });
  const router = simulator.routers[0];
  if (!router) throw new RangeError('There is no router');
  await using client = openClient(router, simulator.caPem);
  const seen: string[] = [];
  for (let look = 0; look < 720; look++) {
    await clock.advance(5 * SECOND_MS);
    if (look % 12 === 0) router.expireTokens();
    const { access } = look % 12 === 0 ? await client.login('status') : { access: '' };
    if (access === '') continue;
    const resources = ['lte2', 'lte_serial2', 'lte3'];
    for (const resource of resources) {
      const answer = await client.get(`/status/${resource}`, access);
      if (answer.status === 200) seen.push(`${answer.json.status.unique.state}`);
    }
  }

  const logged = router.truth('modem').flatMap(({ text }) => /\] lte\w*: (.+)$/.exec(text)?.[1] ?? []);
  expect(logged).toContain('Online');
  expect(logged).toContain('Logging in');
  for (const state of new Set(seen)) expect(logged).toContain(state);
});

test('a live router logs the links of its ports as they change', async () => {
  const clock = createSteppedClock(START_MS);
  await using simulator = await startSimulator({
    routers: 1,
    clock,
    seed: 1,
    logActivity: 'live',
    logLinesPerSecond: 1,
  });
  await clock.advance(6 * 3600 * SECOND_MS);

  const links =
    simulator.routers[0]
      ?.truth('system')
      .flatMap(({ text }) => /ethernet\d: port (\S+) link (up|down)$/.exec(text)?.slice(1) ?? []) ?? [];

  expect(links).toContain('up');
  expect(links).toContain('down');
});
