import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBarriers, openBrowser, openPage } from '../support/browser.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';
import { DETAIL, openBench } from '../web/bench.ts';
import { createFleet, LONG_NAME, type SampleFleet } from '../web/pages/sample-fleet.ts';
import { FIND_CUT_TEXTS } from './cut-texts.ts';

const FLEETS: Readonly<Record<string, SampleFleet>> = {
  'no router': { count: 0 },
  'three routers': { count: 3 },
  'a mass outage of 2,000': { count: 2000, down: 1204 },
  'ten thousand routers': { count: 10_000, down: 3 },
  'names and texts of all kinds': { count: 300, down: 4, isHard: true },
};
const SCREENS: readonly (readonly [width: number, height: number])[] = [
  [1400, 900],
  [1000, 800],
  [390, 844],
  [320, 640],
];

/** Stops on the way from the begin of a page to its first row. */
const KEYS_MAX = 60;

withPrograms(['chromium'], describe)('the fleet on screens of all sizes', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());

  test.for(sampled('layouts of the fleet', Object.entries(FLEETS), Object.entries(FLEETS).slice(-1)))(
    `with %s is never wider than the screen, and cuts no text without its title${sampleNote('layouts of the fleet')}`,
    async ([, fleet]) => {
      const { nowMs, ...content } = createFleet(fleet);
      await using bench = await openBench(content, { nowMs });
      await using watched = await openPage(browser, bench.url);
      const { page, complaints } = watched;
      for (const [width, height] of sampled(
        'layouts of the fleet',
        SCREENS,
        SCREENS.filter((screen) => screen[0] === 1400 || screen[0] === 390),
      )) {
        await page.setViewportSize({ width, height });
        await page.goto('/');
        expect([width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([width, width]);
        expect([width, await page.evaluate(FIND_CUT_TEXTS)]).toEqual([width, []]);
        if (fleet.count < 300) continue;
        const tops = await page
          .locator('.fleet tbody tr')
          .evaluateAll((rows: { getBoundingClientRect(): { top: number; bottom: number } }[]) =>
            rows.map((row) => row.getBoundingClientRect()).map(({ top, bottom }) => ({ top, bottom })),
          );
        // Rows that fail have a second line.
        const rowsMin = (fleet.down ?? 0) > 100 ? 7 : 15;
        if (width === 1400)
          expect(tops.filter(({ bottom }) => bottom <= height).length).toBeGreaterThanOrEqual(rowsMin);
        if (width === 390) expect(tops[0]?.top).toBeLessThan(height / 2);
      }
      expect(await findBarriers(page)).toEqual([]);
      expect(complaints).toEqual([]);
    },
  );

  test('shows times in the zone of the reader on request, and remembers it', async () => {
    const { nowMs, ...content } = createFleet({ count: 3, down: 1 });
    await using bench = await openBench({ ...content, describeRouter: () => DETAIL }, { nowMs });
    await using watched = await openPage(browser, bench.url, { timezoneId: 'Asia/Tokyo' });
    const { page, complaints } = watched;
    await page.goto('/router/plant-7?view=agent');
    const poll = page.locator('tbody th time').first();
    expect([await poll.innerText(), await poll.getAttribute('title')]).toEqual([
      '2026-11-21 12:01:00',
      '2026-11-21T12:01:00.000Z',
    ]);
    await page.getByRole('button', { name: 'Show times in my zone (Asia/Tokyo)' }).click();
    expect([await poll.innerText(), await poll.getAttribute('title')]).toEqual([
      '2026-11-21 21:01:00',
      '2026-11-21 21:01:00 Asia/Tokyo',
    ]);
    expect(await page.locator('main p time').first().innerText()).toMatch(/^\d\d:\d\d:\d\d$/);
    expect(await page.locator('main p time').first().getAttribute('title')).toContain(
      await page.locator('main p time').first().innerText(),
    );
    await page.goto('/');
    expect(await page.locator('.c-since time').first().getAttribute('title')).toMatch(
      /^2026-11-21 23:02:00 Asia\/Tokyo$/,
    );
    expect(await page.locator('footer').innerText()).toContain('Times of pages are in Asia/Tokyo.');
    await page.getByRole('button', { name: 'Show times in UTC' }).click();
    expect(await page.locator('.c-since time').first().getAttribute('title')).toMatch(/^2026-11-21T14:02:/);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(1280);
    expect(complaints).toEqual([]);
  });

  test('the failing router of 2,000 and its reason are found by the keyboard alone; its filter survives a reload', async () => {
    const { nowMs, ...content } = createFleet({ count: 2000, down: 1 });
    const failure = { reason: 'auth', step: 'auth' as const, error: 'The router refused to log in user "monitor"' };
    const describeRouter = (name: string) => ({ ...DETAIL, name, state: 'down' as const, failure });
    await using bench = await openBench({ ...content, describeRouter }, { nowMs });
    await using watched = await openPage(browser, bench.url, { viewport: { width: 1400, height: 900 } });
    const { page, complaints } = watched;
    await page.goto('/');
    /** Presses Tab until something of this name has the focus, and then Enter. */
    const follow = async (name: RegExp) => {
      for (let press = 0; press < KEYS_MAX; press++) {
        await page.keyboard.press('Tab');
        if (name.test(await page.locator(':focus').innerText())) break;
      }
      await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
    };
    await follow(/^1\s+down$/);
    expect(await page.locator('.fleet caption').innerText()).toBe('1 router, down');
    await page.reload();
    const name = page.locator('tbody .name');
    expect([await page.locator('.fleet caption').innerText(), await name.count()]).toEqual(['1 router, down', 1]);
    const wanted = await name.innerText();
    await follow(new RegExp(`^${wanted}$`));
    expect(await page.locator('h1').innerText()).toBe(wanted);
    expect(await page.locator('.notice').first().innerText()).toContain('The router refused to log in user "monitor"');
    expect(complaints).toEqual([]);
  });

  test(`every filter stands in the address and in the form, alone and together, and survives a reload of the page${sampleNote('filters of the fleet')}`, async () => {
    const { nowMs, ...content } = createFleet({ count: 300, down: 40 });
    await using bench = await openBench(content, { nowMs });
    await using watched = await openPage(browser, bench.url, { viewport: { width: 1400, height: 900 } });
    const { page, complaints } = watched;
    const each: readonly (readonly [key: string, value: string, field: string])[] = [
      ['state', 'down', 'State'],
      ['step', 'connect', 'Step'],
      ['label', 'site=nord', 'site'],
      ['label', 'line=3', 'line'],
      ['firmware', '9.5', 'Firmware'],
      ['model', 'MRX3', 'Model'],
      ['operator', 'A1', 'Operator'],
      ['q', 'plant-0', 'Search in names, addresses, labels, values and errors'],
      ['sort', 'name', 'Order'],
    ];
    const alone = sampled('filters of the fleet', each, []).map((one) => [one]);
    for (const wanted of [...alone, each]) {
      const address = new URLSearchParams(wanted.map(([key, value]): [string, string] => [key, value]));
      await page.goto(`/?${address.toString()}`);
      const names = await page.locator('.name').allInnerTexts();
      expect([wanted, names.length > 0]).toEqual([wanted, true]);
      await page.reload();
      for (const [, value, field] of wanted) {
        expect([field, await page.getByLabel(field, { exact: true }).inputValue()]).toEqual([field, value]);
      }
      expect(await page.locator('.name').allInnerTexts()).toEqual(names);
    }
    // What all of them leave is the same when the form is sent as it stands.
    const names = await page.locator('.name').allInnerTexts();
    await page.locator('summary', { hasText: 'Filters' }).click();
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Apply' }).click()]);
    expect(await page.locator('.name').allInnerTexts()).toEqual(names);
    expect(complaints).toEqual([]);
  });

  test('opens what is behind a name by keyboard and touch, and keeps it open when the page refreshes itself', async () => {
    const { nowMs, ...content } = createFleet({ count: 300, isHard: true });
    await using bench = await openBench(content, { nowMs });
    await using watched = await openPage(browser, bench.url, { viewport: { width: 390, height: 844 }, hasTouch: true });
    const { page, complaints } = watched;
    await page.clock.install();
    await page.goto('/?q=plant-with');
    await page.locator('summary').last().focus();
    await page.keyboard.press('Enter');
    const panel = page.locator('.more .panel');
    expect(await panel.innerText()).toContain(LONG_NAME);
    expect(await panel.innerText()).toContain('東京都千代田区');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(await findBarriers(page)).toEqual([]);
    await bench.clock.advance(60_000);
    await page.clock.runFor(11_000);
    await expect.poll(() => panel.innerText()).toContain('80 s ago');
    expect(await panel.isVisible()).toBe(true);
    expect(await page.locator(':focus').getAttribute('aria-label')).toBe(`More about ${LONG_NAME}`);
    await page.locator('summary').last().tap();
    expect(await panel.isVisible()).toBe(false);
    expect(complaints).toEqual([]);
  });

  test('title and favicon follow the worst state when the page refreshes itself', async () => {
    const [calm, out] = [createFleet({ count: 12 }), createFleet({ count: 12, down: 3 })];
    let now = calm;
    const listRouters = () => now.listRouters?.() ?? [];
    await using bench = await openBench({ ...calm, listRouters }, { nowMs: calm.nowMs });
    await using watched = await openPage(browser, bench.url);
    const { page, complaints } = watched;
    await page.clock.install();
    await page.goto('/');
    const iconOf = () => page.locator('link[rel=icon]').getAttribute('href');
    expect(await page.title()).toBe('Fleet – router-exporter');
    const before = await iconOf();
    now = out;
    await page.clock.runFor(11_000);
    await expect.poll(() => page.title()).toBe('(3 down) Fleet – router-exporter');
    await expect.poll(iconOf).not.toBe(before);
    expect(complaints).toEqual([]);
  });

  test.for(sampled('layouts of the fleet', [true, false], [false]))(
    `filters by lists, without typing; the address keeps them (scripts: %s)${sampleNote('layouts of the fleet')}`,
    async (javaScriptEnabled) => {
      const { nowMs, ...content } = createFleet({ count: 300, down: 40 });
      await using bench = await openBench(content, { nowMs });
      await using watched = await openPage(browser, bench.url, { javaScriptEnabled });
      const { page, complaints } = watched;
      await page.goto('/');
      await page.locator('.groups').getByRole('link', { name: 'nord' }).click();
      expect(await page.locator('.fleet caption').innerText()).toBe('40 routers, down');
      await page.locator('summary', { hasText: 'Filters' }).click();
      await page.getByLabel('Step', { exact: true }).selectOption('tls');
      await page.getByLabel('Firmware', { exact: true }).selectOption('9.5');
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.waitForURL(/step=tls/);
      const names = await page.locator('.name').allInnerTexts();
      expect(names).toEqual(['plant-008', 'plant-024', 'plant-032', 'plant-040']);
      await page.reload();
      expect(await page.locator('.name').allInnerTexts()).toEqual(names);
      await page.getByRole('link', { name: /^Step tls/ }).click();
      expect(await page.locator('.fleet caption').innerText()).toBe('32 routers, down');
      expect(complaints).toEqual([]);
    },
  );
});
