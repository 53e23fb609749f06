import { expect, test } from 'vitest';
import { z } from 'zod';
import { ConfigFiles, YamlThread } from '../../src/settings/index.ts';

const ROOT = { kind: 'list', expected: 'a list', ifEmpty: 'write "[]"', schema: z.unknown() } as const;
const MEBIBYTE = 1024 ** 2;

test('ConfigFiles ends its thread and gives its memory back, which the main thread would do in one long step', async () => {
  let hasEnded = false;
  process.once('worker', (worker) => worker.once('exit', () => (hasEnded = true)));
  const before = process.memoryUsage.rss();
  let during = 0;
  {
    await using files = new ConfigFiles(undefined, new YamlThread());
    await files.parse('f.yaml', '/f.yaml', { text: '- {a: 1}\n'.repeat(25_000) }, ROOT);
    during = process.memoryUsage.rss();
  }
  expect(hasEnded).toBe(true);
  const taken = during - before;
  expect(taken).toBeGreaterThan(50 * MEBIBYTE);
  expect(process.memoryUsage.rss() - before).toBeLessThan(taken / 2);
});
