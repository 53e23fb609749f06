import { expect, test } from 'vitest';
import {
  compileModules,
  expandPath,
  loadShippedModules as loadChecked,
  mapDocument,
  SHIPPED_MODULES_FOLDER,
  STATUS_PATHS,
} from '../../src/status/index.ts';
import { findUnit } from '../../src/status/values/quantities.ts';
import { loadShippedModules, readShippedFiles } from './shipped-modules.ts';

const FILES = readShippedFiles();
const MODULES = loadShippedModules();
const METRICS = MODULES.flatMap(({ resources }) => resources.flatMap(({ metrics }) => metrics));
const READ = { resource: 'lte2', readAtMs: Date.UTC(2023, 8, 12), zone: 'Europe/Berlin' };

/** What a module makes of a document, with all its resources or those that `path` is one of: name and labels to value. */
function map(name: string, document: unknown, path?: string) {
  const modules = compileModules(MODULES.filter((module) => module.name === name));
  const resources = modules
    .flatMap((module) => module.resources)
    .filter(({ definition }) => path === undefined || expandPath(definition.path).includes(path));
  const { families, faults } = mapDocument(resources, document, READ);
  const samples = families.flatMap((family) =>
    family.samples.map(({ labels, value }): [string, number] => [
      `${family.name} ${Object.values(labels).join(' ')}`,
      value,
    ]),
  );
  return { samples: Object.fromEntries(samples), faults };
}

test('the modules are one file each, of which six are not in the default set', () => {
  expect([...FILES.keys()].join(' ')).toBe(
    'cells compliance configuration containers device dhcp firmware generic interface_addresses interfaces io log_files modem modem_identity ports profiles sfp supply system wan',
  );
  const optional = [...FILES].filter(([, file]) => file['default'] === false).map(([name]) => name);
  expect(optional).toEqual(['cells', 'containers', 'firmware', 'generic', 'interface_addresses', 'modem_identity']);
});

test('the checker of the configuration has no fault to find, and reads the files as these tests do', async () => {
  const loaded = await loadChecked(SHIPPED_MODULES_FOLDER);
  expect(loaded).not.toHaveProperty('faults');
  const definitions = loaded.ok ? loaded.modules.map(({ definition }) => definition) : [];
  // What is absent there may be undefined here.
  const read = JSON.stringify(definitions).replaceAll(/ Polled from [^"]*?\.(?=")/g, '');
  expect(JSON.parse(read)).toEqual(JSON.parse(JSON.stringify(MODULES)));
});

