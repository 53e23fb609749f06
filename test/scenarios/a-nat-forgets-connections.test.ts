import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openCountingProxy } from '../client/counting-proxy.ts';
import { startFleet } from '../support/fleet.ts';

const SECOND_MS = 1000;
/** Polls of the test, one a minute. */
const POLLS = 12;
/** Iterations of the event loop after which everything waits for the clock. */
const TURNS_MAX = 3000;

test('a NAT that forgets idle connections costs no poll, and soon no time: the router stays up', async () => {
  await using fleet = await startFleet({
    isStopped: true,
    router: {
      poll: {
        interval: 60 * SECOND_MS,
        timeout: 10 * SECOND_MS,
        connect_timeout: 5 * SECOND_MS,
        deadline: 10 * SECOND_MS,
        stale_after: 180 * SECOND_MS,
      },
      logs: { enabled: false, interval: 60 * SECOND_MS, start: 'all', components: ['*'] },
    },
  });
  await using nat = await openCountingProxy(Number(new URL(fleet.router().url).port));
  fleet.propose((config) => ({
    ...config,
    routers: config.routers.map((router) => ({ ...router, url: `https://127.0.0.1:${nat.port}` })),
  }));
  await fleet.startAgent();
  const settle = async () => {
    let turns = 0;
    const outwait = async () => {
      while (turns++ < TURNS_MAX) await setImmediate();
    };
    await Promise.race([fleet.agent.whenIdle(), outwait()]);
    turns = TURNS_MAX;
  };
  const readNumber = async (pattern: RegExp) => Number(pattern.exec(await fleet.metrics())?.[1]);
  const durations: number[] = [];
  for (let poll = 0; poll < POLLS; poll++) {
    await fleet.clock.advance(30 * SECOND_MS, settle);
    nat.forget();
    await fleet.clock.advance(30 * SECOND_MS, settle);
    expect(await readNumber(/^router_up\{.*\} (\d)$/m)).toBe(1);
    durations.push(await readNumber(/^router_poll_duration_seconds\{.*\} (\S+)$/m));
  }
  expect(nat.swallowed).toBe(3);
  // Half a time limit each time, and then nothing.
  expect(durations).toEqual([0, 5, 5, 5, ...Array.from({ length: POLLS - 4 }, () => 0)]);
  expect(fleet.ownLog.filter(({ message }) => /down|failed/.test(message))).toEqual([]);
});
