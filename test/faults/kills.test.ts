import { expect, test } from 'vitest';
import { createSeededRandom } from '../../src/base/index.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { type Moment, openFaultBench } from './fault-bench.ts';

/** `FAULT_KILLS` is another number. */
const KILLS = Number(process.env['FAULT_KILLS'] ?? sampled('kills of the agent', 12, 3));
const MOMENTS: readonly Moment[] = ['unread', 'stored', 'answered'];
/** An agent is killed when at most so many documents have come from it: within a second or two of its start. */
const DOCUMENTS_MAX = 300;

test(`an agent that is killed again and again under load loses no line, and none is twice at a sink with a key${sampleNote('kills of the agent')}`, {
  timeout: 120_000 + KILLS * 20_000,
}, async () => {
  await using bench = await openFaultBench();
  const random = createSeededRandom(7);
  const stop = bench.keepWriting();
  for (let kill = 0; kill < KILLS; kill++) {
    const arrived = bench.receiver.untilArrived(Math.ceil(random() * DOCUMENTS_MAX), MOMENTS[kill % MOMENTS.length]);
    await using agent = await bench.startAgent();
    await arrived;
    agent.process.kill('SIGKILL');
    expect(await agent.ended).toMatchObject({ signal: 'SIGKILL' });
  }
  stop();
  await using agent = await bench.startAgent();
  await bench.expectComplete();
  agent.process.kill('SIGTERM');
  expect(await agent.ended).toMatchObject({ code: 0 });
});
