import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { load } from './configuration-folder.ts';

test('loadConfig() finds the faults of the golden file in all sections, in these words', async () => {
  const text = readFileSync(new URL('../golden/check/router-exporter.yaml', import.meta.url), 'utf8');
  const { lines } = await load(text);
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('../golden/check/faults.txt');
});
