import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type FamilyValues, type HistoryPoint, NO_DEVICE, type RouterDetail } from '../../../src/web/index.ts';
import { SIGNAL_LIMITS } from '../../../src/web/pages/router-facts.ts';
import { DETAIL } from '../bench.ts';
import { EVIL, read, readRows } from './page-bench.ts';

type Samples = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

function createFamily(name: string, samples: Samples, change: Partial<FamilyValues> = {}): FamilyValues {
  return {
    name,
    help: `Help of ${name}.`,
    label: null,
    good: null,
    type: 'gauge',
    unit: null,
    keys: Object.keys(samples[0]?.[0] ?? {}),
    stateLabel: null,
    resource: 'lte2',
    ageSeconds: 12,
    samples: samples.map(([labels, value]) => ({ labels, value })),
    ...change,
  };
}

function show(change: Partial<RouterDetail>, view = 'overview'): Promise<string> {
  return read(`/router/plant-7?view=${view}`, {
    describeRouter: () => ({ ...DETAIL, state: 'up', failure: null, fault: null, ...change }),
  });
}

function showModule(
  module: string,
  families: readonly FamilyValues[],
  change: Partial<RouterDetail> = {},
): Promise<string> {
  const view = ['interfaces', 'ports'].includes(module) ? 'network' : module === 'modem' ? 'modem' : 'device';
  return show({ values: [{ module, help: 'What it is.', families }], ...change }, view);
}

/** Terms and their descriptions, without tags. */
function readFacts(page: string): Record<string, string> {
  const strip = (text: string) => text.replaceAll(/<svg.*?<\/svg>|<[^>]*>/gs, '').trim();
  const facts = page.matchAll(/<dt[^>]*>(.*?)<\/dt><dd[^>]*>(.*?)<\/dd>/gs);
  return Object.fromEntries([...facts].map(([, term = '', text = '']) => [strip(term), strip(text)]));
}

const MODEM = { modem: 'lte2' };
const MODEM_FAMILIES = [
  createFamily('router_modem_info', [[{ ...MODEM, provider_name: 'o2' }, 1]], { type: 'info', keys: ['modem'] }),
  createFamily('router_modem_access_technology', [[{ ...MODEM, access_technology: 'LTE' }, 1]]),
  createFamily('router_modem_used_sim', [[{ ...MODEM, used_sim: 'SIM 1' }, 1]]),
  createFamily('router_modem_rsrp_dbm', [[MODEM, -112]]),
  createFamily('router_modem_sinr_db', [[MODEM, 13]]),
  createFamily(
    'router_modem_state',
    ['Online', 'Offline'].map((state) => [{ ...MODEM, state }, state === 'Online' ? 1 : 0]),
    {
      type: 'stateset',
      keys: ['modem'],
      stateLabel: 'state',
      help: 'State of the modem: 1 for the current one.',
    },
  ),
];

/** Titles, values and notes of the tiles of an overview. */
function readTiles(page: string): Record<string, string> {
  const strip = (text: string) => text.replaceAll(/<svg.*?<\/svg>|<[^>]*>/gs, '').trim();
  const tiles = page.matchAll(
    /<li><a href="\?view=\w+">(.*?)<\/a><strong[^>]*>(.*?)<\/strong><span class="soft">(.*?)<\/span><\/li>/g,
  );
  return Object.fromEntries([...tiles].map(([, title = '', ...texts]) => [title, texts.map(strip).join('; ')]));
}

