import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { sampled, sampleNote } from '../support/sampled.ts';

/** As records four times that, which is more than the heap may hold. */
const FILE_BYTES = 32_000_000;
const HEAP_MB = 40;
/** Of the young generation: with larger ones V8 gives up although most of the heap is free. */
const YOUNG_MB = 4;

const title = `a file of ${FILE_BYTES / 1e6} MB becomes records in a heap of ${HEAP_MB} MB${sampleNote('memory for a large file')}`;

test.skipIf(sampled('memory for a large file', false, true))(title, { timeout: 300_000 }, () => {
  const child = fileURLToPath(new URL('./flat-memory.child.ts', import.meta.url));
  const args = [`--max-semi-space-size=${YOUNG_MB}`, `--max-old-space-size=${HEAP_MB}`, child, String(FILE_BYTES)];
  const { stdout, status } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  expect({ stdout, status }).toEqual({ stdout: '1', status: 0 });
});
