import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBarriers, openBrowser, openPage } from '../support/browser.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { withPrograms } from '../support/tools.ts';

withPrograms(['chromium'], describe)('the lines of logs in a browser', () => {
  let fleet: Fleet;
  let browser: Browser;

  beforeAll(async () => {
    [fleet, browser] = await Promise.all([startFleet({ routers: 2 }), openBrowser()]);
    await fleet.advance(60_000);
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await fleet?.[Symbol.asyncDispose]();
  });

  /** Writes a line, and lets the agent read it; the line behind it ends the wait for what might continue it. */
  async function write(text: string): Promise<void> {
    fleet.router().appendLog('network', text);
    await fleet.advance(60_000);
  }

  test('shows lines as the router writes them, and a pause holds them', async () => {
    const path = '/router/sim-1?view=logs';
    await using watched = await openPage(browser, fleet.agent.urls[0] ?? '');
    const { page, complaints } = watched;
    await write(`${path} before`);
    await page.goto(path);
    const lines = page.locator('#live .lines li');
    await page.getByRole('button', { name: 'Follow live' }).click();
    await page.getByText('Following.').waitFor();
    await write(`${path} while it is followed`);
    await lines.filter({ hasText: `${path} while it is followed` }).waitFor();
    expect(await lines.filter({ hasText: `${path} before` }).count()).toBe(1);
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await write(`${path} while it is paused`);
    await page.getByText(/Paused: \d+ new/).waitFor();
    expect(await lines.filter({ hasText: 'while it is paused' }).filter({ hasText: path }).count()).toBe(0);
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Resume' }).click();
    await lines.filter({ hasText: `${path} while it is paused` }).waitFor();
    expect(await lines.first().innerText()).toContain(`${path} while it is paused`);
    expect(complaints).toEqual([]);
  });

  test('works without scripts, and filters survive a reload of the page', async () => {
    await using watched = await openPage(browser, fleet.agent.urls[0] ?? '', { javaScriptEnabled: false });
    const { page, complaints } = watched;
    await write('needle in the log');
    await page.goto('/router/sim-1?view=logs');
    await page.getByRole('searchbox').fill('needle');
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Show' }).click()]);
    await page.reload();
    expect(await page.locator('.lines li').count()).toBe(1);
    expect(await page.getByRole('searchbox').inputValue()).toBe('needle');
    expect(await page.getByRole('button', { name: 'Follow live' }).count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});
