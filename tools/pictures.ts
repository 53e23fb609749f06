/**
 * Writes the pictures of the documentation, docs/images: runs the demo with faults, waits until each fault shows, and takes
 * whole pages in a browser. `npm run pictures`; Chromium has to be installed.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { createSystemClock } from '../src/base/index.ts';

const IMAGES = fileURLToPath(new URL('../docs/images', import.meta.url));
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const LISTEN = '127.0.0.1:9849';
const ROUTERS = 14;
/** A router loses lines within two minutes; a site is down for two minutes, and polled again within three more. */
const PATIENCE_MS = 420_000;
const LOOK_EVERY_MS = 5000;

interface Picture {
  readonly name: string;
  readonly path: string;
  readonly screen: 'light' | 'dark' | 'phone';
}

const PICTURES: readonly Picture[] = [
  { name: 'fleet-light', path: '/', screen: 'light' },
  { name: 'fleet-dark', path: '/', screen: 'dark' },
  { name: 'fleet-phone', path: '/', screen: 'phone' },
  { name: 'failed-router-light', path: '/router/sim-2', screen: 'light' },
  { name: 'router-light', path: '/router/sim-1', screen: 'light' },
];
const SCREENS = {
  light: { colorScheme: 'light', viewport: { width: 1400, height: 900 } },
  dark: { colorScheme: 'dark', viewport: { width: 1400, height: 900 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 } },
} as const;

async function main(): Promise<void> {
  const clock = createSystemClock();
  const demo = spawn(
    process.execPath,
    [MAIN, 'demo', '--faults', '--routers', String(ROUTERS), '--web.listen-address', LISTEN],
    { stdio: ['ignore', 'ignore', 'ignore'] },
  );
  try {
    await waitForFaults(demo, clock);
    await mkdir(IMAGES, { recursive: true });
    await takePictures();
  } finally {
    const ended = once(demo, 'exit');
    demo.kill();
    await ended;
  }
}

/** Waits until all routers but the refused one are up, and lines are lost. */
async function waitForFaults(demo: ChildProcess, clock: ReturnType<typeof createSystemClock>): Promise<void> {
  for (const endMs = clock.monotonic() + PATIENCE_MS; clock.monotonic() < endMs; ) {
    if (demo.exitCode !== null) throw new RangeError(`The demo ended with ${demo.exitCode}`);
    await clock.sleep(LOOK_EVERY_MS, AbortSignal.timeout(PATIENCE_MS));
    const lossy = await ask('/api/v1/routers/sim-4');
    const fleet = await ask('/api/v1/routers');
    const failed = fleet?.['routers']?.filter(({ fault }: { readonly fault: unknown }) => fault !== null).length;
    // The refused one, and the slow one as long as its polls exceed their limit.
    if (failed <= 2 && lossy?.['recentGaps']?.length > 0) return;
  }
  throw new RangeError('The demo did not show its faults in time');
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of the agent
async function ask(path: string): Promise<any> {
  try {
    return await (await fetch(`http://${LISTEN}${path}`)).json();
  } catch {
    return undefined;
  }
}

async function takePictures(): Promise<void> {
  const executablePath = execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim();
  const args = ['--force-color-profile=srgb', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])];
  const browser = await chromium.launch({ executablePath, args });
  try {
    for (const picture of PICTURES) {
      const context = await browser.newContext({ baseURL: `http://${LISTEN}`, ...SCREENS[picture.screen] });
      await take(await context.newPage(), picture);
      await context.close();
    }
  } finally {
    await browser.close();
  }
}

async function take(page: Page, { name, path }: Picture): Promise<void> {
  await page.goto(path);
  const isWide = await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');
  if (isWide) throw new RangeError(`${path} is wider than the screen`);
  await page.screenshot({ path: `${IMAGES}/${name}.png`, animations: 'disabled', fullPage: true });
}

await main();
