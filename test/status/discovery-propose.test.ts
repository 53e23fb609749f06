import { describe, expect, test } from 'vitest';
import { discoverIn } from './discovery-support.ts';

/** What becomes of a field with these values, each in a row of its own or, if it is one, in a single row. */
function propose(field: string, ...values: readonly unknown[]) {
  const rows = values.map((value, index) => ({ name: `row ${index}`, [field]: value }));
  const status = values.length === 1 ? { unique: { [field]: values[0] } } : { list: rows };
  const [module] = discoverIn({ box: { status } }).modules;
  const [rowSet] = module?.rowSets ?? [];
  return (rowSet?.resource?.metrics ?? []).map(({ help: _help, ...metric }) => metric);
}

describe('a proposed metric', () => {
  test.each([
    ['fan', ['12'], { name: 'router_box_fan', type: 'gauge' }],
    ['fan', [12.5], { name: 'router_box_fan', type: 'gauge' }],
    ['fan', ['0x1F'], { name: 'router_box_fan', type: 'gauge' }],
    ['fan', ['1500 rpm'], { name: 'router_box_fan_rpm', type: 'gauge', unit: 'rpm' }],
    ['supply', ['23.75 V'], { name: 'router_box_supply_volts', type: 'gauge', unit: 'V' }],
    ['bias', ['6.76 mA'], { name: 'router_box_bias_amperes', type: 'gauge', unit: 'A' }],
    ['RSSI', ['-83 dBm'], { name: 'router_box_rssi_dbm', type: 'gauge', unit: 'dBm' }],
    ['margin', ['8.7 dB'], { name: 'router_box_margin_db', type: 'gauge', unit: 'dB' }],
    ['temperature', ['41 °C'], { name: 'router_box_temperature_celsius', type: 'gauge', unit: '°C' }],
    ['rateDown', ['51392 kbit/s'], { name: 'router_box_rate_down_bytes_per_second', type: 'gauge', unit: 'B/s' }],
    ['flash_free', ['1.5 MB'], { name: 'router_box_flash_free_bytes', type: 'gauge', unit: 'B' }],
    ['load', ['12 %'], { name: 'router_box_load_ratio', type: 'gauge', form: 'percentage' }],
    ['expires', ['817 s'], { name: 'router_box_expires_seconds', type: 'gauge', form: 'duration' }],
    ['online_for', ['3 days, 04:05'], { name: 'router_box_online_for_seconds', type: 'gauge', form: 'duration' }],
    ['since', ['2026-11-21 10:30:00'], { name: 'router_box_since_timestamp_seconds', type: 'gauge', form: 'date' }],
    ['bytes_rx', ['1234'], { name: 'router_box_receive_bytes_total', type: 'counter' }],
    ['bytes_rx', ['12345678901234567'], { name: 'router_box_receive_bytes_total', type: 'counter' }],
    ['tx_packets', ['0'], { name: 'router_box_transmit_packets_total', type: 'counter' }],
    ['wan_errors_total', ['3'], { name: 'router_box_wan_errors_total', type: 'counter' }],
    ['bytes_free', ['12'], { name: 'router_box_bytes_free', type: 'gauge' }],
    ['errors', ['-1'], { name: 'router_box_errors', type: 'gauge' }],
    ['link', ['up'], { name: 'router_box_link_up', type: 'gauge', map: { up: 1, down: 0 } }],
    ['link_up', ['Down'], { name: 'router_box_link_up', type: 'gauge', map: { up: 1, down: 0 } }],
    ['led', ['off'], { name: 'router_box_led_on', type: 'gauge', map: { on: 1, off: 0 } }],
    ['fitted', ['yes'], { name: 'router_box_fitted', type: 'gauge', map: { yes: 1, no: 0 } }],
    ['fitted', [true], { name: 'router_box_fitted', type: 'gauge', map: { true: 1, false: 0 } }],
    ['input_1', ['low'], { name: 'router_box_input_1_high', type: 'gauge', map: { high: 1, low: 0 } }],
    ['output_1', ['open'], { name: 'router_box_output_1_closed', type: 'gauge', map: { closed: 1, open: 0 } }],
    ['state', ['Logged in'], { name: 'router_box_state', type: 'stateset', states: ['Logged in'] }],
    ['count', ['3'], { name: 'router_box_count_value', type: 'gauge' }],
    ['info', ['3'], { name: 'router_box_info_value', type: 'gauge' }],
    ['box_fan', ['3'], { name: 'router_box_fan', type: 'gauge' }],
  ])('of the field %s with %j is guessed from its value', (field, values, expected) => {
    expect(propose(field, ...values)).toEqual([{ value: field, ...expected }]);
  });

  test.each([
    ['mode', ['HSPA+']],
    ['mode', ['a sentence of more than a few words is no state']],
    ['code', ['007']],
    ['zeros', ['007']],
    ['firmware_version', ['9.5']],
    ['hardware_version', ['4']],
    ['device_type', ['Router']],
    ['provider', ['26201']],
    ['mixed', ['12', 'twelve apples and 5 pears']],
    ['states', ['one', 'two', '12 V']],
    ['units', ['12 V', '7 rpm']],
    ['units', ['12 V', '7 W', '5 %']],
  ])('of the field %s with %j is a label of an info metric', (field, values) => {
    const own = { type: 'info', name: 'router_box_info', labels: { [field]: field } };
    expect(propose(field, ...values)).toEqual([own]);
  });

  test('has the parts of a list and of a fraction one by one', () => {
    expect(propose('load', '0.1 0.2 0.3', '0.1 0.2')).toEqual([
      { name: 'router_box_load_1', type: 'gauge', value: 'load', form: 'list', part: 1 },
      { name: 'router_box_load_2', type: 'gauge', value: 'load', form: 'list', part: 2 },
    ]);
    expect(propose('ram', '120 / 256 MB')).toEqual([
      { name: 'router_box_ram_1_bytes', type: 'gauge', value: 'ram', unit: 'B', form: 'fraction', part: 1 },
      { name: 'router_box_ram_2_bytes', type: 'gauge', value: 'ram', unit: 'B', form: 'fraction', part: 2 },
    ]);
  });

  test('is one for each unit when the values have two of them', () => {
    expect(propose('analog', '1.77 V', '6.83 mA')).toEqual([
      { name: 'router_box_analog_volts', type: 'gauge', value: 'analog', unit: 'V' },
      { name: 'router_box_analog_amperes', type: 'gauge', value: 'analog', unit: 'A' },
    ]);
  });

  test('takes a number alone for one of the unit that the others have', () => {
    expect(propose('supply', '23.7 V', '0')).toEqual([
      { name: 'router_box_supply_volts', type: 'gauge', value: 'supply', unit: 'V' },
    ]);
  });

  test('has the words for none among numbers as null values', () => {
    expect(propose('signal', '17', 'n/a', '---', '')).toEqual([
      { name: 'router_box_signal', type: 'gauge', value: 'signal', null_values: ['', '---', 'n/a'] },
    ]);
  });

  test('has the states that were seen once, without the one that there is by itself', () => {
    expect(propose('state', 'idle', 'busy', 'Busy', 'unknown')).toMatchObject([{ states: ['idle', 'Busy'] }]);
  });

  test('is a label when there are more texts than a state has', () => {
    const texts = Array.from({ length: 13 }, (_none, index) => `state ${'abcdefghijklm'[index]}`);
    expect(propose('state', ...texts.slice(1))).toMatchObject([{ type: 'stateset' }]);
    expect(propose('state', ...texts)).toMatchObject([{ type: 'info' }]);
  });
});
