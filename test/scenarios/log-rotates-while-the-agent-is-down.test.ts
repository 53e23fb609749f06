import { expect, test } from 'vitest';
import { createSeededRandom } from '../../src/base/index.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { startFleet } from '../support/fleet.ts';
import { expectEachLineOnce } from '../support/truth.ts';

const SECOND_MS = 1000;

test('every line is delivered once and in order across rotations and a restart of the agent', async () => {
  await using fleet = await startFleet({ routers: 2 });
  const random = createSeededRandom(42);
  let written = 0;
  const live = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      for (const router of fleet.simulator.routers) {
        for (const component of ['network', 'system']) {
          for (let count = Math.floor(random() * 4); count > 0; count--)
            router.appendLog(component, `line ${written++}`);
          if (random() < 0.01) router.rotate(component, `line ${written++}`);
        }
      }
      await fleet.advance(SECOND_MS);
    }
  };

  await live(200);
  await fleet.stopAgent();
  const deliveredBefore = fleet.records.length;
  for (const router of fleet.simulator.routers) {
    router.appendLog('network', 'written while nobody looked');
    router.rotate('network', 'and rotated');
    await fleet.clock.advance(10 * SECOND_MS);
    router.rotate('network', 'and rotated again');
  }
  // Until all archives are there: such a busy log never proves that its files follow each other to the second.
  await fleet.clock.advance(10 * SECOND_MS);
  await fleet.startAgent();
  await live(200);
  await fleet.advance(120 * SECOND_MS);

  expect(deliveredBefore).toBeGreaterThan(1000);
  for (const router of fleet.simulator.routers) {
    expectEachLineOnce(fleet.records, router, 'network');
    expectEachLineOnce(fleet.records, router, 'system');
  }
  const archived = fleet.records.filter(({ file }) => file.endsWith('.bz2'));
  expect(archived.length).toBeGreaterThan(50);
  expect(fleet.agent.summary()).toMatchObject({ gaps: 0, states: { up: 2 } });
});

test('a second agent with nothing but the configuration gives every line the same uid', async () => {
  await using first = await startFleet();
  for (let index = 0; index < 50; index++) first.router().appendLog('network', `line ${index}`);
  await first.advance(30 * SECOND_MS);
  await using second = await startFleet();
  for (let index = 0; index < 50; index++) second.router().appendLog('network', `line ${index}`);
  second.router().rotate('network');
  await second.advance(90 * SECOND_MS);

  expect(first.records).toHaveLength(50);
  expect(identify(second.records)).toEqual(identify(first.records));
});

/** Identity and time of each line by its message. */
function identify(records: readonly LogRecord[]) {
  return Object.fromEntries(
    records
      .filter(({ message }) => message.startsWith('line '))
      .map(({ message, uid, timestamp }) => [message, { uid, timestamp }]),
  );
}