const WAN_FAMILIES = [
  createFamily('router_wan_active_info', [[{ chain: 'wan1' }, 1]], { type: 'info', keys: [] }),
  createFamily('router_wan_chain_member_online', [
    [{ chain: 'wan1', interface: 'lte2' }, 1],
    [{ chain: 'wan1', interface: 'dsl' }, 0],
  ]),
];
const REPORTED: Partial<RouterDetail> = {
  device: {
    ...DETAIL.device,
    operator: 'o2',
    technology: 'LTE',
    signal: { kind: 'rsrp', value: -112 },
    wan: 'wan1',
    uptimeSeconds: 1200,
  },
  logLagSeconds: 4,
  traffic: { interface: 'lte2', receiveBytesPerSecond: 150, transmitBytesPerSecond: null },
  values: [
    {
      module: 'modem',
      help: '',
      families: [...MODEM_FAMILIES, createFamily('router_modem_temperature_celsius', [[MODEM, 41.26]])],
    },
    { module: 'wan', help: '', families: WAN_FAMILIES },
    {
      module: 'any',
      help: '',
      families: [
        createFamily('router_supply_volts', [
          [{ input: '1' }, 24.04],
          [{ input: '2' }, 0],
        ]),
        createFamily('cabinet_temperature_celsius', [[{}, 30]]),
      ],
    },
  ],
};

test('the overview of a router has a tile for signal, WAN, traffic, supply, uptime and logs', async () => {
  const page = await show(REPORTED);
  expect(readTiles(page)).toEqual({
    Signal: '-112 dBm; RSRP, o2 · LTE',
    WAN: 'wan1; 1 of 2 members online',
    Traffic: '1.2 kbit/s in; – out, lte2',
    Supply: '24 V, 0 V; 41.3 °C at most',
    Uptime: '20 min; restarted within the last hour',
    Data: '586 KiB; by the agent this month',
    Logs: '4 s behind; 1 log, no gaps since the agent started',
  });
  expect(page).toContain('title="RSRP -112 dBm: unusable"');
  expect(page).toContain('<span class="warn">20 min</span>');
  expect(Object.keys(readTiles(await show({ logs: [], device: NO_DEVICE, traffic: null })))).toEqual(['Data']);
  const use = { agent: 2e6, agentForecast: 9e6, used: 3e9, limit: 4e9, forecast: 5e9 };
  const planned = await show({ ...REPORTED, use });
  expect(readTiles(planned)['Data']).toBe('2.8 GiB; of 3.7 GiB, 4.7 GiB forecast; agent 1.9 MiB');
  expect(planned).toContain('<strong class="warn">4.7 GiB</strong> forecast');
});

test.for([
  ['is down', { state: 'down', isStale: false }],
  ['has not been reached since the agent started', { state: 'unknown', isStale: true }],
  ['was reached by a download, but has values of before', { state: 'up', isStale: true }],
] as const)('the values of a router that %s are grey', async ([, state]) => {
  const page = await show({ ...REPORTED, ...state, traffic: null });
  expect(page.match(/<strong class="expired">/g)).toHaveLength(6);
  expect(page).not.toContain('restarted within');
  expect(await show({ ...REPORTED, ...state }, 'modem')).toMatch(/class="expired"/);
  expect(await show(REPORTED, 'modem')).not.toContain('class="expired"');
});

const NAMED_FAMILIES = [
  ...MODEM_FAMILIES.map((family) => {
    const label = { router_modem_access_technology: 'Technology', router_modem_used_sim: 'SIM in use' }[family.name];
    return { ...family, label: label ?? null, help: label ? `${label}: 1 for the current one.` : family.help };
  }),
  createFamily('router_modem_online', [[MODEM, 1]], { label: 'Data session', good: 1 }),
  createFamily('router_modem_pin_retries', [[MODEM, 0]], { label: 'PIN attempts left' }),
];

