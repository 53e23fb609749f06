import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** Lets 500 MiB of buffers die young, and prints how often V8 has marked its whole heap. */
const SCRIPT = `
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
for (const flag of process.argv.slice(1)) setFlagsFromString(flag);
let marked = 0;
new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) marked++;
}).observe({ type: 'gc' });
for (let index = 0; index < 8000; index++) {
  new Uint8Array(65536);
  if (index % 100 === 0) await setImmediate();
}
await setImmediate();
console.log(marked);
`;

async function readFlags(): Promise<readonly string[]> {
  const main = await readFile(new URL('../../src/main.ts', import.meta.url), 'utf8');
  return [...main.matchAll(/setFlagsFromString\('([^']+)'\)/g)].map(([, flag = '']) => flag);
}

async function countMarkings(...flags: readonly string[]): Promise<number> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    SCRIPT,
    ...flags,
  ]);
  expect(stderr).toBe('');
  return Number(stdout);
}

test('with the flag that main.ts sets, V8 frees buffers that die young without marking its whole heap', async () => {
  expect(await countMarkings()).toBeGreaterThan(4);
  expect(await countMarkings(...(await readFlags()))).toBeLessThanOrEqual(1);
});

test('V8 has the flag that main.ts sets', async () => {
  const flags = await readFlags();
  expect(flags).toHaveLength(1);
  // It prints an error for an unknown flag, and continues.
  const { stderr } = await promisify(execFile)(process.execPath, [...flags, '--eval', '0']);
  expect(stderr).toBe('');
});