test('the help of every metric names the fields and resources that it is polled from', async () => {
  const loaded = await loadChecked(SHIPPED_MODULES_FOLDER);
  const metrics = loaded.ok
    ? loaded.modules.flatMap(({ definition }) => definition.resources.flatMap((resource) => resource.metrics))
    : [];
  expect(metrics).toHaveLength(METRICS.length);
  expect(metrics.filter(({ help }) => !/^[^"\n]{9,120}\. Polled from [^"\n]+ of [^"\n]+\.$/.test(help))).toEqual([]);
  const helps = new Map(metrics.map(({ name, help }) => [name, help.slice(help.indexOf('Polled'))]));
  expect(metrics.filter(({ name, help }) => !help.endsWith(helps.get(name) ?? '?'))).toEqual([]);
  expect(helps.get('router_modem_sinr_db')).toBe('Polled from SNR, SINR of lte*, lte_serial*, hspa*.');
  // Two modules have it.
  expect(helps.get('router_port_link_up')).toBe('Polled from link of ethernet*, sfp*.');
  expect(helps.get('router_wan_chain_member_info')).toBe('Polled from if_name of sysstat/wan.');
  expect(helps.get('router_dhcp_leases')).toBe('Polled from the rows of sysdetail/dhcp_leases.');
});

test.for([
  ['5d41402abc4b2a76b9719d911017c592', 0x5d41402abc4b],
  ['5D41402ABC4B2A76', 0x5d41402abc4b],
  ['00ff', 255],
])('a hash %s of the configuration is a number that a double holds exactly', ([hash, value]) => {
  const { samples, faults } = map('system', { status: { unique: { hash } } }, 'sysdetail/system');
  expect(samples).toEqual({ 'router_config_hash ': value });
  expect(faults).toEqual([]);
});

test.for(['Zm9vYmFy', 'ab/cd', 'abcdefg'])('a hash %s of another form is a fault, not a number', (hash) => {
  const { samples, faults } = map('system', { status: { unique: { hash } } }, 'sysdetail/system');
  expect(samples).toEqual({});
  expect(faults).toEqual([{ module: 'system', metric: 'router_config_hash', reason: 'unknown_form' }]);
});

test('slow modules say that they are', () => {
  const slow = Object.fromEntries(
    MODULES.flatMap(({ name, minIntervalMs }) => (minIntervalMs ? [[name, minIntervalMs / 60_000]] : [])),
  );
  expect(slow).toEqual({
    ...{ compliance: 60, configuration: 60, containers: 60, device: 15, dhcp: 5, firmware: 60 },
    ...{ generic: 5, interface_addresses: 5, log_files: 15 },
    ...{ modem_identity: 15, profiles: 5, sfp: 5 },
  });
  expect(MODULES.filter(({ isIdentity }) => isIdentity).map(({ name }) => name)).toEqual(['device']);
});

test('only keys of the format stand in the files', () => {
  const allowed = {
    module: ['help', 'min_interval', 'identity', 'default', 'reader', 'resources'],
    resource: ['path', 'source', 'optional', 'each', 'labels', 'metrics'],
    metric: [
      'name',
      'help',
      'label',
      'good',
      'type',
      'value',
      'pattern',
      'unit',
      'prefixes',
      'factor',
      'form',
      'part',
      'null_values',
      'null_when',
      'map',
      'states',
      'state_label',
      'labels',
      'source',
    ],
  };
  const list = (value: unknown) => (value ?? []) as Record<string, unknown>[];
  for (const [name, file] of FILES) {
    const resources = list(file['resources']);
    const metrics = resources.flatMap((resource) => list(resource['metrics']));
    const strange = [
      ...Object.keys(file).filter((key) => !allowed.module.includes(key)),
      ...resources.flatMap(Object.keys).filter((key) => !allowed.resource.includes(key)),
      ...metrics.flatMap(Object.keys).filter((key) => !allowed.metric.includes(key)),
    ];
    expect({ name, strange, hasContent: 'reader' in file !== 'resources' in file }).toEqual({
      name,
      strange: [],
      hasContent: true,
    });
  }
});

test('every metric says what it is and where the knowledge comes from', () => {
  for (const {
    name,
    help,
    label,
    good,
    type,
    source,
    value,
    nullWhen,
    unit,
    states,
    map: values,
    part,
    form,
  } of METRICS) {
    expect(name).toMatch(/^router_[a-z][a-z0-9_]*$/);
    expect(help).toMatch(/^[A-Z].*\.$/);
    expect(label).toMatch(/^[A-Z]/);
    if (good !== undefined) expect(help).toMatch(/^Whether /);
    expect(['documented', 'observed', 'inferred']).toContain(source);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    expect(name.endsWith('_info')).toBe(type === 'info');
    expect(value === undefined).toBe(type === 'info' && nullWhen === undefined);
    expect(states !== undefined).toBe(type === 'stateset');
    expect(part !== undefined).toBe(form === 'list' || form === 'fraction');
    expect(values !== undefined && (unit !== undefined || form !== undefined)).toBe(false);
    if (unit !== undefined) expect(findUnit(unit)).toBeDefined();
  }
});

test('a name has one type and one help text in all modules', () => {
  const meanings = Map.groupBy(METRICS, ({ name }) => name);
  for (const [name, metrics] of meanings) {
    expect([name, new Set(metrics.map(({ type, help }) => `${type} ${help}`)).size]).toEqual([name, 1]);
  }
});

test('every path is one of firmware 9.5, and what depends on cards is optional', () => {
  for (const { path, isOptional } of MODULES.flatMap(({ resources }) => resources)) {
    const isKnown = STATUS_PATHS.some((known) => known.replace(/\d/, '*') === path || known === path);
    expect([path, isKnown || ['/profiles', '/firmware', '/container/container'].includes(path)]).toEqual([path, true]);
    if (path.includes('*')) expect([path, isOptional]).toEqual([path, true]);
  }
});

test('rows without any known field are nothing, and no fault', () => {
  for (const { name } of MODULES) {
    const { samples, faults } = map(name, { status: { unique: {}, list: [{ sublist: [{}] }] }, profiles: [{}] });
    expect([name, samples, faults]).toEqual([name, name === 'dhcp' ? { 'router_dhcp_leases ': 1 } : {}, []]);
  }
});

/** The one status sample of a modem that was published: it is off and has no SIM card. */
const OFF = {
  state: 'Turned off',
  provider: '0',
  provider_name: '',
  used_net: 'Not available at the moment',
  cell_id: '0',
  location_id: '',
  signal: '99',
  RSSI: '99',
  sim_state: 'SIM missing or SIM failure',
  pin_state: 'SIM missing or SIM failure',
  pin_retries: '0',
  IMEI: '',
  temperature: '0',
  input_voltage_1: '23.75 V',
};

test('a real modem that is off has its state and its supply, and nothing that it does not know', () => {
  const document = { status: { unique: OFF } };
  const { samples, faults } = map('modem', document, 'lte2');
  expect(faults).toEqual([]);
  expect(
    Object.entries(samples).filter(([name, value]) => !name.startsWith('router_modem_state') || value === 1),
  ).toEqual([
    ['router_modem_state lte2 Turned off', 1],
    ['router_modem_online lte2', 0],
    ['router_modem_sim_ok lte2', 0],
    ['router_modem_pin_retries lte2', 0],
  ]);
  expect(map('supply', document, 'lte2')).toEqual({
    samples: { 'router_supply_volts lte2 2 1': 23.75 },
    faults: [],
  });
  expect(map('io', document, 'lte2')).toEqual({ samples: {}, faults: [] });
  expect(map('modem_identity', document, 'lte2')).toEqual({ samples: {}, faults: [] });
});

test('a cell and the state of a PIN are what the modem says, and nothing of one that is off', () => {
  const off = map('cells', { status: { unique: OFF } }, 'lte2');
  expect(off).toEqual({ samples: { 'router_modem_pin_state_info lte2 SIM missing or SIM failure': 1 }, faults: [] });
  const document = { status: { unique: { ...OFF, cell_id: '26151862', location_id: '1565', pin_state: '' } } };
  expect(map('cells', document, 'lte_serial2')).toEqual({
    samples: { 'router_modem_cell_info lte2 26151862 1565': 1 },
    faults: [],
  });
});

test('an old card has the fields of a new one, and says that they are inferred', () => {
  const document = { status: { unique: { ...OFF, state: 'Online', RSCP: '-80 dBm' } } };
  for (const name of ['modem', 'modem_identity', 'cells', 'io', 'supply'])
    expect([name, map(name, document, 'hspa2')]).toEqual([name, map(name, document, 'lte2')]);
  const known = MODULES.flatMap(({ resources }) => resources)
    .filter(({ path }) => path === 'hspa*')
    .flatMap(({ metrics }) => metrics.map(({ source }) => source));
  expect(new Set(known)).toEqual(new Set(['inferred']));
});

test('firmware files, containers and the mode of profiles are read as the vendor describes them', () => {
  const firmware = {
    ...{ name: '5.5', type: 'icom_os', icom_os_type: 'incremental', required_major: '5.0' },
    ...{ installable: true, state: 'stable', active: false },
  };
  expect(map('firmware', { firmware: [firmware, { name: '7', type: 'dsl_firmware', active: true }] })).toEqual({
    samples: {
      'router_firmware_file_info 5.5 icom_os incremental 5.0 stable': 1,
      'router_firmware_file_active 5.5 icom_os': 0,
      'router_firmware_file_active 7 dsl_firmware': 1,
      'router_firmware_file_installable 5.5 icom_os': 1,
    },
    faults: [],
  });
  expect(map('containers', { container: [{ designator: 'container_94f31acd', downloadable: true }] })).toEqual({
    samples: { 'router_containers ': 1, 'router_container_info container_94f31acd': 1 },
    faults: [],
  });
  expect(map('containers', { container: [] })).toEqual({ samples: { 'router_containers ': 0 }, faults: [] });
  const profile = { name: 'Profile', last_activated: true, modified: false };
  expect(map('profiles', { profile_mode: 'volatile', profiles: [profile] }).samples).toEqual({
    'router_profile_mode_info Profile volatile': 1,
    'router_profile_modified Profile': 0,
    'router_profile_last_activated Profile': 1,
  });
  expect(Object.keys(map('profiles', { profiles: [profile] }).samples)).not.toContain(
    'router_profile_mode_info Profile',
  );
});

test('a modem that knows anything else has a temperature of 0, and one that is off has none', () => {
  const temperature = (fields: object) =>
    map('modem', { status: { unique: { ...OFF, ...fields } } }, 'lte2').samples[
      'router_modem_temperature_celsius lte2'
    ];
  expect([temperature({}), temperature({ temperature: '0 °C' }), temperature({ temperature: '' })]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  for (const known of [{ signal: '17' }, { RSSI: '-71 dBm' }, { cell_id: '12345' }, { IMEI: '350000000000000' }]) {
    expect(temperature(known)).toBe(0);
    expect(temperature({ ...known, temperature: '0 °C' })).toBe(0);
  }
  expect(temperature({ temperature: '-4' })).toBe(-4);
});

test('a modem with a signal has a ratio of 0 dB to noise, and one that is off has none', () => {
  const ratio = (fields: object) =>
    map('modem', { status: { unique: { ...OFF, ...fields } } }, 'lte2').samples['router_modem_sinr_db lte2'];
  for (const field of ['SINR', 'SNR']) {
    expect([ratio({ [field]: '0' }), ratio({ [field]: '0 dB', RSRP: '0' })]).toEqual([undefined, undefined]);
    for (const known of [{ signal: '3' }, { RSSI: '-110 dBm' }, { RSRP: '-120' }]) {
      expect(ratio({ ...known, [field]: '0' })).toBe(0);
      expect(ratio({ ...known, [field]: '0 dB' })).toBe(0);
    }
    expect(ratio({ [field]: '-3' })).toBe(-3);
  }
});

test('a speed without a unit is in megabits, and a bias current in milliamperes', () => {
  const list = ['1000', '100 MBit/s', '1 Gbit/s', '100 Mbps', '125 MB/s'].map((speed) => ({ speed }));
  for (const [name, path] of [
    ['ports', 'ethernet1'],
    ['sfp', 'sfp2'],
  ] as const) {
    const { samples, faults } = map(name, { status: { list } }, path);
    expect(Object.values(samples)).toEqual([125e6, 12.5e6, 125e6, 12.5e6, 125e6]);
    expect(faults).toEqual([]);
  }
  const currents = ['6.2', '6.2 mA', '0.0062 A'].map((text) => ({ tx_bias: text }));
  expect(Object.values(map('sfp', { status: { list: currents } }, 'sfp2').samples)).toEqual([0.0062, 0.0062, 0.0062]);
});

test('memory in MB is counted in powers of 1024, as Linux does', () => {
  const { samples } = map('system', { status: { unique: { ram: '120 / 256 MB' } } }, 'sysdetail/system');
  expect(Object.values(samples)).toEqual([120 * 1024 ** 2, 256 * 1024 ** 2]);
});

test('a modem whose fields have other cases and units is read all the same', () => {
  const { samples, faults } = map('modem', {
    status: { unique: { rssi: '-71 dBm', Rsrp: '-95', snr: '7.5 dB', sinr: '99' } },
  });
  expect(samples).toEqual({
    'router_modem_rssi_dbm lte2': -71,
    'router_modem_rsrp_dbm lte2': -95,
    'router_modem_sinr_db lte2': 7.5,
  });
  expect(faults).toEqual([]);
});

test('unknown texts are counted, not assumed', () => {
  const { samples, faults } = map(
    'modem',
    { status: { unique: { state: 'Rebooting', sim_state: 'SIM locked' } } },
    'lte2',
  );
  expect(samples).toMatchObject({ 'router_modem_state lte2 unknown': 1, 'router_modem_online lte2': 0 });
  expect(samples).not.toHaveProperty('router_modem_sim_ok lte2');
  expect(faults.map(({ metric, reason }) => `${metric} ${reason}`)).toEqual([
    'router_modem_state unknown_state',
    'router_modem_sim_ok unknown_text',
  ]);
});

test('the state of a WAN chain is not that of an interface', () => {
  const chain = { name: 'wan1', state: 'online', interface: [{ if_name: 'lte2', state: 'offline' }] };
  expect(map('wan', { status: { list: [chain] } })).toEqual({
    samples: {
      'router_wan_active_info wan1': 1,
      'router_wan_chain_member_info wan1 lte2 1': 1,
      'router_wan_chain_member_online wan1 lte2': 0,
    },
    faults: [],
  });
});

test('of several WAN chains, one that says offline is not active', () => {
  const chain = (name: string, state: string) => ({ name, state, interface: [{ if_name: 'lte2', state }] });
  const { samples, faults } = map('wan', { status: { list: [chain('wan1', 'Offline'), chain('wan2', 'online')] } });
  expect(Object.keys(samples).filter((name) => name.startsWith('router_wan_active'))).toEqual([
    'router_wan_active_info wan2',
  ]);
  expect(faults).toEqual([]);
});

test('a row of a list without its name is counted, and gives no series without its label', () => {
  const list = [{ name: 'net1', bytes_rx: '5' }, { bytes_rx: '7' }, { name: '---', bytes_rx: '9' }];
  expect(map('interfaces', { status: { list } })).toMatchObject({
    samples: { 'router_interface_receive_bytes_total net1': 5 },
    faults: [{ metric: 'router_interface_receive_bytes_total', reason: 'unnamed' }, { reason: 'unnamed' }],
  });
  const addresses = map('interface_addresses', { status: { list: [{ ip_address: '192.0.2.1/24' }] } });
  expect(addresses).toMatchObject({ samples: {}, faults: [{ reason: 'unnamed' }] });
  const profiles = [{ name: 'a', last_activated: true }, { last_activated: false }];
  const found = map('profiles', { profiles });
  expect(Object.keys(found.samples).filter((name) => name.endsWith(' '))).toEqual([]);
  expect(found.faults).toMatchObject([{ reason: 'unnamed' }]);
});

test.for([
  ['unknown where nothing else is known', {}, undefined],
  ['unknown beside texts for "nothing"', { RSSI: '99', RSRP: '---' }, undefined],
  ['a value where the modem knows its signal', { RSSI: '-71 dBm' }, -1],
] as const)('a signal of -1 is %s', ([_what, fields, value]) => {
  const { samples } = map('modem', { status: { unique: { state: 'Online', signal: '-1', ...fields } } }, 'lte2');
  expect(samples['router_modem_signal_csq lte2']).toBe(value);
});

test('a channel that is an input or an output is the one that its state shows', () => {
  const mapState = (state: string) => map('io', { status: { unique: { direction: 'x', state } } }, 'io2');
  const [input, output] = ['router_digital_input_high lte2 2 1', 'router_digital_output_closed lte2 2 1'];
  expect(mapState('high')).toEqual({ samples: { [input]: 1 }, faults: [] });
  expect(mapState('low')).toEqual({ samples: { [input]: 0 }, faults: [] });
  expect(mapState('closed')).toEqual({ samples: { [output]: 1 }, faults: [] });
  expect(mapState('open')).toEqual({ samples: { [output]: 0 }, faults: [] });
});

test('a link and an input that answer with a number are counted, and the voltage of a modem is no input', () => {
  expect(map('ports', { status: { list: [{ port_net: 'net1', link: '1' }] } }, 'ethernet1')).toEqual({
    samples: {},
    faults: [{ module: 'ports', metric: 'router_port_link_up', reason: 'other_form' }],
  });
  for (const path of ['io3', 'lte2', 'lte_serial2']) {
    expect(map('io', { status: { unique: { input_1: '1' } } }, path).faults).toEqual([
      { module: 'io', metric: 'router_digital_input_high', reason: 'other_form' },
    ]);
  }
  for (const input_voltage_1 of ['23.75 V', '24V', '23.75', '24', '0 V']) {
    expect(map('io', { status: { unique: { input_voltage_1 } } }, 'lte2')).toEqual({ samples: {}, faults: [] });
  }
});