test('a modem has its values once and a chart of its signal, grey while the router is down', async () => {
  const values = [{ module: 'modem', help: '', families: NAMED_FAMILIES }];
  const modems = [{ modem: 'lte2', signal: DETAIL.device.signal, lastHours: null }];
  const page = await show({ values, modems, lastHours: LAST_HOURS }, 'modem&range=1h');
  expect(readFacts(page)).toEqual({
    'Provider name': 'o2',
    Technology: 'LTE',
    'SIM in use': 'SIM 1',
    'Data session': 'yes',
    State: 'Online',
    Rsrp: '-112 dBm',
    Sinr: '13 dB',
    // Zero, and shown all the same.
    'PIN attempts left': '0',
  });
  expect(page.match(/-112 dBm<\/span>/g)).toHaveLength(1);
  expect(page).toContain('title="SINR 13 dB: good"');
  expect(page).toMatch(
    /<h3><bdi>lte2<\/bdi><\/h3><div class="plots wide"><figure><svg [^>]*aria-label="Signal \(RSRP\)/,
  );
  expect(page).toContain('<a href="?view=modem&amp;range=1h" aria-current="true">');
  const isGrey = (text: string) => {
    expect(text).toMatch(
      /<dd><bdi><span class="expired"><span class="signal soft" title="RSRP -112 dBm: unusable, when/,
    );
    expect(text).not.toMatch(/class="(?:signal )?(?:good|warn|bad)"/);
  };
  const down = await show({ values, modems, lastHours: LAST_HOURS, state: 'down', isStale: true }, 'modem');
  isGrey(down.slice(down.indexOf('class="values"')));
  expect(down).toContain('<h2>Modem <span class="soft">· last read 12 s ago</span></h2>');
  const resources = DETAIL.resources.map((resource) => ({ ...resource, state: 'failed' as const }));
  const unread = await show({ values, modems, resources }, 'modem');
  isGrey(unread.slice(unread.indexOf('class="values"')));
  // Not read again since the agent started: the chart is all that is known.
  const recalled = await show({ lastHours: LAST_HOURS, state: 'down' }, 'modem');
  expect(recalled.match(/<svg class="plot"/g)).toHaveLength(1);
  expect(recalled).toContain('The router has reported no modem.');
  const none = await show({ lastHours: LAST_HOURS, device: { ...DETAIL.device, signal: null } }, 'modem');
  expect(none).toContain('The router has reported no modem.');
  expect(none).not.toMatch(/<figure|class="ranges"/);
});

