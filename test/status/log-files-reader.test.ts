import { expect, test } from 'vitest';
import { createLogFilesReader } from '../../src/status/index.ts';

const SIGNAL = new AbortController().signal;

async function count(names: readonly string[]): Promise<unknown> {
  const reader = createLogFilesReader({ listLogs: async () => names });
  const { families, faults } = await reader.read({ configHash: undefined }, SIGNAL);
  expect(faults).toEqual([]);
  expect(families).toMatchObject([{ name: 'router_log_archives', type: 'gauge' }]);
  return Object.fromEntries((families[0]?.samples ?? []).map(({ labels, value }) => [labels['component'], value]));
}

test('the rotated files of each component are counted, without the one that is being written', async () => {
  const names = [
    'network/current',
    'network/log-2026-11-20-09:00:00.bz2',
    'network/log-2026-11-21-09:00:00.bz2',
    'httpd/current',
    'a/b/log-2026-11-21-09:00:00.bz2',
  ];
  expect(await count(names)).toEqual({ network: 2, httpd: 0, 'a/b': 1 });
});

test('a rotated file that is listed in two forms is one', async () => {
  expect(await count(['x/log-2026-11-21-09:00:00', 'x/log-2026-11-21-09:00:00.bz2'])).toEqual({ x: 1 });
});

test('names that tell no component count for nothing', async () => {
  expect(await count(['current', '/current', 'x/', `${'y'.repeat(65)}/current`, ' /log', 'a\nb/log'])).toEqual({
    x: 0,
    'a b': 1,
  });
});

test('components are bounded', async () => {
  const names = Array.from({ length: 1000 }, (_none, index) => `c${index}/log`);
  expect(Object.keys((await count(names)) as object)).toHaveLength(256);
});

test('the error of a failed listing is passed on', async () => {
  const error = new RangeError('no');
  const reader = createLogFilesReader({ listLogs: () => Promise.reject(error) });
  await expect(reader.read({ configHash: undefined }, SIGNAL)).rejects.toBe(error);
});
