import { expect, onTestFinished, test, vi } from 'vitest';
import { StepQueue } from '../../src/base/index.ts';
import { startFleet } from '../support/fleet.ts';
import { takeTurns } from '../support/take-turns.ts';

const SECOND_MS = 1000;

test('downloaded logs of all routers are queued on the main thread, and polls are not', async () => {
  const waiting: (() => void)[] = [];
  const next = vi.spyOn(StepQueue.prototype, 'next').mockImplementation(() => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    return promise;
  });
  onTestFinished(() => next.mockRestore());
  await using fleet = await startFleet({ routers: 2 });
  for (const index of [0, 1]) fleet.router(index).appendLog('network', 'a line');
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      await fleet.clock.advance(SECOND_MS, () => takeTurns(60));
    }
  };
  await pass(130);
  const metrics = await fleet.metrics();
  expect(metrics.match(/^router_up\{.*\} 1$/gm)).toHaveLength(2);
  expect(metrics).not.toMatch(/^router_log_lines_total\{.*\} [1-9]/m);
  next.mockRestore();
  for (const resolve of waiting) resolve();
  await fleet.advance(120 * SECOND_MS);
  expect((await fleet.metrics()).match(/^router_log_lines_total\{.*component="network".*\} [1-9]/gm)).toHaveLength(2);
});
