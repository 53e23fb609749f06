import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { FamilyValues, RouterDetail } from '../../../src/web/index.ts';
import { SIGNAL_LIMITS } from '../../../src/web/pages/signal.ts';
import { DETAIL } from '../bench.ts';
import { EVIL, read, readRows } from './page-bench.ts';

type Samples = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

function createFamily(name: string, samples: Samples, change: Partial<FamilyValues> = {}): FamilyValues {
  return {
    name,
    help: `Help of ${name}.`,
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

function show(change: Partial<RouterDetail>): Promise<string> {
  return read('/router/plant-7', {
    describeRouter: () => ({ ...DETAIL, state: 'up', failure: null, fault: null, ...change }),
  });
}

function showModule(
  module: string,
  families: readonly FamilyValues[],
  change: Partial<RouterDetail> = {},
): Promise<string> {
  return show({ values: [{ module, help: 'What it is.', families }], ...change });
}

/** Terms and their descriptions, without tags. */
function readFacts(page: string): Record<string, string> {
  const strip = (text: string) => text.replaceAll(/<svg.*?<\/svg>|<[^>]*>/gs, '').trim();
  const facts = page.matchAll(/<dt[^>]*>(.*?)<\/dt><dd[^>]*>(.*?)<\/dd>/gs);
  return Object.fromEntries([...facts].map(([, term = '', text = '']) => [strip(term), strip(text)]));
}

const MODEM = { modem: 'lte2' };
const MODEM_FAMILIES = [
  createFamily(
    'router_modem_info',
    [[{ ...MODEM, provider_name: 'o2', access_technology: 'LTE', used_sim: 'SIM 1' }, 1]],
    {
      type: 'info',
      keys: ['modem'],
    },
  ),
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

test('the page of a router begins with what it is, how its modem receives, and which WAN chain it uses', async () => {
  const page = await show({
    values: [
      { module: 'modem', help: '', families: MODEM_FAMILIES },
      {
        module: 'wan',
        help: '',
        families: [
          createFamily('router_wan_active_info', [[{ chain: 'wan1' }, 1]], { type: 'info', keys: [] }),
          createFamily('router_wan_chain_member_online', [
            [{ chain: 'wan1', interface: 'lte2' }, 1],
            [{ chain: 'wan1', interface: 'dsl' }, 0],
          ]),
        ],
      },
    ],
  });
  expect(readFacts(page)).toMatchObject({
    Model: 'MRX3',
    'Serial number': '4711',
    Location: 'Regensburg',
    Operator: 'o2 · 12 s ago',
    Technology: 'LTE · 12 s ago',
    SIM: 'SIM 1 · 12 s ago',
    RSRP: '-112 dBm · 12 s ago',
    SINR: '13 dB · 12 s ago',
    'Chain in use': 'wan1 · 12 s ago',
    lte2: 'online · 12 s ago',
    dsl: 'offline · 12 s ago',
  });
  expect(page).toContain('title="RSRP -112 dBm: unusable"');
  expect(page).toContain('title="SINR 13 dB: good"');
  expect(page.indexOf('<h2>Device</h2>')).toBeLessThan(page.indexOf('<h2>Connection steps</h2>'));
});

test('of a router that is down, the last states of its WAN and its modem have no colour', async () => {
  const families = [
    createFamily('router_wan_active_info', [[{ chain: 'wan1' }, 1]], { type: 'info', keys: [] }),
    createFamily('router_wan_chain_member_online', [
      [{ chain: 'wan1', interface: 'net1' }, 1],
      [{ chain: 'wan1', interface: 'dsl' }, 0],
    ]),
    createFamily('router_modem_online', [[MODEM, 1]]),
  ];
  const page = await show({ state: 'down', values: [{ module: 'wan', help: '', families }] });
  const overview = page.slice(page.indexOf('class="overview"'), page.indexOf('<h2>Values'));
  expect(readFacts(overview)).toMatchObject({
    net1: 'last online · 12 s ago',
    dsl: 'last offline · 12 s ago',
    'Data session': 'last online · 12 s ago',
  });
  expect(overview).not.toMatch(/class="(?:good|warn)"/);
});

test('a "no" is marked only where the name says that it is a fault', async () => {
  const toFamily = (name: string) => createFamily(name, [[{}, 0]], { help: `Whether ${name}.` });
  const page = await showModule('any', ['router_port_link_up', 'my_pump_on', 'router_flash_ok'].map(toFamily));
  expect(page.match(/<dd><bdi>.*?no.*?<\/bdi>/g)).toEqual([
    '<dd><bdi>no</bdi>',
    '<dd><bdi>no</bdi>',
    '<dd><bdi><strong class="warn">no</strong></bdi>',
  ]);
});

test('facts about the device have ages; supply and temperatures stand with them', async () => {
  const families = [
    createFamily('router_board_info', [[{ board: '0', board_type: 'MRX3' }, 1]], { ageSeconds: 90 }),
    createFamily('router_uptime_seconds', [[{}, 7200]], { ageSeconds: 5 }),
    createFamily('router_supply_volts', [
      [{ resource: 'power2', slot: '2', input: '1' }, 24.04],
      [{ resource: 'power2', slot: '2', input: '2' }, 0],
    ]),
    createFamily('router_modem_temperature_celsius', [[MODEM, 41.26]]),
    createFamily('cabinet_temperature_celsius', [[{}, 30]]),
  ];
  const device = { ...DETAIL.device, model: 'MRX3', uptimeSeconds: 7200 };
  const page = await show({ device, serial: '4711', values: [{ module: 'any', help: '', families }] });
  const overview = page.slice(page.indexOf('class="overview"'), page.indexOf('<h2>Values'));
  expect(readFacts(overview)).toMatchObject({
    Model: 'MRX3 · 2 min ago',
    'Serial number': '4711 · 2 min ago',
    Uptime: '2 h · 5 s ago',
    Supply: '24 V (power2 input 1), 0 V (power2 input 2) · 12 s ago',
    'Temperature (modem)': '41.3 °C (lte2) · 12 s ago',
    'Temperature (cabinet)': '30 °C · 12 s ago',
  });
});

test('a module of the user has its section with the help of its families, units, states and ages', async () => {
  const page = await showModule('my_heating', [
    createFamily('heating_flow_celsius', [[{}, 61.25]], { help: 'Flow temperature.' }),
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
  expect(page).toContain('<h3>My heating</h3>');
  expect(page).toContain('What it is.');
  expect(readFacts(page)).toMatchObject({
    'Flow temperature': '61.25 °C',
    'Whether the pump runs': 'no',
    Mode: 'eco',
    Share: '25.6 %',
    Nothing: 'NaN',
    'Age of these values': '12 s',
  });
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
  const table = page.slice(page.indexOf('<h3>Interfaces</h3>'));
  expect(readRows(table)).toEqual([
    ['net1', '–', '–', '2.0 KiB', '1.0 KiB', '12 s'],
    ['net2', '1.5 KiB/s', '–', '4.0 KiB', '2.0 KiB', '12 s'],
    ['lte2', '–', '–', '6.0 KiB', '3.0 KiB', '12 s'],
  ]);
  expect(table).toContain('<th scope="col" title="Help of router_interface_receive_bytes_total.">Receive bytes</th>');
});

test('labels that only some families have become columns, as long as the others tell the rows apart', async () => {
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
  expect(readRows(page.slice(page.indexOf('<h3>Ports</h3>')))[2]).toEqual(['1 · 3', 'net3', '1', '1', '12 s']);
});

test('a thousand rows and columns are cut, and nothing that a router says becomes part of the page', async () => {
  const many: Samples = Array.from({ length: 1000 }, (_, index) => [{ [EVIL]: `${EVIL}${index}` }, index]);
  const families = Array.from({ length: 100 }, (_, index) =>
    createFamily(`${EVIL}${index}`, many, { help: EVIL, resource: EVIL }),
  );
  const page = await showModule(EVIL, families);
  expect(page.match(/<script/g)).toEqual(['<script']);
  expect(page).toContain('without 90,000 more');
  expect(readRows(page.slice(page.indexOf('<h2>Values</h2>')))).toHaveLength(100);
  const info = createFamily(
    'router_modem_info',
    [[{ modem: EVIL, provider_name: EVIL, access_technology: EVIL, used_sim: EVIL }, 1]],
    { type: 'info', keys: ['modem'] },
  );
  const device = { ...DETAIL.device, model: EVIL, location: EVIL, operator: EVIL, technology: EVIL, wan: EVIL };
  expect((await showModule('modem', [info], { device, firmware: EVIL, serial: EVIL })).match(/<script/g)).toEqual([
    '<script',
  ]);
});

test('the last hours are drawings that say in words what they show', async () => {
  const lastHours = Array.from({ length: 120 }, (_, index) => ({
    at: new Date(index * 180_000).toISOString(),
    result: index < 60 ? null : index === 100 ? ('down' as const) : ('up' as const),
    signal: index < 60 || index === 100 ? null : -80 - (index % 10),
    signalMin: index < 60 || index === 100 ? null : -80 - (index % 10),
    signalMax: index < 60 || index === 100 ? null : index === 70 ? -71 : -80 - (index % 10),
    logLagSeconds: null,
    responseSeconds: index < 60 || index === 100 ? null : 0.25,
  }));
  const page = await show({ lastHours });
  expect(page).toContain('aria-label="Signal (RSRP): last -89 dBm, minimum -89 dBm, maximum -71 dBm in the last 3 h"');
  expect(page).toContain(
    'aria-label="Response time: last 0.25 s, minimum 0.25 s, maximum 0.25 s in the last 3 h, sampled every 3 min"',
  );
  expect(page).not.toContain('<strong>Log lag</strong>: last');
  expect(page).toContain('aria-label="98.3 % of the last 2 h 54 min up"');
  expect(page).not.toMatch(/NaN|Infinity/);
  expect(await show({})).not.toContain('Last 6 hours');
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
