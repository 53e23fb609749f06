import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBarriers, openBrowser, openPage } from '../support/browser.ts';
import type { Fleet } from '../support/fleet.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';
import { startLargeFleet } from './large-fleet.ts';

const PAGES = {
  fleet: '/',
  'failed-router': '/router/harbour-1701',
  router: '/router/plant-0001',
  modem: '/router/plant-0001?view=modem',
  agent: '/router/plant-0001?view=agent',
  logs: '/logs',
  sinks: '/sinks',
  configuration: '/config',
} as const;

withPrograms(['chromium'], describe)('the pages of 2,000 routers in a browser', () => {
  let fleet: Fleet;
  let browser: Browser;
  let origin = '';

  beforeAll(async () => {
    [fleet, browser] = await Promise.all([startLargeFleet(), openBrowser()]);
    origin = fleet.agent.urls[0] ?? '';
  }, 180_000);

  afterAll(async () => {
    await browser?.close();
    await fleet?.[Symbol.asyncDispose]();
  });

  test.for([true, false])(
    'lead from a search to the failing step and the last errors (scripts: %s)',
    async (javaScriptEnabled) => {
      await using watched = await openPage(browser, origin, { javaScriptEnabled });
      const { page, complaints } = watched;
      await page.goto('/');
      expect(await page.title()).toBe('Fleet – router-exporter');
      expect(await page.locator('.cards').innerText()).toMatch(/2,000\s+routers\s+1,99\d\s+up/);
      expect(await page.locator('caption').innerText()).toBe('Routers 1 to 100 of 2,000');

      // By the keyboard alone: past the link that skips the navigation, into the search.
      await page.keyboard.press('Tab');
      expect(await page.locator(':focus').innerText()).toBe('Skip to the content');
      await page.getByRole('searchbox').focus();
      await page.keyboard.type('auth harbour');
      await page.keyboard.press('Enter');
      await page.waitForURL(/q=auth\+harbour/);
      const rows = page.locator('tbody tr');
      expect(await rows.count()).toBe(1);
      expect(await rows.innerText()).toMatch(/harbour-1701.*\s+down\s+auth: refused user "nobody"/);

      await page.getByRole('link', { name: 'harbour-1701' }).click();
      await page.waitForURL(/router\/harbour-1701$/);
      expect(await page.locator('.notice').innerText()).toMatch(/Fails at auth: .* refused to log in user "nobody"/);
      await page.getByRole('link', { name: 'Agent', exact: true }).click();
      expect(await page.locator('.way .bad').innerText()).toMatch(/auth: failed/);
      const polls = page.getByRole('table', { name: /Last polls/ });
      expect(await polls.locator('tbody tr').first().innerText()).toMatch(/failed\s+auth\s+The router refused/);
      // Its configuration tells the account, and not the password.
      await page.locator('#config summary').click();
      expect(await page.locator('#config pre').innerText()).toMatch(/username: nobody # .*\npassword: "\[secret\]" # /);
      expect(complaints).toEqual([]);
    },
  );

  test('sort by a column, turn round, page on, and filter by state, with links alone', async () => {
    await using watched = await openPage(browser, origin, { javaScriptEnabled: false });
    const { page, complaints } = watched;
    await page.goto('/');
    const follow = async (name: string | RegExp) => {
      const link = page.locator('main').getByRole('link', { name, exact: true });
      await Promise.all([page.waitForEvent('load'), link.click()]);
    };
    const names = () => page.locator('tbody th .name').allInnerTexts();
    // By itself the worst stands first.
    expect((await names()).slice(0, 3)).toEqual(['harbour-1701', 'plant-0300', 'plant-0600']);
    await follow('Reason');
    expect((await names()).slice(0, 4)).toEqual(['plant-0300', 'plant-0600', 'harbour-1701', 'plant-0900']);
    expect(await page.locator('thead [aria-sort]').getAttribute('aria-sort')).toBe('ascending');
    await follow(/Reason/);
    expect((await names())[0]).toBe('plant-0900');
    expect(await page.locator('thead [aria-sort]').getAttribute('aria-sort')).toBe('descending');
    await follow('Router');
    await follow('Last');
    expect((await names()).at(-1)).toBe('plant-2000');
    await follow(/login refused/);
    expect(await names()).toEqual(['harbour-1701']);
    await follow('Show all');
    expect(await names()).toHaveLength(100);
    expect(complaints).toEqual([]);
  });

  test('refresh themselves, keep what somebody types, and say when the agent is gone', async () => {
    await using watched = await openPage(browser, origin);
    const { page, complaints } = watched;
    await page.clock.install();
    await page.goto('/router/plant-0001?view=agent');
    const newest = () => page.locator('tbody time').first().getAttribute('datetime');
    const before = await newest();
    await fleet.clock.advance(1000);
    await fleet.metrics('/probe?target=plant-0001&fresh=1');
    await page.clock.runFor(11_000);
    await expect.poll(newest).not.toBe(before);
    // What was opened stays open.
    await page.goto('/router/plant-0001?view=agent');
    await page.locator('#config summary').click();
    await page.clock.runFor(11_000);
    expect(await page.locator('#config').getAttribute('open')).toBe('');

    await page.goto('/');
    await page.getByRole('searchbox').fill('plant-00');
    await page.clock.runFor(11_000);
    expect(await page.getByRole('searchbox').inputValue()).toBe('plant-00');
    await page.getByRole('button', { name: 'Pause refreshing' }).click();
    expect(await page.getByRole('button', { name: 'Resume refreshing' }).isVisible()).toBe(true);
    expect(complaints).toEqual([]);

    await page.goto('/sinks');
    await page.context().route('**/sinks', (route) => route.abort());
    await page.clock.runFor(11_000);
    await expect.poll(() => page.getByRole('status').innerText()).toMatch(/has not answered since/);
  });

  test.for([
    { colorScheme: 'light', looked: Object.keys(PAGES), note: '' },
    {
      colorScheme: 'dark',
      looked: sampled('pages in dark colours', Object.keys(PAGES), ['failed-router']),
      note: sampleNote('pages in dark colours'),
    },
  ] as const)(
    'are without barriers in $colorScheme colours, and ask nobody else for anything$note',
    async ({ colorScheme, looked }) => {
      await using watched = await openPage(browser, origin);
      const { page, complaints } = watched;
      await page.emulateMedia({ colorScheme });
      const grounds = new Set<string>();
      for (const [name, path] of Object.entries(PAGES)) {
        if (!looked.includes(name)) continue;
        await page.goto(path);
        expect([path, await findBarriers(page)]).toEqual([path, []]);
        grounds.add(await page.evaluate<string>('getComputedStyle(document.body).backgroundColor'));
      }
      expect([...grounds]).toEqual([colorScheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(15, 19, 24)']);
      expect(complaints).toEqual([]);
    },
  );

  test('fit on a narrow screen', async () => {
    await using watched = await openPage(browser, origin, { viewport: { width: 360, height: 640 } });
    const { page, complaints } = watched;
    for (const path of Object.values(PAGES)) {
      await page.goto(path);
      // Tables scroll in a frame of their own.
      expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, 360]);
    }
    expect(complaints).toEqual([]);
  });
});
