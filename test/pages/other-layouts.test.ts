import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DeadLetterDetail, LogLine, RouterDetail, WebContent } from '../../src/web/index.ts';
import { findBarriers, openBrowser, openPage } from '../support/browser.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';
import { createProcess, DETAIL, EVENT, openBench, SINK } from '../web/bench.ts';
import { createFleet, HARD, LONG_NAME } from '../web/pages/sample-fleet.ts';
import { FIND_CUT_TEXTS } from './cut-texts.ts';

const SCREENS: readonly (readonly [width: number, height: number])[] = [
  [1400, 900],
  [900, 800],
  [390, 844],
  [320, 640],
];
const CJK = '東京都千代田区丸の内一丁目九番一号東京駅丸の内駅舎'.repeat(6);
const ARABIC = 'فقد الاتصال بالشبكة الخلوية بعد انقطاع التيار الكهربائي '.repeat(6);
const UNBROKEN = '0123456789abcdef'.repeat(40);
const AT = '2026-11-21T12:00:00.000Z';

function lineOf(change: Partial<LogLine>): LogLine {
  return {
    router: LONG_NAME,
    timestamp: AT,
    observedTimestamp: AT,
    time: AT,
    component: 'network',
    tag: 'wan',
    severity: 'warning',
    message: 'eth0 is down',
    uid: 'k7d2m4q2x4t5h7ca-00000e2f',
    event: null,
    gap: null,
    ...change,
  };
}

const GAP = { certainty: 'certain', reason: 'expired', from: AT, to: AT, bytesMin: 4096, gapUid: null };
const LINES: readonly LogLine[] = [
  lineOf({ message: CJK }),
  lineOf({ message: ARABIC, component: 'مكون-الشبكة', router: 'plant-7' }),
  lineOf({ message: UNBROKEN, severity: 'error', component: 'c'.repeat(64), tag: 't'.repeat(200) }),
  lineOf({ message: 'Lines are missing', event: 'gap', gap: GAP }),
  lineOf({ message: `${'x'.repeat(3000)} end` }),
];

const LETTER: DeadLetterDetail = {
  id: 17,
  sink: `sink-${UNBROKEN}`.slice(0, 100),
  at: AT,
  router: LONG_NAME,
  component: 'c'.repeat(64),
  timestamp: AT,
  code: '400',
  reason: `mapper_parsing_exception: ${UNBROKEN} ${CJK} ${ARABIC}`,
  isReplayed: false,
  record: JSON.stringify({ router: LONG_NAME, message: `${CJK}${ARABIC}${UNBROKEN}` }),
};

const ROUTER_PAGE: RouterDetail = {
  ...DETAIL,
  ...HARD,
  name: LONG_NAME,
  failure: { reason: 'auth', step: 'auth', error: `The router refused: ${UNBROKEN} ${ARABIC}` },
};

/** Two modems with a chart each, and a version of a profile with its changes. */
const LAST_HOURS = Array.from({ length: 480 }, (_, index) => ({
  ...{ at: new Date(Date.parse(AT) + index * 180_000).toISOString(), result: 'up' as const, logLagSeconds: null },
  ...{ signal: -80 - (index % 30), signalMin: -110, signalMax: -80, responseSeconds: 0.2 },
  ...{ receiveBitsPerSecond: null, transmitBitsPerSecond: null },
}));
const MODEMS = ['lte2', 'lte3'];
const MODEM_PAGE: RouterDetail = {
  ...DETAIL,
  state: 'up',
  lastHours: LAST_HOURS,
  modems: MODEMS.map((modem) => ({ modem, signal: { kind: 'rsrp', value: -112 }, lastHours: LAST_HOURS })),
  values: [
    {
      module: 'modem',
      help: UNBROKEN,
      families: ['router_modem_rsrp_dbm', 'router_modem_sinr_db', `modem_${UNBROKEN}`].map((name) => ({
        ...{ name, help: ARABIC, label: null, good: null, type: 'gauge' as const, unit: null, keys: ['modem'] },
        ...{ stateLabel: null, resource: 'lte2', ageSeconds: 12 },
        samples: MODEMS.map((modem) => ({ labels: { modem }, value: 7 })),
      })),
    },
  ],
};

const NAMES = {
  count: 30,
  names: Array.from({ length: 30 }, (_, index) => (index === 0 ? LONG_NAME : `plant-${index}`)),
};

