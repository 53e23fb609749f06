import {
  type Call,
  choiceSchema,
  jsonAnswer,
  listSchema,
  objectSchema,
  type PathCalls,
  type Schema,
  textSchema,
} from './call.ts';

const word = textSchema();
const number = textSchema({ pattern: '^\\d+$' });
const line = choiceSchema(['low', 'high']);
const contact = choiceSchema(['open', 'closed']);
const online = choiceSchema(['online', 'offline']);
/** All are required except those in `optional`. */
const words = (names: readonly string[], optional: readonly string[] = []) =>
  objectSchema(Object.fromEntries(names.map((name) => [name, word])), optional);
const values = (unique: Schema) => objectSchema({ unique });
const rows = (row: Schema) => objectSchema({ list: listSchema(row) });

/** Rows of strings with variable names. */
const anyRows = rows({ type: 'object', additionalProperties: word });

const overview = values(
  objectSchema({
    ...{ device_type: word, firmware_version: word, serial_number: number, hostname: word, wan: word },
    info_led: choiceSchema(['flash', 'off', 'on']),
  }),
);

const generalStatus: Readonly<Record<string, Schema>> = {
  overview,
  status_summary: overview,
  device_info: objectSchema({
    unique: words(['device_type']),
    list: listSchema(
      words(['board_type', 'hardware_features', 'hardware_version', 'firmware_version', 'serial_number']),
      { minItems: 1 },
    ),
  }),
  device_features: rows(words(['name', 'available'])),
  // Firmware before 9.5 does not report the flash.
  'sysdetail/system': values(
    words(['location', 'date', 'uptime', 'load', 'ram', 'hash', 'mac', 'flash_status'], ['flash_status']),
  ),
  'sysdetail/ip_addresses': rows(
    objectSchema({
      ...{ name: word, ip_address: word, mac_address: word },
      ...{ bytes_rx: number, bytes_tx: number, packets_rx: number, packets_tx: number },
      ...{ errors_rx: number, errors_tx: number },
      sublist: listSchema(words(['ip_address'])),
    }),
  ),
  'sysdetail/dhcp_leases': rows(words(['ip_address', 'mac_address', 'hostname', 'expires', 'interface'])),
  'sysdetail/init_services': rows(words(['name', 'state'])),
  'sysdetail/container': rows(objectSchema({ name: word, state: choiceSchema(['running', 'stopped']) })),
  'sysdetail/cert_enrollment': rows(objectSchema({ name: word, state: word, days_left: number })),
  'sysstat/wan': objectSchema({
    unique: words(['name']),
    list: listSchema(objectSchema({ if_name: word, state: online })),
  }),
  'sysstat/lan': rows(objectSchema({ if_name: word, state: online })),
};

const port = { link: choiceSchema(['up', 'down']), port_net: word, speed: word, duplex: word };
const modem = {
  state: choiceSchema([
    ...['Turned off', 'Turned on', 'SIM interface down', 'Logged out', 'Logging in', 'Logged in', 'Offline', 'Online'],
  ]),
  ...{ provider: number, provider_name: word, used_net: word, cell_id: number, location_id: word },
  ...{ signal: number, RSSI: word, RSRP: word, RSRQ: word, SINR: word },
  ...{ sim_state: word, pin_state: word, pin_retries: number, IMEI: word, IMSI: word, USIM: word, used_sim: word },
  ...{ temperature: word, input_voltage_1: word },
};
/** Firmware 5.5 does not report these. */
const LTE_VALUES = ['RSRP', 'RSRQ', 'SINR'];
const lines = values(objectSchema({ input_1: line, input_2: line, output_1: contact, output_2: contact }));

/** `resources`: by the rest of the path after the card's name. */
interface CardKind {
  readonly name: string;
  readonly slots: readonly number[];
  readonly resources: Readonly<Record<string, Schema>>;
}

const cardKinds: readonly CardKind[] = [
  { name: 'ethernet', slots: [1, 3, 4, 5], resources: { '': rows(objectSchema(port)) } },
  {
    name: 'sfp',
    slots: [2, 3, 4, 5],
    resources: {
      '': rows(
        objectSchema({
          ...port,
          inserted: choiceSchema(['yes', 'no']),
          ...{ temperature: word, voltage: word, tx_bias: word, tx_power: word, rx_power: word },
        }),
      ),
    },
  },
  {
    name: 'lte',
    slots: [2, 3, 4, 5],
    resources: { '': values(objectSchema(modem, LTE_VALUES)), '/providers': anyRows },
  },
  {
    name: 'lte_serial',
    slots: [2, 3, 4, 5],
    resources: {
      '': values(objectSchema({ ...modem, input_1: line, output_1: contact }, LTE_VALUES)),
      '/providers': anyRows,
    },
  },
  {
    name: 'wlan',
    slots: [1],
    resources: {
      '': objectSchema({
        unique: words(['mode', 'ssid', 'channel']),
        list: listSchema(words(['mac_address', 'signal'])),
      }),
      '/scan_results': anyRows,
    },
  },
  {
    name: 'dsl',
    slots: [2, 3, 4, 5],
    resources: {
      '/status': values(
        objectSchema({
          ...{ state: word, rate_down: word, rate_up: word, snr_margin_down: word },
          ...{ input_1: line, input_2: line },
        }),
      ),
      '/statistics_spectrum': anyRows,
    },
  },
  {
    name: 'power',
    slots: [2, 3, 4, 5],
    resources: {
      '': values(
        objectSchema({ active_supply: choiceSchema(['V+1', 'V+2']), input_voltage_1: word, input_voltage_2: word }),
      ),
    },
  },
  {
    // One line that is an input or an output.
    name: 'io',
    slots: [2],
    resources: {
      '': values(
        objectSchema({
          direction: choiceSchema(['in', 'out']),
          state: choiceSchema(['low', 'high', 'open', 'closed']),
        }),
      ),
    },
  },
  { name: 'io', slots: [3, 4], resources: { '': lines } },
  { name: 'sio', slots: [3, 4, 5], resources: { '': lines } },
  {
    name: 'adio',
    slots: [3, 4, 5],
    resources: {
      '': values(
        objectSchema({
          ...{ digital_input_1: line, digital_input_2: line, digital_output_1: contact, digital_output_2: contact },
          ...{ analog_input_1: word, analog_input_2: word, analog_output_1: word },
        }),
      ),
    },
  },
  {
    name: 'serial',
    slots: [1, 2, 3, 4, 5],
    resources: {
      '': rows(objectSchema({ name: word, state: choiceSchema(['connected', 'disconnected']), baudrate: number })),
    },
  },
];

/** Returns the status resources of all cards in all slots; a router has only those of its cards. */
export function renderStatusCalls(): Readonly<Record<string, PathCalls>> {
  const general = Object.entries(generalStatus).map(([resource, schema]) => describe(resource, schema, []));
  const cards = cardKinds.flatMap(({ name, slots, resources }) =>
    slots.flatMap((slot) =>
      Object.entries(resources).map(([rest, schema]) => describe(`${name}${slot}${rest}`, schema, [404])),
    ),
  );
  return Object.fromEntries([...general, ...cards]);
}

function describe(resource: string, schema: Schema, refusals: Call['refusals']): [string, PathCalls] {
  const get: Call = {
    summary: `Read the status of ${resource}`,
    group: 'status',
    success: { 200: jsonAnswer('The state at this moment; all values are text', objectSchema({ status: schema })) },
    refusals,
  };
  return [`/status/${resource}`, { get }];
}
