import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { FleetExposition } from '../../src/exposition/index.ts';
import type { Labels, MetricFamily, RouterIdentity } from '../../src/model/index.ts';
import { parseExposition } from './parse-exposition.ts';

const PLANT: RouterIdentity = { name: 'plant-7', labels: { site: 'munich' } };
const HARBOUR: RouterIdentity = { name: 'harbour', labels: {} };

function gauge(name: string, ...samples: [Labels, number][]): MetricFamily {
  return {
    name,
    help: `Help of ${name}.`,
    type: 'gauge',
    samples: samples.map(([labels, value]) => ({ labels, value })),
  };
}

test('FleetExposition renders one description per family, then the series of all routers', () => {
  const exposition = new FleetExposition();
  exposition.publish(PLANT, 'poll', [gauge('router_up', [{}, 1])]);
  exposition.publish(HARBOUR, 'poll', [gauge('router_up', [{}, 0])]);
  expect(exposition.render(0)).toBe(
    [
      '# HELP router_up Help of router_up.',
      '# TYPE router_up gauge',
      'router_up{router="plant-7",site="munich"} 1',
      'router_up{router="harbour"} 0',
      '',
    ].join('\n'),
  );
});

test('FleetExposition renders families in the order of their names, whenever they came', () => {
  const exposition = new FleetExposition();
  exposition.publish(PLANT, 'b', [gauge('router_b', [{}, 1])]);
  exposition.add(PLANT, { name: 'router_c_total', help: 'C.', type: 'counter' }, {}, 1);
  exposition.publishAges(PLANT, { name: 'router_a', help: 'A.', samples: [{ labels: {}, sinceMs: 0 }] });
  expect([...parseExposition(exposition.render(0)).families.keys()]).toEqual([
    'router_a',
    'router_b',
    'router_c_total',
  ]);
});

test('FleetExposition.publish() replaces a part as a whole and leaves the others', () => {
  const exposition = new FleetExposition();
  exposition.publish(PLANT, 'one', [
    gauge('router_x', [{ port: '1' }, 1], [{ port: '2' }, 2]),
    gauge('router_y', [{}, 1]),
  ]);
  exposition.publish(PLANT, 'two', [gauge('router_x', [{ port: '9' }, 9])]);
  exposition.publish(PLANT, 'one', [gauge('router_x', [{ port: '2' }, 22])]);
  expect(parseExposition(exposition.render(0)).values('router_x', 'port')).toEqual({ 2: 22, 9: 9 });
  expect(exposition.render(0)).not.toContain('router_y');
});

test('FleetExposition serves a part up to the moment of its expiry and not then, without a header left over', () => {
  const exposition = new FleetExposition();
  exposition.publish(PLANT, 'values', [gauge('router_x', [{}, 1])], 5000);
  exposition.publish(PLANT, 'identity', [gauge('router_board', [{}, 1])]);
  expect(exposition.render(4999)).toContain('router_x{');
  expect(exposition.render(5000)).not.toContain('router_x');
  expect(exposition.render(1e12)).toContain('router_board{');
  exposition.publish(PLANT, 'values', [gauge('router_x', [{}, 1])], 9000);
  expect(exposition.render(8999)).toContain('router_x{');
});

test('FleetExposition computes ages when it renders', () => {
  const exposition = new FleetExposition();
  const samples = [
    { labels: { resource: 'profiles' }, sinceMs: 1000 },
    { labels: { resource: 'device_info' }, sinceMs: 3500 },
  ];
  exposition.publishAges(PLANT, { name: 'router_age_seconds', help: 'Age.', samples });
  const ages = (nowMs: number) => parseExposition(exposition.render(nowMs)).values('router_age_seconds', 'resource');
  expect(ages(4000)).toEqual({ profiles: 3, device_info: 0.5 });
  expect(ages(5000)).toEqual({ profiles: 4, device_info: 1.5 });
  exposition.publishAges(PLANT, { name: 'router_age_seconds', help: 'Age.', samples: samples.slice(1) });
  expect(ages(5000)).toEqual({ device_info: 1.5 });
});

test('FleetExposition.add() adds up per series, and 0 makes a series exist', () => {
  const exposition = new FleetExposition();
  const family = { name: 'router_lines_total', help: 'Lines.', type: 'counter' } as const;
  exposition.add(PLANT, family, { component: 'a' }, 0);
  exposition.add(PLANT, family, { component: 'b' }, 5);
  exposition.add(PLANT, family, { component: 'b' }, 7);
  exposition.add(HARBOUR, family, { component: 'b' }, 1);
  const { families, samples } = parseExposition(exposition.render(0));
  expect(families.get('router_lines_total')).toEqual({ help: 'Lines.', type: 'counter' });
  expect(samples.map(({ labels, value }) => [labels['router'], labels['component'], value])).toEqual([
    ['plant-7', 'a', 0],
    ['plant-7', 'b', 12],
    ['harbour', 'b', 1],
  ]);
});