/** Texts of all scripts, and of the greatest length, wherever one comes from outside. */
const CONTENT: Partial<WebContent> = {
  describeRouter: (name) => (name === 'modems' ? MODEM_PAGE : ROUTER_PAGE),
  listBackups: () =>
    Promise.resolve([{ profile: UNBROKEN, number: 1, at: AT, bytes: 1e6, reason: 'recovered' as const }]),
  compareKeys: () => Promise.resolve(`+ ${UNBROKEN}=…\n- …`),
  readRecords: () => Promise.resolve({ records: LINES, next: `${AT}_0_${LONG_NAME}`, searchedTo: null, fault: null }),
  listEvents: () => ['router.down', 'log.gap', 'router.config'].map((kind) => ({ ...EVENT, kind, message: UNBROKEN })),
  listLogs: () => DETAIL.logs.map((log) => ({ ...log, router: LONG_NAME, component: 'c'.repeat(64) })),
  ...createProcess({
    sinks: [
      {
        ...SINK,
        name: LETTER.sink,
        state: 'down',
        deadLetters: 3,
        error: UNBROKEN,
        lastFailure: { at: AT, error: LETTER.reason },
      },
    ],
  }),
  listDeadLetters: () => ({
    letters: [LETTER, { ...LETTER, id: 16, reason: ARABIC, router: '' }],
    hasMore: true,
    counts: [
      [LETTER.sink, 3],
      ['loki', 1],
    ],
    fault: null,
  }),
  findDeadLetter: (id) => (id === LETTER.id ? LETTER : { fault: `Locked: /var/lib/${UNBROKEN}` }),
  renderConfig: () => `web:\n  external: ${UNBROKEN}\nlabels: { city: ${ARABIC} }\n`,
  renderRouterConfig: () => `name: ${LONG_NAME}\n`,
  describeConfiguration: () => ({
    loadedAt: AT,
    lastReload: { at: AT, faults: [`f.yaml:3:5: routers: ${UNBROKEN}`] },
    pending: {
      at: AT,
      result: {
        ok: true,
        plan: {
          routers: {
            total: 30,
            added: NAMES,
            changed: { count: 1, routers: [{ name: LONG_NAME, keys: ['labels', 'poll.interval'] }] },
            removed: NAMES,
            reconnected: 30,
          },
          sections: ['sinks', 'redact'],
          needsRestart: ['storage.path'],
        },
      },
    },
    warnings: [`${UNBROKEN}: others can read this file`],
    sources: [
      {
        name: 'netbox',
        state: 'down',
        lastSuccess: AT,
        error: UNBROKEN,
        routers: 30,
        refused: 2,
        refusals: [CJK, ARABIC],
        held: { missing: 12, of: 40 },
      },
    ],
  }),
};

const ROUTER = `/router/${LONG_NAME}`;
const MODEM = '/router/modems?view=modem';
const CONFIGURATION = `${ROUTER}?view=configuration&profile=a&version=1`;
const POSITIONS = `${ROUTER}?view=positions`;
const EVENTS = `${ROUTER}?view=events`;
const PATHS = sampled(
  'layouts of other pages',
  [
    '/logs',
    '/logs/positions',
    ROUTER,
    MODEM,
    CONFIGURATION,
    POSITIONS,
    EVENTS,
    '/sinks',
    '/dead-letters',
    '/dead-letters/17',
    '/dead-letters/18',
    '/config',
  ],
  ['/logs', MODEM, CONFIGURATION, POSITIONS, EVENTS, '/dead-letters/18', '/config'],
);
const OWN_LINES = `${ROUTER}?view=logs`;
const PHONE_PATHS = sampled('layouts of other pages', ['/logs', '/logs/positions', OWN_LINES, POSITIONS], [OWN_LINES]);

