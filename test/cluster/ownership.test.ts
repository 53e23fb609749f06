import { expect, test } from 'vitest';
import { findOwner } from '../../src/cluster/view.ts';

const ROUTERS = Array.from({ length: 3000 }, (_, index) => `plant-${index}`);

const replicas = (count: number, prefix = 'exporter-') =>
  Array.from({ length: count }, (_, index) => ({ replica: `${prefix}${index}`, knows: () => true }));

function countByOwner(candidates: ReturnType<typeof replicas>): Map<string | undefined, number> {
  const counts = new Map<string | undefined, number>();
  for (const router of ROUTERS) {
    const owner = findOwner(router, candidates);
    counts.set(owner, (counts.get(owner) ?? 0) + 1);
  }
  return counts;
}

test.each(['exporter-', 'a', 'router-exporter-7d9f8b6c5-'])('replicas named %s* have about equal shares', (prefix) => {
  for (const count of [2, 3, 4, 7]) {
    const shares = [...countByOwner(replicas(count, prefix)).values()];
    expect(shares).toHaveLength(count);
    expect(Math.min(...shares)).toBeGreaterThan((0.8 * ROUTERS.length) / count);
    expect(Math.max(...shares)).toBeLessThan((1.2 * ROUTERS.length) / count);
  }
});

test('from three to four replicas about a quarter moves, all of it to the new one', () => {
  const moved = ROUTERS.filter((router) => findOwner(router, replicas(3)) !== findOwner(router, replicas(4)));
  expect(moved.length / ROUTERS.length).toBeGreaterThan(0.22);
  expect(moved.length / ROUTERS.length).toBeLessThan(0.28);
  expect(new Set(moved.map((router) => findOwner(router, replicas(4))))).toEqual(new Set(['exporter-3']));
});

test('the order of the members decides nothing', () => {
  for (const router of ROUTERS.slice(0, 300)) {
    expect(findOwner(router, replicas(5).toReversed())).toBe(findOwner(router, replicas(5)));
  }
});

test('a router belongs to a replica that knows it, or to none', () => {
  const [first, second] = replicas(2);
  const ignorant = { replica: second?.replica ?? '', knows: () => false };
  for (const router of ROUTERS.slice(0, 100))
    expect(findOwner(router, [first ?? ignorant, ignorant])).toBe('exporter-0');
  expect(findOwner('plant-7', [ignorant])).toBeUndefined();
  expect(findOwner('plant-7', [])).toBeUndefined();
});
