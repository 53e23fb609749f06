import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { controlActionNames } from '../../src/simulator/control.ts';
import { FAULT_NAMES, plainRestFeatures } from '../../src/simulator/index.ts';

test('docs/simulator.md names every fault, control action and feature', async () => {
  const text = await readFile(new URL('../../docs/simulator.md', import.meta.url), 'utf8');
  for (const name of [...FAULT_NAMES, ...controlActionNames, ...Object.keys(plainRestFeatures)]) {
    expect(text).toContain(`\`${name}\``);
  }
});
