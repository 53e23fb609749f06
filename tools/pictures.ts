/**
 * Writes the pictures of the documentation, docs/images: runs demos with faults, waits until each shows what its pictures are of, and
 * takes the pages in a browser. `npm run pictures`; takes ten minutes; Chromium has to be installed.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { createSystemClock } from '../src/base/index.ts';

const IMAGES = fileURLToPath(new URL('../docs/images', import.meta.url));
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
/** The first polls of ten thousand routers take seven minutes. */
const PATIENCE_MS = 480_000;
/** More of a page makes a picture large, and shows nothing else. Pixels. */
const HEIGHT_MAX = 1600;
const LOOK_EVERY_MS = 5000;
const clock = createSystemClock();

interface Picture {
  readonly name: string;
  readonly path: string;
  readonly screen: keyof typeof SCREENS;
}

interface Demo {
  readonly routers: number;
  /** Returns true when its pictures can be taken. */
  readonly isReady: (ask: Ask) => Promise<boolean>;
  readonly pictures: readonly Picture[];
}

/** Asks an agent for JSON; `undefined` if it does not answer. */
// biome-ignore lint/suspicious/noExplicitAny: JSON of the agent
type Ask = (path: string) => Promise<any>;

const SCREENS = {
  light: { colorScheme: 'light', viewport: { width: 1400, height: 900 } },
  dark: { colorScheme: 'dark', viewport: { width: 1400, height: 900 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 } },
} as const;

const DEMOS: readonly Demo[] = [
  {
    routers: 14,
    // All but the refused router are up, perhaps without the slow one, whose polls may exceed their limit; and lines are lost.
    async isReady(ask) {
      const lossy = await ask('/api/v1/routers/sim-4');
      const { up = 0 } = await count(ask);
      return up >= 12 && lossy?.recentGaps?.length > 0;
    },
    pictures: [
      { name: 'fleet-light', path: '/', screen: 'light' },
      { name: 'failed-router-light', path: '/router/sim-2', screen: 'light' },
      { name: 'router-light', path: '/router/sim-5?range=24h', screen: 'light' },
    ],
  },
  {
    routers: 30,
    // The refused one, and the site.
    isReady: async (ask) => ((await count(ask)).down ?? 0) >= 7,
    pictures: [
      { name: 'outage-light', path: '/', screen: 'light' },
      { name: 'outage-dark', path: '/', screen: 'dark' },
      { name: 'outage-phone', path: '/', screen: 'phone' },
    ],
  },
];
/** Sorted by a value: routers that are not polled yet come last. */
const LARGE_DEMO: Demo = {
  routers: 10_000,
  isReady: async (ask) => ((await count(ask)).up ?? 0) > 8000,
  pictures: [{ name: 'fleet-of-ten-thousand', path: '/?sort=signal', screen: 'light' }],
};

async function main(): Promise<void> {
  await mkdir(IMAGES, { recursive: true });
  const executablePath = execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim();
  const args = ['--force-color-profile=srgb', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])];
  const browser = await chromium.launch({ executablePath, args });
  try {
    await Promise.all(DEMOS.map((demo) => runDemo(demo, browser)));
    // Alone: it takes most of the ports of the machine.
    await runDemo(LARGE_DEMO, browser);
  } finally {
    await browser.close();
  }
}

/** Returns how many routers of the fleet have each state; nothing if the agent does not answer. */
async function count(ask: Ask): Promise<Partial<Readonly<Record<'up' | 'down', number>>>> {
  return (await ask('/api/v1/process'))?.minutes?.at(-1) ?? {};
}

async function runDemo({ routers, isReady, pictures }: Demo, browser: Browser): Promise<void> {
  const demo = spawn(
    process.execPath,
    [MAIN, 'demo', '--faults', '--routers', String(routers), '--web.listen-address', '127.0.0.1:0'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  try {
    const baseURL = await readAddress(demo);
    const ask: Ask = async (path) => {
      const answer = await fetch(`${baseURL}${path}`).catch(() => undefined);
      return answer?.ok ? await answer.json() : undefined;
    };
    await waitUntil(() => isReady(ask), demo, `the demo of ${routers} routers`);
    for (const picture of pictures) {
      const context = await browser.newContext({ baseURL, ...SCREENS[picture.screen] });
      await take(await context.newPage(), picture);
      await context.close();
    }
  } finally {
    const ended = once(demo, 'exit');
    if (demo.kill()) await ended;
  }
}

/** Returns the address of the pages, which the demo writes to stderr. */
async function readAddress(demo: ChildProcess): Promise<string> {
  let text = '';
  demo.stderr?.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-10_000);
  });
  let address: string | undefined;
  const find = async () => {
    address ??= /Status page\s+(http:\S+)\/\n/.exec(text)?.[1];
    return address !== undefined;
  };
  await waitUntil(find, demo, 'the address of a demo');
  return address ?? '';
}

async function waitUntil(isSo: () => Promise<boolean>, demo: ChildProcess, what: string): Promise<void> {
  for (const endMs = clock.monotonic() + PATIENCE_MS; clock.monotonic() < endMs; ) {
    if (demo.exitCode !== null) throw new RangeError(`The demo ended with ${demo.exitCode}`);
    if (await isSo()) return;
    await clock.sleep(LOOK_EVERY_MS);
  }
  throw new RangeError(`Waited too long for ${what}`);
}

async function take(page: Page, { name, path }: Picture): Promise<void> {
  await page.goto(path);
  const measure = '[document.documentElement.scrollWidth, innerWidth, document.documentElement.scrollHeight]';
  const [least = 0, width = 0, height = 0] = await page.evaluate<readonly number[]>(measure);
  if (least > width) throw new RangeError(`${path} is wider than the screen`);
  const clip = { x: 0, y: 0, width, height: Math.min(height, HEIGHT_MAX) };
  await page.screenshot({ path: `${IMAGES}/${name}.png`, animations: 'disabled', fullPage: true, clip });
  process.stdout.write(`${name}.png\n`);
}

await main();
