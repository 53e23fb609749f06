import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ExpositionFormat, FleetExposition } from '../../src/exposition/index.ts';
import type { Labels, MetricFamily, RouterIdentity } from '../../src/model/index.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { measureProcessorMs } from '../support/processor-time.ts';
import { parseExposition } from './parse-exposition.ts';

const PLANT: RouterIdentity = { name: 'plant-7', labels: { site: 'munich' } };
const HARBOUR: RouterIdentity = { name: 'harbour', labels: {} };

function render(exposition: FleetExposition, nowMs: number, format: ExpositionFormat = 'text', name?: string): string {
  return [...exposition.render(format, nowMs, name)].join('');
}

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
  expect(render(exposition, 0)).toBe(
    [
      '# HELP router_up Help of router_up.',
      '# TYPE router_up gauge',
      'router_up{router="plant-7",site="munich"} 1',
      'router_up{router="harbour"} 0',
      '',
    ].join('\n'),
  );
});

test('FleetExposition.publish() serves a series once, also if only one of two samples names a label of the router', () => {
  const exposition = new FleetExposition();
  const samples = [
    [{ port: '1' }, 1],
    [{ port: '2' }, 2],
    [{ port: '2' }, 3],
    [{ site: 'munich', port: '1' }, 4],
  ] satisfies [Labels, number][];
  exposition.publish(PLANT, 'poll', [gauge('router_link', ...samples)]);
  const lines = render(exposition, 0).split('\n');
  expect(lines.filter((line) => line.startsWith('router_link'))).toEqual([
    'router_link{router="plant-7",site="munich",port="1"} 1',
    'router_link{router="plant-7",site="munich",port="2"} 2',
  ]);
});

test('FleetExposition renders families in the order of their names, whenever they came', () => {
  const exposition = new FleetExposition();
  exposition.publish(PLANT, 'b', [gauge('router_b', [{}, 1])]);
  exposition.add(PLANT, { name: 'router_c_total', help: 'C.', type: 'counter' }, {}, 1);
  exposition.publishLive(PLANT, [{ labels: {} }], [[{ name: 'router_a', help: 'A.', type: 'gauge' }, () => 1]]);
  expect([...parseExposition(render(exposition, 0)).families.keys()]).toEqual([
    'router_a',
    'router_b',
    'router_c_total',
  ]);
});

test('FleetExposition.publish() remembers nothing of a part that is empty again, however many names parts have had', () => {
  const exposition = new FleetExposition();
  const publishAll = (from: number, count: number) => {
    for (let index = from; index < from + count; index++) {
      exposition.publish(PLANT, `log:${index}`, [gauge('router_log', [{ component: String(index) }, 1])]);
      exposition.publish(PLANT, `log:${index}`, []);
    }
  };
  publishAll(0, 1000);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  publishAll(1000, 50_000);
  collectGarbage();
  expect((process.memoryUsage().heapUsed - before) / 50_000).toBeLessThan(20);
  expect(render(exposition, 0)).not.toContain('router_log{');
});

test('FleetExposition.publish() replaces a part as a whole and leaves the others', () => {
  const exposition = new FleetExposition();
  exposition.publish(PLANT, 'one', [
    gauge('router_x', [{ port: '1' }, 1], [{ port: '2' }, 2]),
    gauge('router_y', [{}, 1]),
  ]);
  exposition.publish(PLANT, 'two', [gauge('router_x', [{ port: '9' }, 9])]);
  exposition.publish(PLANT, 'one', [gauge('router_x', [{ port: '2' }, 22])]);
  expect(parseExposition(render(exposition, 0)).values('router_x', 'port')).toEqual({ 2: 22, 9: 9 });
  expect(render(exposition, 0)).not.toContain('router_y');
});

test('FleetExposition serves a part up to the moment of its expiry and not then, without a header left over', () => {
  const exposition = new FleetExposition();
  exposition.publishValues(PLANT, 'values', [gauge('router_x', [{}, 1])], 5000);
  exposition.publishValues(PLANT, 'identity', [gauge('router_board', [{}, 1])], Infinity);
  expect(render(exposition, 4999)).toContain('router_x{');
  expect(render(exposition, 5000)).not.toContain('router_x');
  expect(render(exposition, 1e12)).toContain('router_board{');
  exposition.publishValues(PLANT, 'values', [gauge('router_x', [{}, 1])], 9000);
  expect(render(exposition, 8999)).toContain('router_x{');
});

