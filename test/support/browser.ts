import { execFileSync } from 'node:child_process';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** A page of a browser, and everything that should not have happened in it. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** Errors and warnings of the console, scripts that threw, and requests to anywhere but the agent. */
  readonly complaints: readonly string[];
}

/** The Chromium of the system, or that of `CHROMIUM_PATH`, headless. */
export async function openBrowser(): Promise<Browser> {
  const executablePath =
    process.env['CHROMIUM_PATH'] ?? execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim();
  const isRoot = process.getuid?.() === 0;
  return chromium.launch({ executablePath, args: ['--force-color-profile=srgb', ...(isRoot ? ['--no-sandbox'] : [])] });
}

/** Opens `path` of the agent at `origin`, where every other address is out of reach. */
export async function openPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ baseURL: origin, viewport: { width: 1280, height: 800 }, ...options });
  const complaints: string[] = [];
  await context.route('**/*', async (route) => {
    const url = route.request().url();
    if (url.startsWith(origin) || url.startsWith('data:')) return route.continue();
    complaints.push(`request to ${url}`);
    return route.abort();
  });
  const page = await context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** Rules of WCAG 2.2 AA and best practices that the page breaks, each with the first element that does. */
export async function findBarriers(page: Page): Promise<readonly string[]> {
  // The page's own policy forbids scripts; what the protocol of the browser runs is not under it.
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run();
    return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes[0]?.html}`);
  });
}
