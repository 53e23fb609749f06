import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CompiledResource, compileModules, mapDocument } from '../../../src/status/index.ts';
import { loadShippedModules } from '../shipped-modules.ts';
import { CONTEXT } from './mapping-bench.ts';

const RESOURCES = compileModules(loadShippedModules()).flatMap(({ resources }) => resources);
/** Everything that a shipped module asks for, and names that are special to JavaScript. */
const NAMES = [
  ...new Set(
    RESOURCES.flatMap(({ definition }) =>
      definition.metrics.flatMap(({ value, labels }) => [value ?? '', ...Object.values(labels)]),
    ),
  ),
  ...[
    'input_1',
    'input_voltage_1',
    'digital_output_2',
    'analog_input_1',
    'name',
    'status',
    'list',
    'unique',
    'sublist',
  ],
  ...['__proto__', 'constructor', 'toString', 'length', ''],
];
const TEXTS = [
  'Online',
  'up',
  'high',
  '23.75 V',
  '12 mA',
  '45 %',
  '120 / 256 MB',
  '0.1 0.2 0.3',
  '3 days, 04:05',
  '99',
  '---',
];
const ODD_TEXTS = [
  '1e999',
  '-5',
  'NaN',
  '0x',
  '2026-11-21 09:00:00',
  '\u0000',
  '\ud800',
  'x'.repeat(600),
  '9'.repeat(400),
];

const value = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<unknown>(...TEXTS, ...ODD_TEXTS) },
  fc.constantFrom<unknown>(null, true, false, 0, -1, 1e308, Infinity, [], {}, [[]], { unique: {} }),
  fc.jsonValue({ maxDepth: 4 }),
);
const row = fc.oneof(fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 30 }), value);
const rows = fc.oneof(
  fc.array(fc.oneof(row, fc.record({ name: value, sublist: fc.array(row) })), { maxLength: 6 }),
  value,
);
const status = fc.oneof(fc.record({ unique: row, list: rows }, { requiredKeys: [] }), value);
const document = fc.oneof(fc.record({ status, profiles: rows }, { requiredKeys: [] }), fc.jsonValue({ maxDepth: 6 }));

function check(resource: CompiledResource, body: unknown): void {
  const mapping = mapDocument([resource], body, CONTEXT);
  expect(mapDocument([resource], body, CONTEXT)).toEqual(mapping);
  const expected = new Set(resource.definition.metrics.map(({ name }) => name));
  for (const { name, type, samples } of mapping.families) {
    expect(expected).toContain(name);
    expect(samples).not.toHaveLength(0);
    const series = new Set<string>();
    for (const { labels, value: number } of samples) {
      expect(Number.isFinite(number)).toBe(true);
      if (type === 'counter') expect(number).toBeGreaterThanOrEqual(0);
      if (type === 'stateset') expect([0, 1]).toContain(number);
      if (type === 'info') expect(number).toBe(1);
      for (const [label, text] of Object.entries(labels)) {
        expect(label).toMatch(/^[a-zA-Z_][a-zA-Z0-9_]*$/);
        expect(text).toMatch(/^\P{Cc}{1,512}$/u);
        expect(text).toBe(text.trim().toWellFormed());
      }
      series.add(JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))));
    }
    expect(series.size).toBe(samples.length);
  }
  for (const fault of mapping.faults) {
    expect(expected).toContain(fault.metric);
    expect(fault.reason).toMatch(/^[a-z_]+$/);
  }
}

test('any document becomes valid families or faults, the same each time, and stays as it is', () => {
  fc.assert(
    fc.property(document, (body) => {
      const before = JSON.stringify(body);
      for (const resource of RESOURCES) check(resource, body);
      expect(JSON.stringify(body)).toBe(before);
    }),
    { numRuns: 300 },
  );
});

test('names that are special to JavaScript are fields like any others', () => {
  const body: unknown = JSON.parse(
    '{"status": {"unique": {"__proto__": {"state": "Online"}, "constructor": "x", "hasOwnProperty": 1}, "list": [{"__proto__": null}]}}',
  );
  for (const resource of RESOURCES) check(resource, body);
});

test('depth and length of a document do not matter', () => {
  let deep: unknown = 'end';
  for (let level = 0; level < 10_000; level++) deep = { status: deep, unique: deep, list: [deep] };
  const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_none, index) => [`input_${index}`, String(index)]));
  const long = Array.from({ length: 50_000 }, (_none, index) => ({ name: `n${index}`, bytes_rx: String(index) }));
  for (const body of [deep, { status: { unique: wide, list: [wide] } }, { status: { list: long }, profiles: long }]) {
    for (const resource of RESOURCES) {
      const { families, faults } = mapDocument([resource], body, CONTEXT);
      expect(families.flatMap(({ samples }) => samples).length).toBeLessThanOrEqual(8192);
      expect(faults.length).toBeLessThanOrEqual(256);
    }
  }
});
