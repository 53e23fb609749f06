import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SHIPPED_RULES } from '../../src/logs/index.ts';
import { loadShippedModules, SHIPPED_MODULES_FOLDER } from '../../src/status/index.ts';
import { renderMetricsReference } from '../../tools/metrics-reference.ts';
import { startFleet } from '../support/fleet.ts';

const REFERENCE = new URL('../../docs/metrics.md', import.meta.url);

test('docs/metrics.md is what `npm run docs` makes of the program', async () => {
  const shipped = await loadShippedModules(SHIPPED_MODULES_FOLDER);
  if (!shipped.ok) throw new RangeError('The shipped modules have faults');
  expect(readFileSync(REFERENCE, 'utf8')).toBe(renderMetricsReference(shipped.modules, SHIPPED_RULES));
});

test('every family that a fleet exposes stands in docs/metrics.md with its type and all of its labels', {
  timeout: 90_000,
}, async () => {
  await using fleet = await startFleet({
    routers: 24,
    router: { byte_budget: { perDay: 50_000_000, statusShare: 0.2 } },
  });
  fleet.router().appendLog('network', 'a line');
  await fleet.advance(120_000);
  const metrics = await fleet.metrics();
  const rows = new Map(
    [...readFileSync(REFERENCE, 'utf8').matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*) \|/gm)].map(
      ([, name, type, labels]) => [
        name,
        { type, labels: new Set([...(labels ?? '').matchAll(/`(\w+)`/g)].map(([, label]) => label)) },
      ],
    ),
  );
  const types = [...metrics.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  expect(types.length).toBeGreaterThan(90);
  for (const [, name = '', type] of types) {
    const row = rows.get(name);
    const expected = row?.type === 'info' || row?.type === 'stateset' ? 'gauge' : row?.type;
    expect({ name, type: expected }).toEqual({ name, type });
  }
  const added = new Set(['router', 'le', 'quantile']);
  for (const [, name = '', labels = ''] of metrics.matchAll(/^(\w+)\{(.*)\} \S+$/gm)) {
    const row = rows.get(name) ?? rows.get(name.replace(/_(bucket|sum|count)$/, ''));
    const used = [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label ?? '');
    const unknown = used.filter((label) => !added.has(label) && !row?.labels.has(label));
    expect({ name, unknown }).toEqual({ name, unknown: [] });
  }
});