test('FleetExposition.forget() takes away all series of one router and none of the others', () => {
  const exposition = new FleetExposition();
  for (const router of [PLANT, HARBOUR]) {
    exposition.publish(router, 'poll', [gauge('router_up', [{}, 1])]);
    exposition.publishAges(router, { name: 'router_age', help: 'Age.', samples: [{ labels: {}, sinceMs: 0 }] });
    exposition.add(router, { name: 'router_c_total', help: 'C.', type: 'counter' }, {}, 1);
  }
  exposition.forget('plant-7');
  expect(exposition.render(0)).not.toContain('plant-7');
  expect(parseExposition(exposition.render(0)).samples).toHaveLength(3);
  exposition.forget('plant-7');
  exposition.forget('harbour');
  expect(exposition.render(0)).toBe('');
});

test('FleetExposition writes values as the text format wants them', () => {
  const exposition = new FleetExposition();
  const values = [0, -0, 1.5, -2, 1e21, 5e-324, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];
  exposition.publish(HARBOUR, 'x', [
    gauge('x', ...values.map((value, i): [Labels, number] => [{ i: String(i) }, value])),
  ]);
  const written = exposition.render(0).split('\n').slice(2, -1);
  expect(written.map((line) => line.split(' ')[1])).toEqual([
    '0',
    '0',
    '1.5',
    '-2',
    '1e+21',
    '5e-324',
    '+Inf',
    '-Inf',
    'NaN',
  ]);
});

test('FleetExposition leaves out labels without a value, which mean the same as none', () => {
  const exposition = new FleetExposition();
  exposition.publish(HARBOUR, 'x', [gauge('x', [{ port: '', link: 'up' }, 1])]);
  expect(exposition.render(0)).toContain('x{router="harbour",link="up"} 1\n');
});

test('FleetExposition escapes help texts', () => {
  const exposition = new FleetExposition();
  exposition.publish(HARBOUR, 'x', [
    { name: 'x', help: 'a \\ b\nc "d"', type: 'gauge', samples: [{ labels: {}, value: 1 }] },
  ]);
  expect(exposition.render(0)).toContain('# HELP x a \\\\ b\\nc "d"\n');
});

test('FleetExposition escapes label values so that they read back as they were, control characters apart', () => {
  const exposition = new FleetExposition();
  const value = 'back\\slash "quoted"\nline\r\ttab \u0000 \u0085 ü ✓ 🛰 {a="b"} # HELP x';
  exposition.publish(HARBOUR, 'x', [gauge('x', [{ value }, 1])]);
  const [sample] = parseExposition(exposition.render(0)).samples;
  expect(sample?.labels['value']).toBe('back\\slash "quoted"\nline  tab     ü ✓ 🛰 {a="b"} # HELP x');
});

test('FleetExposition cuts label values that no device has, and breaks no character by that', () => {
  const exposition = new FleetExposition();
  exposition.publish(HARBOUR, 'x', [gauge('x', [{ value: `${'a'.repeat(511)}🛰${'b'.repeat(100_000)}` }, 1])]);
  const [sample] = parseExposition(exposition.render(0)).samples;
  expect(sample?.labels['value']).toBe(`${'a'.repeat(511)}\uFFFD`);
});

test('FleetExposition never renders a series twice, though two label values become the same', () => {
  const exposition = new FleetExposition();
  const long = 'n'.repeat(512);
  const names = ['a\tb', 'a b', 'a\rb', `${long}1`, `${long}2`, '\uD800', '\uFFFD'];
  exposition.publish(HARBOUR, 'x', [gauge('x', ...names.map((name, i): [Labels, number] => [{ name }, i]))]);
  expect(parseExposition(exposition.render(0)).values('x', 'name')).toEqual({ 'a b': 2, [long]: 4, '\uFFFD': 6 });
});

test('FleetExposition renders valid text for any label value and any number', () => {
  const text = fc.string({
    unit: fc.oneof(
      fc.constantFrom('\\', '"', '\n', '\r', '{', '}', ' ', '\uD800', '\u0000'),
      fc.string({ minLength: 1, maxLength: 1, unit: 'binary' }),
    ),
    maxLength: 600,
  });
  const sample = fc.tuple(fc.record({ a: text, b: text, c: text }), fc.double());
  fc.assert(
    fc.property(fc.array(sample, { maxLength: 8 }), text, (samples, site) => {
      const exposition = new FleetExposition();
      const router = { name: 'plant-7', labels: { site } };
      exposition.publish(router, 'x', [gauge('x', ...samples)]);
      for (const [labels] of samples)
        exposition.add(router, { name: 'c_total', help: 'C', type: 'counter' }, labels, 1);
      const parsed = parseExposition(exposition.render(0));
      for (const found of parsed.samples) {
        for (const value of Object.values(found.labels)) {
          expect(value.isWellFormed()).toBe(true);
          expect(value.length).toBeLessThanOrEqual(512);
        }
      }
      expect(parsed.samples.length > 0).toBe(samples.length > 0);
    }),
  );
});