withPrograms(['chromium'], describe)(
  `pages with texts of all kinds on screens of all sizes${sampleNote('layouts of other pages')}`,
  () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await openBrowser();
    });
    afterAll(() => browser?.close());

    test.for(PATHS)(
      '%s is never wider than the screen, cuts no text without its title, and has no barrier',
      async (path) => {
        const { nowMs } = createFleet({ count: 0 });
        await using bench = await openBench(CONTENT, { nowMs, isLifecycleEnabled: true });
        await using watched = await openPage(browser, bench.url);
        const { page, complaints } = watched;
        await page.goto(path);
        for (const [width, height] of SCREENS) {
          await page.setViewportSize({ width, height });
          expect([width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([width, width]);
          expect([width, await page.evaluate(FIND_CUT_TEXTS)]).toEqual([width, []]);
        }
        // At the narrowest, where most is hidden or moved.
        expect(await findBarriers(page)).toEqual([]);
        // The browser itself complains of the page that says why it cannot be read.
        expect(complaints.filter((text) => !text.includes('503'))).toEqual([]);
      },
    );

    test.for(PHONE_PATHS)('on a phone, nothing in the logs of %s has to be moved sideways', async (path) => {
      const { nowMs } = createFleet({ count: 0 });
      const gap = { at: AT, component: 'network', certainty: 'certain', reason: UNBROKEN, bytesMin: 1, until: AT };
      const describeRouter = () => ({ ...ROUTER_PAGE, recentGaps: [gap] });
      await using bench = await openBench({ ...CONTENT, describeRouter }, { nowMs });
      await using watched = await openPage(browser, bench.url);
      const { page } = watched;
      await page.goto(path);
      for (const [width, height] of SCREENS.filter(([wide]) => wide < 400)) {
        await page.setViewportSize({ width, height });
        const moved = await page.evaluate(`
          [...document.querySelectorAll('main, main *')]
            .filter((one) => one.scrollWidth > one.clientWidth && ['auto', 'scroll'].includes(getComputedStyle(one).overflowX))
            .map((one) => one.outerHTML.slice(0, 100))`);
        expect([width, moved]).toEqual([width, []]);
      }
    });

    test('a chart says the value under the pointer', async () => {
      const { nowMs } = createFleet({ count: 0 });
      const lastHours = Array.from({ length: 120 }, (_, index) => ({
        at: new Date(Date.UTC(2026, 10, 21) + index * 180_000).toISOString(),
        result: 'up' as const,
        signal: -80 - index / 10,
        signalMin: -80,
        signalMax: -80,
        logLagSeconds: null,
        responseSeconds: null,
        receiveBitsPerSecond: null,
        transmitBitsPerSecond: null,
      }));
      await using bench = await openBench({ describeRouter: () => ({ ...DETAIL, lastHours }) }, { nowMs });
      await using watched = await openPage(browser, bench.url);
      const { page, complaints } = watched;
      await page.goto('/router/plant-7');
      const chart = page.locator('svg.plot').first();
      const { width = 0, height = 0 } = (await chart.boundingBox()) ?? {};
      await chart.hover({ position: { x: width - 9, y: height / 2 } });
      expect(await page.locator('span.cursor').first().innerText()).toBe(' At 05:57: -91.9 dBm.');
      await chart.hover({ position: { x: 1, y: height / 2 } });
      expect(await page.locator('span.cursor').first().innerText()).toBe(' At 00:00: -80 dBm.');
      expect(complaints).toEqual([]);
    });

    test('"Poll now" is pressed by keyboard, polls this router, and shows its page again', async () => {
      const polled: string[] = [];
      const { nowMs } = createFleet({ count: 0 });
      const refresh: WebContent['refresh'] = (name) => {
        polled.push(name);
        return Promise.resolve();
      };
      const content = { describeRouter: () => ({ ...DETAIL, durationSeconds: polled.length }), refresh };
      await using bench = await openBench(content, { nowMs, isLifecycleEnabled: true });
      await using watched = await openPage(browser, bench.url);
      const { page, complaints } = watched;
      await page.goto('/router/plant-7');
      const button = page.getByRole('button', { name: 'Poll now' });
      expect(await button.isVisible()).toBe(true);
      await button.focus();
      await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
      expect([polled, new URL(page.url()).pathname]).toEqual([['plant-7'], '/router/plant-7']);
      expect(await page.locator('h1').innerText()).toBe('plant-7');
      await using plain = await openBench(content, { nowMs });
      await using without = await openPage(browser, plain.url);
      await without.page.goto('/router/plant-7');
      expect(await without.page.getByRole('button', { name: 'Poll now' }).count()).toBe(0);
      expect(complaints).toEqual([]);
    });

    test('with other processes, each page shows all of them, and names the one that does not answer', async () => {
      const others = new Map([
        ['far-1', { name: 'far-1', url: 'https://192.0.2.1', labels: {}, shard: 1 }],
        ['far-2', { name: 'far-2', url: 'https://192.0.2.2', labels: {}, shard: 2 }],
      ]);
      const { nowMs, ...fleet } = createFleet({ count: 3 });
      await using far = await openBench({ ...fleet, ...CONTENT }, { nowMs });
      // Nobody listens at the last one.
      const peers = ['http://127.0.0.1:1', far.url, 'http://127.0.0.1:1'];
      const describeShards = () => ({ index: 0, total: 3, peers, others });
      await using bench = await openBench({ ...fleet, ...CONTENT, describeShards }, { nowMs });
      await using watched = await openPage(browser, bench.url, { viewport: { width: 320, height: 640 } });
      const { page, complaints } = watched;
      for (const [path, lack] of [
        ['/', 'its 1 router cannot be shown'],
        ['/logs', 'its lines are missing here'],
        ['/logs/positions', 'its logs are missing here'],
        ['/sinks', 'its deliveries are missing here'],
        ['/dead-letters', 'its dead letters are missing here'],
      ] as const) {
        await page.goto(path);
        const notices = page.locator('.notice').filter({ hasText: 'does not answer' });
        expect([path, await notices.allInnerTexts()]).toEqual([
          path,
          [expect.stringMatching(new RegExp(`^Process 2 \\(http://127\\.0\\.0\\.1:1\\) does not answer: ${lack}\\.`))],
        ]);
        for (const [width, height] of SCREENS) {
          await page.setViewportSize({ width, height });
          expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, width]);
          expect([path, width, await page.evaluate(FIND_CUT_TEXTS)]).toEqual([path, width, []]);
        }
        expect([path, await findBarriers(page)]).toEqual([path, []]);
      }
      expect(complaints).toEqual([]);
    });
  },
);
