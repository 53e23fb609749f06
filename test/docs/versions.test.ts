import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { renderVersions } from '../../tools/versions.ts';
import { PROJECT } from './read-pages.ts';

test('docs/versions.md is what `npm run docs` makes of the pinned versions', () => {
  const page = readFileSync(join(PROJECT, 'docs/versions.md'), 'utf8');
  expect(page).toBe(renderVersions());
  expect(page).toMatch(/^\| Loki \| \d+\.\d+\.\d+ \|/m);
  expect(page).toMatch(/^\| Prometheus, promtool \| Debian \d+ \|/m);
  expect(page).not.toContain('undefined');
});