test('FleetExposition serves a lasting family of a part that has expired, until the part is replaced', () => {
  const exposition = new FleetExposition();
  const changes = { ...gauge('router_changes_total', [{}, 1]), isLasting: true };
  exposition.publishValues(PLANT, 'values', [gauge('router_x', [{}, 1]), changes], 5000);
  exposition.keepFresh(PLANT, 4000);
  expect(render(exposition, 5000)).toContain('router_changes_total{');
  expect(render(exposition, 5000)).not.toContain('router_x');
  exposition.publishValues(PLANT, 'others', [changes], 5000);
  expect(render(exposition, 5000).match(/^router_changes_total/gm)).toHaveLength(1);
  exposition.publishValues(PLANT, 'values', [], Infinity);
  exposition.publishValues(PLANT, 'others', [], Infinity);
  expect(render(exposition, 5000)).not.toContain('router_changes_total');
});

test('FleetExposition.publishLive() has values read when it renders, and leaves out samples without one', () => {
  const exposition = new FleetExposition();
  const samples = [
    { labels: { resource: 'profiles' }, sinceMs: 1000 as number | undefined },
    { labels: { resource: 'device_info' }, sinceMs: 3500 as number | undefined },
  ];
  const family = { name: 'router_age_seconds', help: 'Age.', type: 'gauge' } as const;
  const publish = (some: typeof samples) =>
    exposition.publishLive(PLANT, some, [[family, ({ sinceMs }, nowMs) => sinceMs && (nowMs - sinceMs) / 1000]]);
  publish(samples);
  const ages = (nowMs: number) => parseExposition(render(exposition, nowMs)).values('router_age_seconds', 'resource');
  expect(ages(4000)).toEqual({ profiles: 3, device_info: 0.5 });
  Object.assign(samples[0] ?? {}, { sinceMs: 2000 });
  expect(ages(5000)).toEqual({ profiles: 3, device_info: 1.5 });
  Object.assign(samples[0] ?? {}, { sinceMs: undefined });
  expect(ages(5000)).toEqual({ device_info: 1.5 });
  publish([]);
  expect(render(exposition, 5000)).toBe('');
});

test("FleetExposition lets a sample's label replace the router's, in all ways to publish", () => {
  const exposition = new FleetExposition();
  const labels = { port: '1', site: 'own' };
  exposition.publish(PLANT, 'x', [gauge('a', [labels, 1])]);
  exposition.publishLive(PLANT, [{ labels }], [[{ name: 'b', help: 'B.', type: 'gauge' }, () => 2]]);
  exposition.add(PLANT, { name: 'c', help: 'C.', type: 'counter' }, labels, 3);
  expect(
    render(exposition, 0)
      .split('\n')
      .filter((line) => /^[abc]/.test(line)),
  ).toEqual([
    'a{router="plant-7",site="own",port="1"} 1',
    'b{router="plant-7",site="own",port="1"} 2',
    'c{router="plant-7",site="own",port="1"} 3',
  ]);
});

test('FleetExposition.add() adds up per series, and 0 makes a series exist', () => {
  const exposition = new FleetExposition();
  const family = { name: 'router_lines_total', help: 'Lines.', type: 'counter' } as const;
  exposition.add(PLANT, family, { component: 'a' }, 0);
  exposition.add(PLANT, family, { component: 'b' }, 5);
  exposition.add(PLANT, family, { component: 'b' }, 7);
  exposition.add(HARBOUR, family, { component: 'b' }, 1);
  const { families, samples } = parseExposition(render(exposition, 0));
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
    exposition.publishLive(router, [{ labels: {} }], [[{ name: 'router_age', help: 'Age.', type: 'gauge' }, () => 1]]);
    exposition.add(router, { name: 'router_c_total', help: 'C.', type: 'counter' }, {}, 1);
  }
  exposition.forget('plant-7');
  expect(render(exposition, 0)).not.toContain('plant-7');
  expect(parseExposition(render(exposition, 0)).samples).toHaveLength(3);
  exposition.forget('plant-7');
  exposition.forget('harbour');
  expect(render(exposition, 0)).toBe('');
});

test('FleetExposition writes values as the text format wants them', () => {
  const exposition = new FleetExposition();
  const values = [0, -0, 1.5, -2, 1e21, 5e-324, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];
  exposition.publish(HARBOUR, 'x', [
    gauge('x', ...values.map((value, i): [Labels, number] => [{ i: String(i) }, value])),
  ]);
  const written = render(exposition, 0).split('\n').slice(2, -1);
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
  expect(render(exposition, 0)).toContain('x{router="harbour",link="up"} 1\n');
});

