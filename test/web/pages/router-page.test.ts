import { expect, test } from 'vitest';
import type { RouterDetail } from '../../../src/web/index.ts';
import { gradeSignal } from '../../../src/web/pages/router-facts.ts';
import { ask, DETAIL } from '../bench.ts';
import { createDown, EVIL, read } from './page-bench.ts';

const UP: RouterDetail = { ...DETAIL, state: 'up', failure: null, fault: null, consecutiveFailures: 0 };

function show(change: Partial<RouterDetail>, view = 'overview'): Promise<string> {
  return read(`/router/plant-7?view=${view}`, { describeRouter: () => ({ ...UP, ...change }) });
}

function readSteps(page: string): string[] {
  return [...page.matchAll(/<li class="(\w+)">([^<]*: [^<]*)</g)].map(([, tone, text]) => `${tone} ${text}`);
}

test.for([
  [
    'dns',
    [
      'bad dns: failed',
      'soft connect: not tried',
      'soft tls: not tried',
      'soft auth: not tried',
      'soft http: not tried',
      'soft parse: not tried',
    ],
  ],
  [
    'auth',
    [
      'good dns: passed',
      'good connect: passed',
      'good tls: passed',
      'bad auth: failed',
      'soft http: not tried',
      'soft parse: not tried',
    ],
  ],
  [
    'parse',
    [
      'good dns: passed',
      'good connect: passed',
      'good tls: passed',
      'good auth: passed',
      'good http: passed',
      'bad parse: failed',
    ],
  ],
] as const)(
  'a router that fails at %s shows the steps that passed, the error, and what to do',
  async ([step, steps]) => {
    const page = await show(createDown(step, 'Something is wrong'), 'agent');
    expect(readSteps(page)).toEqual(steps);
    expect(page).toMatch(/<strong>Fails at (dns|auth|parse lte2):<\/strong> Something is wrong/);
    expect(page).toContain('<code>router-exporter doctor plant-7</code>');
  },
);

test('a router whose logs were not read in time says since when lines may be lost, and the fleet counts it', async () => {
  const logLossSince = '2026-11-21T11:34:20.000Z';
  expect(await show({ logLossSince })).toMatch(/<strong>Log lines may be lost since <time [^>]*>11:34:20<\/time>:/);
  expect(await show({})).not.toContain('may be lost');
  const fleet = await read('/', { listRouters: () => [{ ...UP, logLossSince }] });
  expect(fleet).toContain('<a class="bad" href="?state=loss">1 router may lose log lines</a>');
});

test('the page of a router says since when it is in its state, and if that may be longer', async () => {
  const since = '1969-12-31T23:40:00.000Z';
  expect((await show({ since })).replaceAll(/<[^>]*>/g, '')).toContain('up since 23:40:00 (20 min).');
  expect((await show({ since, isFirstState: true })).replaceAll(/<[^>]*>/g, '')).toContain(
    'up for at least 20 min (since the first poll).',
  );
});

test('the lines of a router that is down begin with until when they were read, or with why there are none', async () => {
  const showLines = async (change: Partial<RouterDetail>) => {
    const page = await show(change, 'logs');
    return page.replaceAll(/<[^>]*>/g, '');
  };
  const since = '1969-12-31T23:40:00.000Z';
  const tcp = { ...createDown('connect', 'x'), since };
  const logs = UP.logs.map((log) => ({ ...log, lagSeconds: 1220 }));
  expect(await showLines({ ...tcp, logs })).toContain('Last read 23:39:40; not reachable since 23:40:00.');
  const never = { since, lastSuccess: null, logs: [] };
  const refused = await showLines({ ...never, ...createDown('auth', 'Refused') });
  expect(refused).toContain('Not read since the agent started; down since 23:40:00.');
  expect(refused).toContain('No matching lines. No login to this router has succeeded since the agent started');
  expect(refused).not.toMatch(/storage\.recent|its last lines/);
  expect(await showLines({ ...never, ...createDown('connect', 'x') })).toContain(
    'No poll has reached this router since',
  );
  expect(await showLines({ since })).not.toContain('Last read');
});

test('no page shows credentials in an address', async () => {
  const url = 'https://me:hunter2@192.0.2.1';
  expect(await show({ url })).toContain('https://192.0.2.1');
  expect(await show({ url })).not.toContain('hunter2');
  expect(await read('/', { listRouters: () => [{ ...UP, url }] })).not.toContain('hunter2');
});