test('each of two modems has a chart of its own signal above its values', async () => {
  const families = NAMED_FAMILIES.map((family) => ({
    ...family,
    samples: ['lte2', 'lte3'].flatMap((modem) =>
      family.samples.map((one) => ({ ...one, labels: { ...one.labels, modem } })),
    ),
  }));
  const historyOf = (signal: number) =>
    LAST_HOURS.map((point) => ({ ...point, signal, signalMin: signal, signalMax: signal }));
  const modems = [
    { modem: 'lte2', signal: { kind: 'rsrp' as const, value: -90 }, lastHours: historyOf(-90) },
    { modem: 'lte3', signal: { kind: 'rssi' as const, value: -60 }, lastHours: historyOf(-60) },
  ];
  const page = await show(
    { values: [{ module: 'modem', help: '', families }], modems, lastHours: LAST_HOURS },
    'modem',
  );
  const parts = page.split('<h3><bdi>').slice(1);
  expect(
    parts.map((part) => [part.slice(0, 4), /aria-label="(Signal [^,]*)/.exec(part)?.[1], part.includes('<dl')]),
  ).toEqual([
    ['lte2', 'Signal (RSRP): last -90 dBm', true],
    ['lte3', 'Signal (RSSI): last -60 dBm', true],
  ]);
});

test('a yes or no has a colour where the module says which one is good, and none while it is not current', async () => {
  const families = [
    createFamily('router_port_link_up', [[{}, 0]], { help: 'Whether it has a link.' }),
    createFamily('pump_on', [[{}, 0]], { label: 'Pump', good: 1 }),
    createFamily('valve_open', [[{}, 0]], { label: 'Valve', good: 0 }),
    createFamily('door_open', [[{}, 1]], { label: 'Door', good: 0 }),
  ];
  const listFacts = (page: string) => page.match(/<dt title="[^"]*">\w+<\/dt><dd><bdi>.*?<\/bdi>/g);
  const bad = (word: string) => `<strong class="warn">${word}</strong>`;
  expect(listFacts(await showModule('any', families))).toEqual([
    '<dt title="Help of pump_on.">Pump</dt><dd><bdi><strong class="warn">no</strong></bdi>',
    '<dt title="Help of valve_open.">Valve</dt><dd><bdi><span class="good">no</span></bdi>',
    `<dt title="Help of door_open.">Door</dt><dd><bdi>${bad('yes')}</bdi>`,
  ]);
  const resources = DETAIL.resources.map((resource) => ({ ...resource, state: 'failed' as const }));
  for (const change of [{ resources }, { state: 'down' as const }]) {
    const page = await showModule('any', families, change);
    expect(listFacts(page)?.at(-1)).toBe(
      '<dt title="Help of door_open.">Door</dt><dd><bdi><span class="expired">yes</span></bdi>',
    );
    expect(page).toContain('<h2>Any <span class="soft">· last read 12 s ago</span></h2>');
  }
});

test('values that are zero fold, unless there are no others', async () => {
  const rows = ['net1', 'net10', 'net2', 'dummy0'];
  const count = (values: readonly number[]): Samples =>
    rows.map((name, index) => [{ interface: name }, values[index] ?? 0]);
  const page = await showModule('interfaces', [
    createFamily('router_interface_receive_bytes_total', count([1, 2, 3, 0]), { type: 'counter', label: 'Received' }),
    createFamily('router_interface_receive_errors_total', count([0, 0, 0, 0]), { type: 'counter', label: 'Errors' }),
  ]);
  const table = page.slice(page.indexOf('<h2>Interfaces</h2>'));
  // By name as people count.
  expect(readRows(table).map(([name]) => name)).toEqual(['net1', 'net2', 'net10']);
  expect(table).toContain('<details class="zero"><summary>1 row is zero</summary>');
  const single = (received: number) =>
    showModule('any', [
      createFamily('received_total', [[{}, received]], { type: 'counter', label: 'Received' }),
      createFamily('lost_total', [[{}, 0]], { type: 'counter', label: 'Lost' }),
      createFamily('late_total', [[{}, 0]], { type: 'counter', label: 'Late' }),
    ]);
  expect(await single(7)).toMatch(/Received<.*<summary>2 values are zero<\/summary>.*>Lost<.*>Late</s);
  expect(await single(0)).not.toContain('are zero');
});

test('what is bad stands first, members of a WAN chain in their order', async () => {
  const profiles = ['b10', 'b9', 'c1'].map((profile) => ({ profile }));
  const changed = createFamily(
    'router_profile_modified',
    profiles.map((labels, index) => [labels, index === 2 ? 1 : 0]),
    { label: 'Changed', good: 0 },
  );
  const page = await show({ values: [{ module: 'profiles', help: '', families: [changed] }] }, 'configuration');
  expect(readRows(page).map(([name]) => name)).toEqual(['c1', 'b9', 'b10']);
  const members = ['lte2', 'eth1', 'dsl'].map((name, index) => ({
    chain: 'wan1',
    interface: name,
    position: `${index + 1}`,
  }));
  const toFamily = createFamily(
    'router_wan_chain_member_info',
    members.map((labels) => [labels, 1]),
    {
      type: 'info',
      keys: ['chain'],
    },
  );
  const online = createFamily(
    'router_wan_chain_member_online',
    members.map(({ chain, interface: name }) => [{ chain, interface: name }, name === 'dsl' ? 0 : 1]),
    { good: 1 },
  );
  const wan = await show({ values: [{ module: 'wan', help: '', families: [toFamily, online] }] }, 'network');
  expect(readRows(wan).map(([name]) => name)).toEqual(['wan1 · lte2', 'wan1 · eth1', 'wan1 · dsl']);
});

test('a module of the user has its section with labels, units and states; the help is their tooltip', async () => {
  const page = await showModule('my_heating', [
    createFamily('heating_flow_celsius', [[{}, 61.25]], { label: 'Flow temperature', help: 'Measured at the boiler.' }),
    createFamily('heating_pump_on', [[{}, 0]], { help: 'Whether the pump runs.' }),
    createFamily(
      'heating_mode',
      [
        [{ mode: 'eco' }, 1],
        [{ mode: 'full' }, 0],
      ],
      { type: 'stateset', keys: [], stateLabel: 'mode', help: 'Mode.' },
    ),
    createFamily('heating_share_ratio', [[{}, 0.256]], { help: 'Share.' }),
    createFamily('heating_nothing', [[{}, Number.NaN]], { help: 'Nothing.' }),
  ]);
  expect(page).toContain('<h2>My heating</h2>');
  expect(page).toContain('What it is.');
  expect(readFacts(page)).toMatchObject({
    'Flow temperature': '61.25 °C',
    'Pump on': 'no',
    Mode: 'eco',
    Share: '25.6 %',
    Nothing: 'NaN',
  });
  expect(page).toContain('<dt title="Measured at the boiler.">Flow temperature</dt>');
});

test('what there is several times is a table with a row for each, and the rates of interfaces', async () => {
  const interfaces = ['net1', 'net2', 'lte2'];
  const count = (factor: number): Samples =>
    interfaces.map((name, index) => [{ interface: name }, (index + 1) * factor]);
  const page = await showModule(
    'interfaces',
    [
      createFamily('router_interface_receive_bytes_total', count(2048), { type: 'counter' }),
      createFamily('router_interface_transmit_bytes_total', count(1024), { type: 'counter' }),
    ],
    { interfaceRates: [{ interface: 'net2', receiveBytesPerSecond: 1536, transmitBytesPerSecond: null }] },
  );
  const table = page.slice(page.indexOf('<h2>Interfaces</h2>'));
  expect(readRows(table)).toEqual([
    ['lte2', '–', '–', '6.0 KiB', '3.0 KiB'],
    ['net1', '–', '–', '2.0 KiB', '1.0 KiB'],
    ['net2', '12.3 kbit/s', '–', '4.0 KiB', '2.0 KiB'],
  ]);
  expect(table).toContain('<th scope="col" title="Help of router_interface_receive_bytes_total.">Receive bytes</th>');
});

test('labels that only some families have become columns, if the others identify the rows', async () => {
  const ports = [1, 2, 3].map((port) => ({ slot: '1', port: String(port) }));
  const page = await showModule('ports', [
    createFamily(
      'router_port_link_up',
      ports.map((port) => [{ ...port, net: `net${port.port}` }, 1]),
    ),
    createFamily(
      'router_port_full_duplex',
      ports.map((port) => [port, 1]),
    ),
  ]);
  expect(readRows(page.slice(page.indexOf('<h2>Ports</h2>')))[2]).toEqual(['1 · 3', 'net3', '1', '1']);
});

test('a thousand rows and columns are cut, and nothing that a router says becomes part of the page', async () => {
  const many: Samples = Array.from({ length: 1000 }, (_, index) => [{ [EVIL]: `${EVIL}${index}` }, index]);
  const families = Array.from({ length: 100 }, (_, index) =>
    createFamily(`${EVIL}${index}`, many, { help: EVIL, resource: EVIL }),
  );
  const page = await showModule(EVIL, families);
  expect(page.match(/<script/g)).toEqual(['<script']);
  expect(page).toContain('without 90,000 more');
  expect(readRows(page.slice(page.indexOf('class="values"')))).toHaveLength(99);
  expect(page).toContain('1 row is zero');
  const modem = [
    createFamily('router_modem_info', [[{ modem: EVIL, provider_name: EVIL }, 1]], { type: 'info', keys: ['modem'] }),
    createFamily('router_modem_access_technology', [[{ modem: EVIL, access_technology: EVIL }, 1]]),
    createFamily('router_modem_used_sim', [[{ modem: EVIL, used_sim: EVIL }, 1]]),
  ];
  const device = { ...DETAIL.device, model: EVIL, location: EVIL, operator: EVIL, technology: EVIL, wan: EVIL };
  expect((await showModule('modem', modem, { device, firmware: EVIL, serial: EVIL })).match(/<script/g)).toEqual([
    '<script',
  ]);
});

/** The last slots of a day: not watched, then up, down in slot 420 to 421, not watched from 430 to 439, and up again. */
const LAST_HOURS = Array.from({ length: 480 }, (_, index): HistoryPoint => {
  const result = index < 400 || (index >= 430 && index < 440) ? null : index === 420 || index === 421 ? 'down' : 'up';
  const signal = result === 'up' ? -80 - (index % 10) : null;
  return {
    at: new Date(index * 180_000).toISOString(),
    result,
    signal,
    signalMin: signal,
    signalMax: index === 410 ? -71 : signal,
    logLagSeconds: null,
    responseSeconds: result === 'up' ? 0.25 : null,
    receiveBitsPerSecond: result === 'up' ? 8000 : null,
    transmitBitsPerSecond: result === 'up' ? index : null,
  };
});

test('the last hours are drawings that say in words what they show, and claim no more than was watched', async () => {
  const page = await show({ lastHours: LAST_HOURS });
  expect(page).toContain('aria-label="Signal (RSRP): last -89 dBm, minimum -89 dBm, maximum -71 dBm in the last 4 h"');
  expect(page).toContain(
    'aria-label="Response time: last 0.25 s, minimum 0.25 s, maximum 0.25 s in the last 4 h, sampled every 3 min"',
  );
  const traffic = 'received last 8.0 kbit/s, minimum 8.0 kbit/s, maximum 8.0 kbit/s';
  const sent = 'sent last 479 bit/s, minimum 400 bit/s, maximum 479 bit/s';
  expect(page).toContain(`aria-label="Traffic: ${traffic}; ${sent} in the last 4 h, sampled every 3 min"`);
  expect(page).toContain('; dashed: sent; red: polls failed; grey: 30 min not watched.');
  expect(page).toContain('8.0 kbit/s received, 479 bit/s sent"');
  expect(page).not.toContain('<strong>Log lag</strong>');
  expect(page).toContain('aria-label="97.1 % of the last 3 h 54 min without a failed poll, 30 min not watched"');
  expect(page).toContain('thin line: not watched');
  // One outage and one hole are one mark each, on the band and on each chart.
  expect(page.match(/<path class="(?:down|unwatched)" d="M[^M]*z"\/>/g)).toHaveLength(8);
  expect(page).not.toMatch(/NaN|Infinity/);
  expect(page).toContain('<h2>Last 4 h</h2>');
  // Band and charts end with the last point.
  expect(page).toContain('viewBox="0 0 81 14"');
  expect(page).toMatch(/<path class="up" d="[^"]*M41 9h40v5h-40z"/);
  expect(await show({})).not.toContain('<h2>Last 4');
});

test.for([
  ['1h', '<h2>Last 1 h</h2>'],
  ['6h', '<h2>Last 4 h</h2>'],
  ['24h', '<h2>Last 4 h</h2>'],
  ['9y', '<h2>Last 4 h</h2>'],
] as const)('charts show the range %s, as far as it was watched', async ([range, heading]) => {
  const page = await show({ lastHours: LAST_HOURS }, `overview&range=${range}`);
  expect(page).toContain(heading);
  expect(page).toContain(`<a href="?view=overview&amp;range=${range === '9y' ? '6h' : range}" aria-current="true">`);
  const full = LAST_HOURS.map((point) => ({ ...point, result: point.result ?? ('up' as const) }));
  const length = { '1h': '1 h', '6h': '6 h', '24h': '24 h', '9y': '6 h' }[range];
  expect(await show({ lastHours: full }, `overview&range=${range}`)).toContain(`<h2>Last ${length}</h2>`);
});

test('the heading of a router that was first watched six minutes ago has the range of the axis', async () => {
  const lastHours = LAST_HOURS.map((point, index) =>
    index < 478 ? { ...point, result: null, responseSeconds: null } : point,
  );
  const page = await show({ lastHours });
  expect(page).toContain('<h2>Last 1 h, watched for 6 min</h2>');
  expect(page).toContain(`data-start="${LAST_HOURS[460]?.at}"`);
});

test('one log gap is one mark on the band, where the log goes on', async () => {
  const gapAt = (at: string, until: string | null) => ({
    ...{ at, until, component: 'network', certainty: 'certain', reason: 'expired', bytesMin: null },
  });
  const [start, last, early] = [LAST_HOURS[470]?.at ?? '', LAST_HOURS[479]?.at ?? '', '1960-01-01T00:00:00.000Z'];
  const recentGaps = [gapAt(last, start), gapAt(last, null), gapAt(early, null), gapAt(EVIL, EVIL)];
  const page = await show({ lastHours: LAST_HOURS, recentGaps }, 'overview&range=1h');
  expect(page.match(/<path class="gap" d="M\d+/g)).toEqual(['<path class="gap" d="M10', '<path class="gap" d="M19']);
  expect(page).toMatch(/% of the last [^"]* without a failed poll, 2 log gaps"/);
  expect(page).toContain('; vertical line: log lines are missing');
  expect(await show({ lastHours: LAST_HOURS, recentGaps: [] })).not.toMatch(/class="gap"|vertical/);
});

test('what the agent does has charts of response time and log lag', async () => {
  const lastHours = LAST_HOURS.map((point) => ({ ...point, logLagSeconds: point.result && 4 }));
  const page = await show({ lastHours }, 'agent&range=1h');
  expect(page.match(/<figcaption><strong>[^<]*/g)).toEqual([
    '<figcaption><strong>Response time',
    '<figcaption><strong>Log lag',
  ]);
  expect(page).toContain('<a href="?view=agent&amp;range=1h" aria-current="true">');
  expect(await show({ lastHours: LAST_HOURS.slice(0, 400) }, 'agent')).not.toContain('class="ranges"');
});

test('a signal is unusable where the alert about poor signals begins', () => {
  const alerts = readFileSync(new URL('../../../deploy/prometheus/alerts.yaml', import.meta.url), 'utf8');
  const limits = [...alerts.matchAll(/avg_over_time\(router_modem_([a-z]+)_dbm?\[30m\]\) < (-?\d+)/g)];
  expect(limits.map(([, kind = '', limit]) => [kind, Number(limit)])).toEqual(
    (['rsrp', 'rsrq', 'sinr', 'rssi'] as const).map((kind) => [kind, SIGNAL_LIMITS[kind][0]]),
  );
});

test('with the address of a Grafana, pages lead to its dashboards, with the name of the router', async () => {
  const findGrafana = () => 'https://grafana.example.com/x';
  const page = await read('/router/plant-7', { findGrafana, describeRouter: () => DETAIL });
  const uids = ['router', 'logs'].map((name) => {
    const dashboard = readFileSync(new URL(`../../../dashboards/json/${name}.json`, import.meta.url), 'utf8');
    return (JSON.parse(dashboard) as { uid: string }).uid;
  });
  for (const uid of uids)
    expect(page).toContain(`<a href="https://grafana.example.com/x/d/${uid}?var-router=plant-7">`);
  expect(await read('/', { findGrafana })).toContain(
    '<a href="https://grafana.example.com/x/d/router-exporter-fleet">',
  );
  expect(await show({})).not.toContain('Grafana');
});
