import { expect, test } from 'vitest';
import type { Labels } from '../../src/model/index.ts';
import { createBench, read, up } from './router-recorder-bench.ts';

const info = (name: string, labels: Labels) => ({
  name,
  help: 'Something.',
  type: 'info' as const,
  samples: [{ labels, value: 1 }],
});
const FAMILIES: Labels = {
  provider_name: 'router_modem_info',
  used_sim: 'router_modem_used_sim',
  access_technology: 'router_modem_access_technology',
};
const modem = (labels: Labels) => {
  const families = Object.entries(labels).map(([label, text]) =>
    info(FAMILIES[label] ?? '', { modem: 'lte2', [label]: text }),
  );
  return up([read('lte2', { families })]);
};
const cell = (id: string) =>
  up([read('lte2', { families: [info('router_modem_cell_info', { modem: 'lte2', cell_id: id })] })]);

/** The counters of changes that have another value since the last call. */
function openCounters() {
  const bench = createBench();
  return {
    ...bench,
    counted: () =>
      bench
        .changed()
        .filter((line) => line.startsWith('router_device_changes_total'))
        .map((line) => line.replace('router_device_changes_total{fact=', '').replace('}', ''))
        .toSorted(),
  };
}

test('a counter of changes starts at zero at first contact with its fact, and counts other values', () => {
  const { poll, counted, logged } = openCounters();
  poll(modem({ provider_name: 'Alpha', used_sim: 'SIM 1' }));
  expect(counted()).toEqual(['"operator" 0', '"serial" 0', '"sim" 0']);
  logged();
  poll(modem({ provider_name: 'Beta', used_sim: 'SIM 1' }));
  expect(counted()).toEqual(['"operator" 1']);
  expect(logged()).toEqual([
    ['info: The router reports another value', { kind: 'operator', before: 'Alpha', after: 'Beta' }],
  ]);
  poll(modem({ provider_name: 'Beta', used_sim: 'SIM 2', access_technology: 'LTE' }));
  expect(counted()).toEqual(['"access_technology" 0', '"sim" 1']);
  poll(modem({ provider_name: 'Beta', used_sim: 'SIM 2', access_technology: 'UMTS' }));
  expect(counted()).toEqual(['"access_technology" 1']);
  poll(up([], { serialNumber: '4712' }));
  expect(counted()).toEqual(['"serial" 1']);
});

test('a fact that is unknown for a while is compared with its last value', () => {
  const { poll, counted } = openCounters();
  poll(modem({ provider_name: 'Alpha' }));
  counted();
  poll(modem({}));
  poll(up([read('lte2', { isUnchanged: true, families: [] })]));
  poll(up([], { serialNumber: undefined }));
  poll(modem({ provider_name: 'Alpha' }));
  expect(counted()).toEqual([]);
  poll(modem({ provider_name: 'Beta' }));
  expect(counted()).toEqual(['"operator" 1']);
});

test('a change is counted once, also when nothing is due in the next poll', () => {
  const { poll, counted } = openCounters();
  poll(modem({ used_sim: 'SIM 1' }));
  poll(modem({ used_sim: 'SIM 2' }));
  poll(up([], { isIdle: true }));
  poll(up([], { isIdle: true }));
  expect(counted()).toEqual(['"serial" 0', '"sim" 1']);
});

test('modems are compared with themselves', () => {
  const { poll, counted } = openCounters();
  const both = (first: string, second: string) =>
    up([
      read('lte2', { families: [info('router_modem_info', { modem: 'lte2', provider_name: first })] }),
      read('hspa3', { families: [info('router_modem_info', { modem: 'hspa3', provider_name: second })] }),
    ]);
  poll(both('Alpha', 'Beta'));
  poll(both('Alpha', 'Beta'));
  expect(counted()).toEqual(['"operator" 0', '"serial" 0']);
  poll(both('Beta', 'Alpha'));
  expect(counted()).toEqual(['"operator" 2']);
});

test('cells are counted, but neither stored nor logged', () => {
  const { poll, counted, logged, recorder } = openCounters();
  poll(cell('1001'));
  poll(cell('1002'));
  expect(counted()).toEqual(['"cell" 1', '"serial" 0']);
  expect(JSON.stringify(logged())).not.toContain('100');
  expect(recorder.state.changes.list()).toEqual({ 'serial ': '4711', 'firmware ': '6.1' });
});

test('a change during a restart is counted, and counters of stored facts start at zero before the first poll', () => {
  const before = openCounters();
  before.poll(modem({ used_sim: 'SIM 1', provider_name: 'Alpha' }));
  const { text } = before.recorder.state.journal.prepare(before.recorder.state, 10);

  const { poll, counted, record } = openCounters();
  record({ type: 'journal-recalled', text });
  expect(counted()).toEqual(['"operator" 0', '"serial" 0', '"sim" 0']);
  poll(modem({ used_sim: 'SIM 2', provider_name: 'Alpha' }));
  expect(counted()).toEqual(['"sim" 1']);
});

test.for(['', 'x', '[]', 'null', '{"facts":{"serial ":null}}'])(
  'stored facts that are not readable, %j, do no harm',
  (text) => {
    const { poll, record, metrics } = openCounters();
    record({ type: 'journal-recalled', text });
    poll(modem({ used_sim: 'SIM 1' }));
    expect(metrics()).toContain('router_device_changes_total{router="plant-7",fact="sim"} 0\n');
  },
);

test('of a modem that one answer reports many times, the first one counts', () => {
  const { poll, counted } = openCounters();
  const report = (...sims: readonly string[]) =>
    poll(
      up([
        read('lte2', { families: sims.map((sim) => info('router_modem_used_sim', { modem: 'lte2', used_sim: sim })) }),
      ]),
    );
  report('SIM 1', 'SIM 2', 'SIM 3');
  report('SIM 1', 'SIM 3', 'SIM 2');
  expect(counted()).toContain('"sim" 0');
  report('SIM 2', 'SIM 3');
  expect(counted()).toEqual(['"sim" 1']);
});

test('what a router invents is bounded', () => {
  const { poll, recorder } = openCounters();
  const long = 'x'.repeat(1000);
  const names = Array.from({ length: 100 }, (_, index) => `lte${index}`);
  poll(
    up(names.map((one) => read(one, { families: [info('router_modem_used_sim', { modem: one, used_sim: long })] }))),
  );
  expect(JSON.stringify(recorder.state.changes.list()).length).toBeLessThan(7000);
});

test('the firmware of a router is compared with the listed versions when either changes', () => {
  const { poll, changed, record } = createBench();
  const counted = () => changed().filter((line) => line.startsWith('router_firmware_newer_versions'));
  poll(up([], { firmwareVersion: '9.9' }));
  expect(counted()).toEqual([]);
  const listed = { severity: 'info', version: '9.9' } as const;
  record({ type: 'firmware-listed', versions: [listed, { version: '9.10', severity: 'critical' }] });
  expect(counted()).toEqual(['router_firmware_newer_versions{newest_version="9.10",severity="critical"} 1']);
  poll(up([], { firmwareVersion: '9.10-rc1' }));
  expect(counted()).toEqual(['router_firmware_newer_versions{newest_version="9.10",severity="none"} 0']);
  record({ type: 'firmware-listed', versions: [listed] });
  expect(counted()).toEqual(['router_firmware_newer_versions{newest_version="9.9",severity="none"} 0']);
  poll(up([], { firmwareVersion: 'unknown' }));
  record({ type: 'firmware-listed', versions: [] });
  expect(counted()).toEqual([]);
});
