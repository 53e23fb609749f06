import { expect, test } from 'vitest';
import { createRouterValues } from '../../src/agent/routers/adaptive-interval.ts';
import { reportUnstored, StateOpening } from '../../src/agent/state.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import { StoreError } from '../../src/model/index.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';
import { createStoreFolder } from '../support/store-folder.ts';

const full = new StoreError('full', 'There is no room', { disposition: 'hold-back' });
const broken = new StoreError('broken', 'The state could not be used', { disposition: 'operator' });

test('createRouterValues() reads and writes, and reports a failure instead of throwing it', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  const failures: StoreError[] = [];
  const values = createRouterValues(store, (cause) => void failures.push(cause));
  expect(values.read('plant-7', 'bytes')).toBeUndefined();
  values.write('plant-7', 'bytes', 'text');
  expect([values.read('plant-7', 'bytes'), values.read('harbour', 'bytes')]).toEqual(['text', undefined]);
  values.write('plant-7', 'bytes', 'x'.repeat(20_000));
  expect(failures.map(({ code }) => code)).toEqual(['too-long']);
  expect(values.read('plant-7', 'bytes')).toBe('text');
});

test('StateOpening tries every ten seconds while the disk cannot be written, and says so once for each reason', async () => {
  const clock = createSteppedClock(0);
  const ownLog: OwnLine[] = [];
  const failures: unknown[] = [];
  const state: { attempts: number; fault: Error | undefined } = { attempts: 0, fault: full };
  const attempt = () => {
    state.attempts++;
    if (state.fault) throw state.fault;
  };
  const options = {
    clock,
    logger: createCollectingLogger(ownLog),
    fail: (cause: unknown) => void failures.push(cause),
  };
  const opening = new StateOpening(attempt, options);
  const happened: string[] = [];
  opening.whenOpen(() => void happened.push('open'));
  expect([state.attempts, opening.fault]).toEqual([1, full]);
  await clock.advance(30_000);
  state.fault = new StoreError('unwritable', 'It is read-only', { disposition: 'hold-back' });
  await clock.advance(20_000);
  expect([state.attempts, opening.fault, happened]).toEqual([6, state.fault, []]);
  state.fault = undefined;
  await clock.advance(60_000);
  expect([state.attempts, opening.fault, happened]).toEqual([7, undefined, ['open']]);
  expect(ownLog.map(({ level, message, fields }) => [level, message, fields['error']])).toEqual([
    ['error', 'The state cannot be written; no logs are read until it can', 'There is no room'],
    ['error', 'The state cannot be written; no logs are read until it can', 'It is read-only'],
    ['info', 'The state can be written; logs are read from now on', undefined],
  ]);

  state.fault = broken;
  new StateOpening(attempt, options);
  expect(failures).toEqual([broken]);
  state.fault = full;
  new StateOpening(attempt, options).stop();
  const { attempts } = state;
  await clock.advance(60_000);
  expect(state.attempts).toBe(attempts);
});

test('reportUnstored() ends the agent for a broken store, and warns about one that cannot be written now', () => {
  const ownLog: OwnLine[] = [];
  const failures: unknown[] = [];
  const note = (cause: StoreError, changes: Partial<Parameters<typeof reportUnstored>[1]> = {}) =>
    reportUnstored(cause, {
      router: undefined,
      store: { isWaiting: false },
      isShared: false,
      fail: (reason) => void failures.push(reason),
      logger: createCollectingLogger(ownLog),
      ...changes,
    });
  note(full);
  // The opening of the state logs one of them, and a replica the other.
  note(full, { store: { isWaiting: true } });
  note(full, { isShared: true });
  expect(failures).toEqual([]);
  expect(ownLog).toEqual([
    {
      level: 'warn',
      message: 'State of a router could not be stored',
      fields: { error: expect.stringContaining('no room') },
    },
  ]);
  note(broken);
  expect(failures).toEqual([broken]);
});
