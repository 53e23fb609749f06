import { expect, test } from 'vitest';
import type { EventSummary } from '../../../src/web/index.ts';
import { DETAIL, EVENT } from '../bench.ts';
import { EVIL, read } from './page-bench.ts';

const strip = (page: string) => page.replaceAll(/<[^>]*>/g, '');

function readRows(page: string): string[] {
  const table = /<caption>Events<\/caption>.*?<tbody[^>]*>(.*?)<\/tbody>/s.exec(page)?.[1] ?? '';
  return table
    .split('</tr>')
    .map((row) => strip(row).trim())
    .filter((row) => row !== '');
}

function show(events: readonly EventSummary[], view = 'events'): Promise<string> {
  return read(`/router/plant-7?view=${view}`, { describeRouter: () => DETAIL, listEvents: () => events });
}

test('the events of a router have their time, their age and their kind; those of a gap are one row with both ends', async () => {
  const gap = {
    ...EVENT,
    kind: 'log.gap',
    uid: 'gap',
    message: 'Lines are missing: expired',
    details: { reason: 'expired' },
  };
  const end = {
    ...EVENT,
    kind: 'log.gap_end',
    uid: 'end',
    message: 'It continues',
    details: { gap_uid: 'gap', until: EVENT.at },
  };
  const page = await show([end, gap, EVENT, { ...end, uid: 'lone', details: { gap_uid: 'older', until: null } }]);
  const rows = readRows(page);
  expect(rows).toHaveLength(3);
  expect(rows[0]).toMatch(
    /^2026-11-21 12:00:00 .* aheadlog\.gapLines are missing: expired, until 2026-11-21 12:00:00$/,
  );
  expect(rows[1]).toContain('router.downThe router is down: No answer');
  expect(rows[2]).toContain('log.gap_endIt continues');
  expect(page).toContain('<span class="tag bad">router.down</span>');
  expect(page).toContain('<a href="?view=events" aria-current="page">Events</a>');
});

test('the overview has the last ten events, and a router without any says so', async () => {
  const page = await show(
    Array.from({ length: 30 }, (_, index) => ({ ...EVENT, uid: `${index}` })),
    'overview',
  );
  expect(readRows(page)).toHaveLength(10);
  expect(readRows(await show([], 'overview'))).toEqual(['No events.']);
});

test('what a router says of itself in its events is text', async () => {
  const page = await show([{ ...EVENT, message: EVIL, kind: EVIL, uid: EVIL, details: { until: EVIL } }]);
  expect(page).not.toContain('<script>alert');
});
