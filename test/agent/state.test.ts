import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { SelfMetrics } from '../../src/agent/metrics/self-metrics.ts';
import { RefusalLog } from '../../src/agent/sinks/refusal-log.ts';
import { createRouterValues, onceWritable } from '../../src/agent/state.ts';
import { createStations } from '../../src/agent/stations.ts';
import { createSeededRandom, createSteppedClock, Lifecycle } from '../../src/base/index.ts';
import { StoreError } from '../../src/store/index.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';
import { createStoreFolder } from '../support/store-folder.ts';

const full = new StoreError('full', 'There is no room', { disposition: 'hold-back' });
const broken = new StoreError('broken', 'The state could not be used', { disposition: 'operator' });

test('createRouterValues() reads and writes, and tells of a failure instead of throwing it', async () => {
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

test('onceWritable() tries every ten seconds while the disk cannot be written, and throws everything else', async () => {
  const clock = createSteppedClock(0);
  const ownLog: OwnLine[] = [];
  const options = { clock, logger: createCollectingLogger(ownLog) };
  const state = { attempts: 0, fault: full };
  const open = () => {
    state.attempts++;
    throw state.fault;
  };
  const opening = onceWritable(open, options);
  opening.catch(() => {});
  await clock.advance(9999);
  expect(state.attempts).toBe(1);
  await clock.advance(10_001);
  expect(state.attempts).toBe(3);
  expect(ownLog.map(({ level, message }) => [level, message])).toEqual(
    Array.from({ length: 3 }, () => ['error', 'The state cannot be written; retrying']),
  );
  state.fault = broken;
  await clock.advance(10_000);
  await expect(opening).rejects.toBe(broken);

  const abort = new AbortController();
  state.fault = full;
  const waiting = onceWritable(open, { ...options, signal: abort.signal });
  abort.abort(new TypeError('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
});

test('createStations() ends the agent for a store that is broken, and warns of one that cannot be written now', async () => {
  await using folder = await createStoreFolder();
  const clock = createSteppedClock(0);
  const ownLog: OwnLine[] = [];
  const lifecycle = new Lifecycle(clock);
  using store = folder.open();
  using deadLetters = folder.openLetters();
  const failures: unknown[] = [];
  const logger = createCollectingLogger(ownLog);
  const { onStoreFailed } = createStations(
    {
      store,
      deadLetters,
      metrics: new SelfMetrics('0'),
      spoolBytesMax: 1000,
      clock,
      random: createSeededRandom(7),
      logger,
      refusals: new RefusalLog({ clock, logger }),
      version: '0',
      stdout: new Writable(),
      fail: (cause) => void failures.push(cause),
    },
    lifecycle,
  );
  onStoreFailed(full);
  expect(failures).toEqual([]);
  expect(ownLog).toEqual([
    {
      level: 'warn',
      message: 'State of a router could not be stored',
      fields: { error: expect.stringContaining('no room') },
    },
  ]);
  onStoreFailed(broken);
  expect(failures).toEqual([broken]);
  expect(await lifecycle.stop()).toEqual([]);
});
