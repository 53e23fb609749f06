import { expect } from 'vitest';
import { FleetExposition, SERIES_DROPPED } from '../../src/exposition/index.ts';
import type { MetricFamily } from '../../src/model/index.ts';

const ROUTER = { name: 'r', labels: {} };

/** What a scrape shows of a router with these families, without its name. No series is there twice. */
export function renderGolden(families: readonly MetricFamily[]): string {
  const exposition = new FleetExposition();
  exposition.publishValues(ROUTER, 'values', families, Infinity);
  expect(exposition.isWhole(ROUTER, 'values')).toBe(true);
  const text = [...exposition.render('text', 0, ROUTER.name, new Set([SERIES_DROPPED.name]))].join('');
  return text.replaceAll('{router="r"}', '').replaceAll('{router="r",', '{');
}