test('a router over plain HTTP without a login shows both steps as not used', async () => {
  const steps = readSteps(
    await show({ url: 'http://192.0.2.1', session: { ...UP.session, state: 'none', since: null } }, 'agent'),
  );
  expect(steps.slice(2, 4)).toEqual(['soft tls: not used', 'soft auth: not used']);
});

test('what to do about a failure is said once', async () => {
  const general = 'check that the router is switched on';
  expect(await show(createDown('connect', 'No connection: ECONNREFUSED 192.0.2.1'))).toContain(general);
  const own = await show(createDown('connect', 'No connection: ECONNREFUSED 192.0.2.1. Check host and port'));
  expect(own).toContain('Check host and port');
  expect(own).not.toContain(general);
});

test('the changes of a version are shown, escaped, only when they are asked for', async () => {
  const asked: (string | number)[] = [];
  const showChanges = (query: string, count = 2) =>
    read(`/router/plant-7?view=${query}`, {
      describeRouter: () => UP,
      listBackups: () =>
        Promise.resolve(
          Array.from({ length: count }, (_, index) => ({
            ...{
              profile: EVIL,
              number: 2 + index,
              at: '2026-11-21T12:00:00.000Z',
              bytes: 1000,
              reason: 'change' as const,
            },
          })),
        ),
      compareKeys: (...version) => {
        asked.push(...version);
        return Promise.resolve(`+ a.b=…\n${EVIL}`);
      },
    });
  const version = `profile=${encodeURIComponent(EVIL)}&version=2`;
  const page = await showChanges('configuration');
  expect(page).toContain(
    `<a href="?view=configuration&amp;${version.replace('&', '&amp;').replaceAll("'", '&#39;')}#changes">`,
  );
  // There is none before the oldest.
  expect(page.match(/#changes"/g)).toHaveLength(1);
  expect(page).not.toContain('id="changes"');
  for (const query of ['overview', `overview&${version}`, 'configuration&version=x', 'configuration&version=-1']) {
    await showChanges(query);
  }
  await showChanges(`configuration&${version}`, 0);
  expect(asked).toEqual([]);
  const changed = await showChanges(`configuration&${version}`);
  expect(asked).toEqual(['plant-7', EVIL, 2]);
  expect(changed).toMatch(
    /<h3 id="changes">Changes<\/h3>\s*<pre [^>]*aria-labelledby="changes">\+ a\.b=…\n&quot;&gt;&lt;script&gt;/,
  );
  expect(changed.match(/<script/g)).toHaveLength(1);
});

test('a degraded router names the resource', async () => {
  const page = await show({ fault: { step: 'http', resource: 'lte2', error: 'Too late' } }, 'agent');
  expect(readSteps(page)[4]).toBe('warn http: degraded');
  expect(page).toContain('<strong>Degraded at http lte2:</strong> Too late');
});

test('a router without budget was not asked, and one that was not polled has no notice', async () => {
  const spent = await show({ state: 'budget', failure: { reason: 'budget', step: null, error: 'Used up' } }, 'agent');
  expect(spent).toContain('<strong>Not polled:</strong> Used up');
  expect(readSteps(spent).every((step) => step.endsWith('not tried'))).toBe(true);
  const unknown = await show(
    {
      state: 'unknown',
      since: null,
      lastSuccess: null,
      recentPolls: [],
      resources: [],
    },
    'agent',
  );
  expect(unknown).not.toContain('class="notice"');
  expect(unknown).toContain('No poll yet.');
});

test('a router that asks to be left alone says until when', async () => {
  const page = await show({ retryAfter: '2026-11-21T12:15:00.000Z' });
  expect(page).toMatch(/<strong>Paused until .*12:15:00.*:<\/strong> the router answered 429 or 503/);
  expect(await show({})).not.toContain('<strong>Paused until');
});

test('the page of a router shows identity, session, bytes and budget', async () => {
  const views = ['agent', 'configuration'].map((view) => show({ session: { ...UP.session, state: 'lost' } }, view));
  const page = (await Promise.all(views)).join('');
  for (const text of [
    'https://192.0.2.10',
    'site=munich',
    'MRX3 · firmware 9.5 · serial 4711',
    'ended by the router',
    '2 logins, 1 failed, 7 refreshes',
    '1000 B sent, 19.5 KiB received',
    '20.5 KiB of 4.8 MiB <meter',
    'name: plant-7',
    '2027-01-01 00:00:00',
  ]) {
    expect(page).toContain(text);
  }
});

test('polls that failed, resources, logs, gaps and records each have their row', async () => {
  const change: Partial<RouterDetail> = {
    recentGaps: [
      {
        at: '2026-11-21T12:00:00.000Z',
        component: 'network',
        certainty: 'certain',
        reason: 'expired',
        bytesMin: 2048,
        until: '2026-11-21T12:30:00.000Z',
      },
    ],
  };
  const page = (await show(change, 'agent')) + (await show(change, 'positions'));
  for (const row of [
    /<th scope="row"><time[^>]*>2026-11-21 12:01:00<\/time><\/th>.*?>10 s<.*?bad">failed<.*?>http lte2<.*?>No answer</s,
    /<th scope="row">lte2<\/th>.*?good">up<.*?>13 s<.*?>0.2 s</s,
    /<th scope="row">sfp2<\/th>.*?soft">unsupported<.*?>–<.*?>–</s,
    /<th scope="row"[^>]*>network<\/th>.*?>4 s<.*?>network\/current at 1,000</s,
    />certain<.*?>expired<.*?>at least 2.0 KiB</s,
  ]) {
    expect(page).toMatch(row);
  }
});

const ROTATION = { linksProven: true, matches: 1999, misses: 1, chance: 1 / 1234, contradictedBy: [] };

test.each([
  [null, 'no rotation has yet shown how consecutive files are linked.'],
  [
    ROTATION,
    'a file begins in the second in which the one before ends (in 1,999 of 2,000 rotations, by chance 1 in 1,234): a missing one would show.',
  ],
  [
    { ...ROTATION, matches: 1, misses: 0, linksProven: false, chance: 1e-24, contradictedBy: ['network', 'vpn'] },
    'not proven that a file begins in the second in which the one before ends (in 1 of 1 rotation, by chance less than 1 in 1,000,000): nothing waits for a missing one. Contradicted by network, vpn.',
  ],
  [
    { ...ROTATION, matches: 0, misses: 3, linksProven: false, chance: 1 },
    'not proven that a file begins in the second in which the one before ends (in 0 of 3 rotations): nothing waits for a missing one.',
  ],
])('the page of a router says what its rotations have shown: %j', async (logRotation, words) => {
  expect(await show({ logRotation }, 'positions')).toContain(`<p>Log rotation: ${words}</p>`);
});

test('a hole splits the line of a chart, and what stands alone is a point', async () => {
  const at = (minute: number) => new Date(minute * 60_000).toISOString();
  const values = { signal: null, signalMin: null, signalMax: null, logLagSeconds: null };
  const rates = { receiveBitsPerSecond: null, transmitBitsPerSecond: null };
  const lastHours = [1, null, 2, 3].map((responseSeconds, index) => ({
    ...{ at: at(index * 3), result: 'up' as const, ...values, ...rates },
    responseSeconds,
  }));
  const page = await show({ lastHours });
  expect(page.match(/<circle [^>]*>|<polyline [^>]*>/g)).toEqual([
    '<circle cx="68" cy="68" r="1.5"/>',
    '<polyline points="305.3,38 424,8"/>',
  ]);
});

test.for(['overview', 'network', 'modem', 'device', 'logs', 'positions', 'configuration', 'agent'])(
  'everything on the page of a router is escaped: %s',
  async (view) => {
    const page = await show(
      {
        ...createDown('parse', EVIL),
        fault: { step: 'parse', resource: EVIL, error: EVIL },
        firmware: EVIL,
        serial: EVIL,
        labels: { [EVIL]: EVIL },
        url: EVIL,
        since: EVIL,
        certificate: { notAfter: EVIL },
        resources: [
          { resource: EVIL, state: 'failed', ageSeconds: null, durationSeconds: null, error: EVIL, finding: EVIL },
          { resource: EVIL, state: 'up', ageSeconds: null, durationSeconds: null, error: null, finding: EVIL },
        ],
        logs: DETAIL.logs.map((log) => ({
          ...log,
          component: EVIL,
          newest: EVIL,
          position: { file: EVIL, offset: 1 },
        })),
        logRotation: { ...ROTATION, contradictedBy: [EVIL] },
        recentGaps: [{ at: EVIL, component: EVIL, certainty: EVIL, reason: EVIL, bytesMin: null, until: null }],
        recentPolls: [
          {
            at: EVIL,
            durationSeconds: 1,
            ok: false,
            reason: EVIL,
            error: EVIL,
            fault: { step: 'dns', resource: EVIL, error: EVIL },
          },
        ],
        lastHours: [
          {
            at: EVIL,
            result: 'up',
            signal: -80,
            signalMin: -80,
            signalMax: -80,
            logLagSeconds: 1,
            responseSeconds: 1,
            receiveBitsPerSecond: 1,
            transmitBitsPerSecond: 1,
          },
        ],
        interfaceRates: [{ interface: EVIL, receiveBytesPerSecond: 1, transmitBytesPerSecond: 1 }],
      },
      view,
    );
    expect(page.match(/<script/g)).toEqual(['<script']);
    expect(page).toContain('&lt;script&gt;');
    expect(page).not.toMatch(/href="[^"?.#&]*script/);
  },
);

test.for(['/router/nobody', '/router/%3Cscript%3E', '/router/%FF', '/router/a%2Fb'])(
  'GET %s is a page with 404',
  async (path) => {
    const { status, headers, text } = await ask(path);
    expect([status, headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(text).toContain('No router of this name is configured.');
    expect(text.match(/<script/g)).toHaveLength(1);
  },
);

test.for([-100, -95, -91, -85, -84, -75])('RSSI of %d dBm and its CSQ have the same grade', (rssi) => {
  expect(gradeSignal('csq', Math.floor((rssi + 113) / 2))).toBe(gradeSignal('rssi', rssi));
});

test('the history of the signal says how good it is, and since when', async () => {
  const at = (minute: number) => `2026-11-21T12:${String(minute).padStart(2, '0')}:00.000Z`;
  const pointOf = (minute: number, signal: number | null, signalMin = signal, signalMax = signal) => {
    const [result, logLagSeconds, responseSeconds] = ['up' as const, null, null];
    const [receiveBitsPerSecond, transmitBitsPerSecond] = [null, null];
    const values = { logLagSeconds, responseSeconds, receiveBitsPerSecond, transmitBitsPerSecond };
    return { at: at(minute), result, signal, signalMin, signalMax, ...values };
  };
  const captionOf = async (...lastHours: ReturnType<typeof pointOf>[]) =>
    /<strong>Signal.*?<\/strong>: (.*?)<\/figcaption>/.exec(await show({ lastHours }))?.[1]?.replaceAll(/<[^>]*>/g, '');
  const poor = [pointOf(3, -104), pointOf(6, null), pointOf(9, -105)] as const;
  const values = 'last -105 dBm, minimum -105 dBm, maximum';
  expect(await captionOf(pointOf(0, -85), ...poor)).toBe(`${values} -85 dBm in the last 12 min; poor since 12:03.`);
  // All polls count, and within the first minutes the first reading may have come at any time.
  const [first, last] = [pointOf(0, null), pointOf(9, -105, -105, -101)];
  expect(await captionOf(first, pointOf(3, -104), pointOf(6, -104, -105, -88), last)).toBe(
    `${values} -88 dBm in the last 9 min; poor since 12:09.`,
  );
  expect(await captionOf(first, ...poor)).toBe(`${values} -104 dBm in the last 9 min; poor since 12:06 or longer.`);
  expect(await captionOf(first, last)).toBe(`${values} -101 dBm in the last 3 min; poor at the last reading.`);
  expect(await captionOf(pointOf(0, -85), pointOf(3, -105, -105, -85))).toBe(`${values} -85 dBm in the last 6 min.`);
  // After an outage of several points, it is not that of now.
  const none = [12, 15, 18].map((minute) => pointOf(minute, null));
  expect(await captionOf(pointOf(0, -85), ...poor, ...none)).toBe(
    `${values} -85 dBm in the last 21 min; poor since 12:03, until 12:09.`,
  );
  expect(await captionOf(pointOf(6, -85), last, ...none)).toBe(
    `${values} -85 dBm in the last 15 min; poor at the last reading.`,
  );
});

test('a router that is down leads to what it wrote before', async () => {
  const page = await read('/router/plant-7', { describeRouter: () => DETAIL });
  expect(page).toContain('Before the failure: <a href="?view=logs">its last lines</a>');
  expect(await show({ fault: DETAIL.fault })).not.toContain('its last lines');
});