test('FleetExposition escapes help texts', () => {
  const exposition = new FleetExposition();
  exposition.publish(HARBOUR, 'x', [
    { name: 'x', help: 'a \\ b\nc "d"', type: 'gauge', samples: [{ labels: {}, value: 1 }] },
  ]);
  expect(render(exposition, 0)).toContain('# HELP x a \\\\ b\\nc "d"\n');
});

test('FleetExposition escapes label values so that they read back as they were, control characters apart', () => {
  const exposition = new FleetExposition();
  const value = 'back\\slash "quoted"\nline\r\ttab \u0000 \u0085 ü ✓ 🛰 {a="b"} # HELP x';
  exposition.publish(HARBOUR, 'x', [gauge('x', [{ value }, 1])]);
  const [sample] = parseExposition(render(exposition, 0)).samples;
  expect(sample?.labels['value']).toBe('back\\slash "quoted"\nline  tab     ü ✓ 🛰 {a="b"} # HELP x');
});

test('FleetExposition cuts label values that no device has, and breaks no character by that', () => {
  const exposition = new FleetExposition();
  exposition.publish(HARBOUR, 'x', [gauge('x', [{ value: `${'a'.repeat(511)}🛰${'b'.repeat(100_000)}` }, 1])]);
  const [sample] = parseExposition(render(exposition, 0)).samples;
  expect(sample?.labels['value']).toBe(`${'a'.repeat(511)}\uFFFD`);
});

