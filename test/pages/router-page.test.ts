import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBarriers, openBrowser, openPage } from '../support/browser.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { withPrograms } from '../support/tools.ts';
import { FIND_CUT_TEXTS } from './cut-texts.ts';

const HOUR_MS = 3_600_000;
const VIEWS = ['overview', 'network', 'modem', 'device', 'logs', 'positions', 'configuration', 'agent'];
/** Pixels of the overview, by the width of the screen. */
const HEIGHTS = [
  [1400, 1300],
  [390, 2400],
] as const;

withPrograms(['chromium'], describe)('the page of a simulated router with all that it has', () => {
  let browser: Browser;
  let fleet: Fleet;
  beforeAll(async () => {
    browser = await openBrowser();
    fleet = await startFleet({
      router: { data_plans: [{ sim: '1', limit: 5e9, billing_day: 1 }], timezone: 'UTC' },
      web: { isLifecycleEnabled: true },
    });
    const router = fleet.router();
    for (let hour = 0; hour < 2; hour++) {
      for (let line = 0; line < 6; line++) router.appendLog('network', `link of eth${line} is up, hour ${hour}`);
      await fleet.advance(HOUR_MS);
    }
  });
  afterAll(async () => {
    await fleet?.[Symbol.asyncDispose]();
    await browser?.close();
  });

  test.for(HEIGHTS)('has an overview at %i px of at most %i px', async ([width, height]) => {
    await using watched = await openPage(browser, fleet.agent.urls[0] ?? '', { viewport: { width, height: 800 } });
    const { page, complaints } = watched;
    await page.goto('/router/sim-1');
    expect(await page.locator('.tiles li').count()).toBeGreaterThan(5);
    expect(await page.locator('.lines li').count()).toBe(10);
    expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThanOrEqual(height);
    expect(complaints).toEqual([]);
  });

  test('has no part that is wider than a phone, cuts texts or has barriers', async () => {
    await using watched = await openPage(browser, fleet.agent.urls[0] ?? '', { viewport: { width: 390, height: 800 } });
    const { page, complaints } = watched;
    for (const view of VIEWS) {
      await page.goto(`/router/sim-1?view=${view}`);
      expect([view, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([view, 390]);
      expect([view, await page.evaluate(FIND_CUT_TEXTS)]).toEqual([view, []]);
      expect([view, await findBarriers(page)]).toEqual([view, []]);
    }
    expect(complaints).toEqual([]);
  });

  test('begins and ends a maintenance, without scripts', async () => {
    await using watched = await openPage(browser, fleet.agent.urls[0] ?? '', { javaScriptEnabled: false });
    const { page, complaints } = watched;
    await page.goto('/router/sim-1');
    await page.getByLabel('Length of the maintenance').selectOption('4 h');
    await page.getByRole('button', { name: 'Maintenance' }).click();
    expect(await page.locator('#lifecycle').innerText()).toMatch(/In the state maintenance until .*set by a request/s);
    await page.getByRole('button', { name: 'End maintenance' }).click();
    expect(await page.locator('#lifecycle').count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});
