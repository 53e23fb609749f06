import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { WorkGate } from '../../src/schedule/work-gate.ts';

const LOOK_MS = 100;

/** A gate, and turns of the event loop that last so long. */
function createGate() {
  const clock = createSteppedClock(0);
  const state = { work: 0, workMax: Number.POSITIVE_INFINITY, arePollsLate: false };
  const late: (() => void)[] = [];
  let lateMs = 0;
  const gate = new WorkGate({
    clock: {
      ...clock,
      // A timer of a busy event loop fires when its turn comes.
      setTimer: (delayMs, fire) => {
        late.push(fire);
        return clock.setTimer(delayMs + lateMs, fire);
      },
    },
    countWork: () => state.work,
    arePollsLate: () => state.arePollsLate,
    onChange: (workMax) => {
      state.workMax = workMax;
    },
  });
  const turns = async (count: number, ms: number) => {
    lateMs = ms;
    gate.stop();
    gate.watch();
    for (let turn = 0; turn < count; turn++) await clock.advance(LOOK_MS + ms);
  };
  return { gate, state, turns, clock, late };
}

test('long turns of the event loop shrink what is under way, and short ones let it grow until nothing bounds it', async () => {
  const { state, turns } = createGate();
  state.work = 300;
  await turns(2, 500);
  expect(state.workMax).toBe(210);
  state.work = 210;
  await turns(2, 500);
  expect(state.workMax).toBe(102);
  state.work = 102;
  await turns(1, 0);
  expect(state.workMax).toBe(114);
  state.work = 40;
  await turns(1, 0);
  expect(state.workMax).toBe(Infinity);
});

test('one long turn alone bounds nothing, and neither do turns of middling length', async () => {
  const { state, turns } = createGate();
  state.work = 300;
  await turns(1, 500);
  await turns(5, 60);
  await turns(1, 500);
  expect(state.workMax).toBe(Infinity);
});

test('however long the turns are, some work goes on', async () => {
  const { state, turns } = createGate();
  state.work = 100;
  await turns(20, 2000);
  expect(state.workMax).toBe(32);
});

test('without work nothing is watched', async () => {
  const { gate, state, clock, late } = createGate();
  state.work = 1;
  gate.watch();
  state.work = 0;
  await clock.advance(10 * LOOK_MS);
  expect(late).toHaveLength(1);
});

test('while polls are late, little work goes on, and turns of any length give nothing back', async () => {
  const { state, turns } = createGate();
  state.work = 20;
  state.arePollsLate = true;
  await turns(1, 0);
  expect(state.workMax).toBe(14);
  state.work = 14;
  await turns(20, 0);
  expect(state.workMax).toBe(4);
  state.arePollsLate = false;
  state.work = 4;
  await turns(2, 500);
  expect(state.workMax).toBe(4);
  await turns(1, 0);
  expect(state.workMax).toBe(6);
});