test('FleetExposition never renders a series twice, though two label values become the same', () => {
  const exposition = new FleetExposition();
  const long = 'n'.repeat(512);
  const names = ['a\tb', 'a b', 'a\rb', `${long}1`, `${long}2`, '\uD800', '\uFFFD'];
  const family = gauge('x', ...names.map((name, i): [Labels, number] => [{ name }, i]));
  exposition.publishValues(HARBOUR, 'x', [family], Infinity);
  const parsed = parseExposition(render(exposition, 0));
  expect(parsed.values('x', 'name')).toEqual({ 'a b': 0, [long]: 3, '\uFFFD': 5 });
  // The omitted series are counted.
  expect(parsed.values('router_series_dropped', 'router')).toEqual({ harbour: 4 });
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
      const parsed = parseExposition(render(exposition, 0));
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

test('FleetExposition serves identity and agent metrics, but no values, of a router that has not answered for too long', () => {
  const exposition = new FleetExposition();
  exposition.publish(PLANT, 'poll', [gauge('router_up', [{}, 0])]);
  exposition.publishValues(PLANT, 'slow', [gauge('router_x', [{}, 1])], 100_000);
  exposition.publishValues(PLANT, 'identity', [gauge('router_board', [{}, 1])], Infinity);
  exposition.keepFresh(PLANT, 5000);
  expect(render(exposition, 4999)).toContain('router_x{');
  expect(render(exposition, 5000)).not.toContain('router_x{');
  expect(render(exposition, 5000)).toContain('router_up{');
  expect(render(exposition, 5000)).toContain('router_board{');
  exposition.keepFresh(PLANT, 9000);
  expect(render(exposition, 5000)).toContain('router_x{');
});

test('FleetExposition leaves out series that another part of the router has already, and says how many', () => {
  const exposition = new FleetExposition();
  exposition.publishValues(PLANT, 'lte2', [gauge('router_in', [{ slot: '2' }, 1])], Infinity);
  exposition.publishValues(PLANT, 'io2', [gauge('router_in', [{ slot: '2' }, 0], [{ slot: '3' }, 0])], Infinity);
  exposition.publishValues(HARBOUR, 'io2', [gauge('router_in', [{ slot: '2' }, 5])], Infinity);
  const parsed = parseExposition(render(exposition, 0));
  expect(parsed.samples.filter(({ name }) => name === 'router_in').map(({ value }) => value)).toEqual([1, 0, 5]);
  expect(parsed.values('router_series_dropped', 'router')).toEqual({ 'plant-7': 1, harbour: 0 });
  exposition.publishValues(PLANT, 'lte2', [], Infinity);
  exposition.publishValues(PLANT, 'io2', [gauge('router_in', [{ slot: '2' }, 7])], Infinity);
  expect(parseExposition(render(exposition, 0)).values('router_series_dropped', 'router')).toEqual({
    'plant-7': 0,
    harbour: 0,
  });
  expect(render(exposition, 0)).toContain('slot="2"} 7\n');
});

test('FleetExposition keeps a router at its bound of series, whatever it says, and the others whole', () => {
  const exposition = new FleetExposition();
  const many = (count: number, family: string) =>
    gauge(family, ...Array.from({ length: count }, (_none, i): [Labels, number] => [{ i: String(i) }, i]));
  exposition.publishValues(PLANT, 'a', [many(1500, 'router_a')], Infinity);
  exposition.publishValues(PLANT, 'b', [many(400, 'router_b'), many(400, 'router_c')], Infinity);
  exposition.publishValues(HARBOUR, 'b', [many(1900, 'router_b')], Infinity);
  const count = (family: string, router: string) =>
    parseExposition(render(exposition, 0)).samples.filter(
      ({ name, labels }) => name === family && labels['router'] === router,
    ).length;
  // One series is that of the bound itself.
  expect(['router_a', 'router_b', 'router_c'].map((family) => count(family, 'plant-7'))).toEqual([1500, 400, 99]);
  expect(count('router_b', 'harbour')).toBe(1900);
  expect(parseExposition(render(exposition, 0)).values('router_series_dropped', 'router')).toEqual({
    'plant-7': 301,
    harbour: 0,
  });
  // A part that is replaced makes room for itself.
  exposition.publishValues(PLANT, 'a', [many(1500, 'router_a')], Infinity);
  expect(count('router_a', 'plant-7')).toBe(1500);
});

test('FleetExposition counts on without labels when a router has more names of logs than any device', () => {
  const exposition = new FleetExposition();
  const family = { name: 'router_lines_total', help: 'Lines.', type: 'counter' } as const;
  for (let index = 0; index < 3000; index++) exposition.add(PLANT, family, { component: `c${index}` }, 1);
  const { samples } = parseExposition(render(exposition, 0));
  expect(samples).toHaveLength(2001);
  expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(3000);
});

test('FleetExposition merges a family that comes twice in one part', () => {
  const exposition = new FleetExposition();
  exposition.publish(PLANT, 'a', [gauge('router_a', [{ i: '1' }, 1]), gauge('router_a', [{ i: '2' }, 2])]);
  expect(parseExposition(render(exposition, 0)).values('router_a', 'i')).toEqual({ 1: 1, 2: 2 });
  exposition.publish(PLANT, 'a', []);
  expect(render(exposition, 0)).toBe('');
});

test('FleetExposition.forgetValues() leaves the counters of the router and nothing else of it', () => {
  const exposition = new FleetExposition();
  exposition.publish(PLANT, 'poll', [gauge('router_up', [{}, 1])]);
  exposition.publishValues(PLANT, 'x', [gauge('router_x', [{}, 1])], Infinity);
  exposition.publishLive(PLANT, [{ labels: {} }], [[{ name: 'router_age', help: 'Age.', type: 'gauge' }, () => 1]]);
  exposition.add(PLANT, { name: 'router_c_total', help: 'C.', type: 'counter' }, {}, 4);
  exposition.publish(HARBOUR, 'poll', [gauge('router_up', [{}, 1])]);
  exposition.forgetValues('plant-7');
  expect(parseExposition(render(exposition, 0)).samples.map(({ name, labels }) => [name, labels['router']])).toEqual([
    ['router_c_total', 'plant-7'],
    ['router_up', 'harbour'],
  ]);
});

test('FleetExposition.forgetCounters() takes the counters with these values of a label, of one router alone', () => {
  const exposition = new FleetExposition();
  const family = { name: 'router_c_total', help: 'C.', type: 'counter' } as const;
  for (const router of [PLANT, HARBOUR]) {
    for (const component of ['a', 'ab', 'b', 'c"d']) exposition.add(router, family, { component, x: 'y' }, 1);
  }
  exposition.forgetCounters('plant-7', 'component', ['a', 'c"d']);
  const left = parseExposition(render(exposition, 0)).samples;
  expect(left.map(({ labels }) => `${labels['router']} ${labels['component']}`)).toEqual([
    'plant-7 ab',
    'plant-7 b',
    ...['a', 'ab', 'b', 'c"d'].map((component) => `harbour ${component}`),
  ]);
});

test('FleetExposition renders one router alone, with the same text', () => {
  const exposition = new FleetExposition();
  for (const router of [PLANT, HARBOUR]) exposition.publish(router, 'poll', [gauge('router_up', [{}, 1])]);
  exposition.publish(PLANT, 'more', [gauge('router_more', [{}, 1])]);
  expect(render(exposition, 0, 'text', 'harbour')).toBe(
    '# HELP router_up Help of router_up.\n# TYPE router_up gauge\nrouter_up{router="harbour"} 1\n',
  );
  expect(render(exposition, 0, 'text', 'nobody')).toBe('');
});

test('FleetExposition describes a family in another way after it was published in another way', () => {
  const exposition = new FleetExposition();
  exposition.publish(PLANT, 'x', [gauge('router_x', [{}, 1])]);
  exposition.publish(PLANT, 'x', [{ ...gauge('router_x', [{}, 1]), help: 'New.', type: 'counter' }]);
  expect(render(exposition, 0)).toContain('# HELP router_x New.\n# TYPE router_x counter\n');
});

test('FleetExposition writes the headers of OpenMetrics: without suffix, with quotes escaped, and the same samples', () => {
  const exposition = new FleetExposition();
  exposition.publish(HARBOUR, 'x', [
    { ...gauge('router_board_info', [{ slot: '1' }, 1]), type: 'info', help: 'A "board".' },
    { ...gauge('router_bytes_total', [{}, 3]), type: 'counter' },
    { ...gauge('router_state', [{ state: 'on' }, 1]), type: 'stateset' },
    gauge('router_volts', [{}, 1.5]),
  ]);
  expect(render(exposition, 0, 'openmetrics')).toBe(`# HELP router_board A \\"board\\".
# TYPE router_board info
router_board_info{router="harbour",slot="1"} 1
# HELP router_bytes Help of router_bytes_total.
# TYPE router_bytes counter
router_bytes_total{router="harbour"} 3
# HELP router_state Help of router_state.
# TYPE router_state gauge
router_state{router="harbour",state="on"} 1
# HELP router_volts Help of router_volts.
# TYPE router_volts gauge
router_volts{router="harbour"} 1.5
`);
  expect([...parseExposition(render(exposition, 0)).families.values()].map(({ type }) => type)).toEqual([
    'gauge',
    'counter',
    'gauge',
    'gauge',
  ]);
});

test('FleetExposition hands out its text in pieces, so that no reader needs it whole', () => {
  const exposition = new FleetExposition();
  for (let index = 0; index < 8000; index++) {
    exposition.publish({ name: `router-${index}`, labels: { site: 'x'.repeat(800) } }, 'poll', [gauge('up', [{}, 1])]);
  }
  const pieces = [...exposition.render('text', 0)];
  expect(pieces.length).toBeGreaterThan(3);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(20_000);
  expect(parseExposition(pieces.join('')).samples).toHaveLength(8000);
});

test('FleetExposition takes a time that grows with the series, and not with their square', () => {
  const family = { name: 'router_lines_total', help: 'Lines.', type: 'counter' } as const;
  /** One series after the other, as logs with new names bring them, with scrapes in between. */
  const work = (routers: number) => {
    const exposition = new FleetExposition();
    for (let index = 0; index < 200; index++) {
      for (let router = 0; router < routers; router++) {
        exposition.add({ name: `r${router}`, labels: {} }, family, { component: `c${index}` }, 1);
        exposition.publishValues(
          { name: `r${router}`, labels: {} },
          `p${index % 20}`,
          [gauge(`router_g${index % 20}`, [{}, 1])],
          Infinity,
        );
      }
    }
    for (let scrape = 0; scrape < 5; scrape++) render(exposition, 0);
  };
  work(10);
  const [few, many] = [10, 80].map((routers) => measureProcessorMs(() => work(routers)));
  expect(many).toBeLessThan(Math.max(1, few ?? 0) * 8 * 3);
});

test('FleetExposition takes little memory for each family of a router in addition to its text', () => {
  const exposition = new FleetExposition();
  const families = Array.from({ length: 60 }, (_, index) => gauge(`router_${index}`, [{}, index]));
  const counted = { name: 'router_lines_total', help: 'Lines.', type: 'counter' } as const;
  const publishAll = (from: number, count: number) => {
    for (let index = from; index < from + count; index++) {
      const router = { name: `r${index}`, labels: {} };
      exposition.publishValues(router, 'values', families, Infinity);
      for (const component of ['system', 'network']) exposition.add(router, counted, { component }, 1);
    }
  };
  publishAll(0, 100);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  publishAll(100, 2000);
  collectGarbage();
  const textBytes = render(exposition, 0, 'text', 'r1000').length;
  // Two entries of lists for each family; what the routers have in common makes up for the beginnings of texts here.
  expect((process.memoryUsage().heapUsed - before) / 2000 - textBytes).toBeLessThan(60 * 20);
});
