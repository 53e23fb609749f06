import { expect, test } from 'vitest';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { expectEachLineOnce } from '../support/truth.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const QUIET_LOGS = ['network', 'system', 'vpn'];

const jumpsOf = (fleet: Fleet) => fleet.records.filter(({ event }) => event === 'log.clock_jump');

/** A line every six minutes in each of the quiet logs, and a rotation every twenty lines. */
async function writeQuietly(fleet: Fleet, lines: number): Promise<void> {
  for (let line = 1; line <= lines; line++) {
    await fleet.advance(6 * MINUTE_MS);
    for (const component of QUIET_LOGS) {
      if (line % 20 === 0) fleet.router().rotate(component, `line ${line}`);
      else fleet.router().appendLog(component, `line ${line}`);
    }
  }
}

test('no line of quiet logs is a jump of the clock when the agent first comes while the newest archives are being compressed', async () => {
  await using fleet = await startFleet({
    isStopped: true,
    simulator: { logs: { compressionMs: 12 * SECOND_MS, maxFiles: 20 } },
  });
  await writeQuietly(fleet, 60);
  await fleet.startAgent();
  await fleet.advance(5 * MINUTE_MS);
  expect(jumpsOf(fleet)).toEqual([]);
  for (const component of QUIET_LOGS) expectEachLineOnce(fleet.records, fleet.router(), component);
  await writeQuietly(fleet, 21);
  await fleet.advance(5 * MINUTE_MS);

  expect(jumpsOf(fleet)).toEqual([]);
  expect(await fleet.metrics()).not.toMatch(/^router_log_clock_jumps_total.* [1-9]/m);
  for (const component of QUIET_LOGS) expectEachLineOnce(fleet.records, fleet.router(), component);
});
