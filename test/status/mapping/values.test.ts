import { expect, test } from 'vitest';
import { compileModules, mapDocument } from '../../../src/status/index.ts';
import { toModule } from '../shipped-modules.ts';
import { CONTEXT, mapFields, mapOne, mapRows } from './mapping-bench.ts';

const METRIC = { name: 'm', value: 'field' };

test('a text, a number and a flag become a value', () => {
  const metrics = ['text', 'number', 'yes', 'no', 'word'].map((value) => ({ name: value, value }));
  const { samples, faults } = mapFields(metrics, { text: '1.5', number: -2, yes: true, no: false, word: 'True' });
  expect(samples).toEqual({ text: 1.5, number: -2, yes: 1, no: 0, word: 1 });
  expect(faults).toEqual([]);
});

test('a field that is missing or null has no sample, and that is no fault', () => {
  for (const fields of [{}, { field: null }, { other: '1' }]) {
    expect(mapFields([METRIC], fields)).toEqual({ isFound: true, samples: {}, faults: [] });
  }
});

test('a field is found by its exact name, else without regard to case, and never by inheritance', () => {
  expect(mapFields([METRIC], { FIELD: '1', Field: '2', field: '3' }).samples).toEqual({ m: 3 });
  expect(mapFields([METRIC], { FIELD: '1', Field: '2' }).samples).toEqual({ m: 1 });
  const inherited = [
    { name: 'm', value: 'toString' },
    { name: 'n', value: '__proto__' },
  ];
  expect(mapFields(inherited, {})).toEqual({ isFound: true, samples: {}, faults: [] });
  expect(mapFields(inherited, JSON.parse('{"__proto__": "7"}')).samples).toEqual({ n: 7 });
});

test.for<[string, unknown, string]>([
  ['unreadable', 'much', 'unknown_form'],
  ['of a unit that was not declared', '7 V', 'unknown_unit'],
  ['a list', ['1'], 'not_plain'],
  ['an object', { value: '1' }, 'not_plain'],
  ['longer than any text', '1'.repeat(513), 'too_long'],
  ['beyond all numbers', '1e999', 'not_finite'],
  ['an endless number', Infinity, 'not_finite'],
])('a value that is %s has no sample and counts as a fault', ([_what, field, reason]) => {
  expect(mapFields([METRIC], { field })).toEqual({ isFound: true, samples: {}, faults: [`m ${reason}`] });
});

test('a pattern takes the part of a text that counts, of numbers, states and mapped texts', () => {
  const pattern = '^(?P<value>[^;]+);';
  const metrics = [
    { name: 'a', value: 'load', pattern: 'load (?P<value>[0-9.]+ %)', form: 'percentage' },
    { name: 'b', value: 'door', pattern, map: { open: 1, closed: 0 } },
    { name: 'c', value: 'door', pattern, type: 'stateset', states: ['open'] },
  ];
  expect(mapFields(metrics, { load: 'the load 50 % of now', door: 'open; since noon' })).toEqual({
    isFound: true,
    samples: { a: 0.5, b: 1, 'c{state=open}': 1, 'c{state=unknown}': 0 },
    faults: [],
  });
  // What does not match is for another metric.
  for (const load of ['12.5 %', 'much']) {
    expect(mapFields(metrics.slice(0, 1), { load })).toMatchObject({ samples: {}, faults: [] });
  }
});

test('null_values and null_when look at the whole text and at the part of it that a pattern takes', () => {
  const pattern = '^(?P<value>[^;]+);?';
  const metrics = [
    { name: 'a', value: 'x', pattern, null_values: ['-1'] },
    { name: 'b', value: 'x', pattern, null_values: ['-1;whole'] },
    { name: 'c', value: 'x', pattern, null_when: { values: ['-1'], fields: { y: [] } } },
  ];
  expect(mapFields(metrics, { x: '-1;whole', y: '' })).toEqual({ isFound: true, samples: {}, faults: [] });
  expect(mapFields(metrics, { x: '2;whole', y: '' })).toMatchObject({ samples: { a: 2, b: 2, c: 2 }, faults: [] });
});

test('a factor and an offset are applied to a number, and add no digits', () => {
  const [factor, offset] = [{ factor: 0.1 }, { factor: 1.8, offset: 32 }];
  const metrics = [
    { name: 'a', value: 'tenths', ...factor },
    { name: 'b', value: 'celsius', ...offset },
    { name: 'c', value: 'kilo', unit: 'W', factor: -2 },
    { name: 'd', value: 'vast', factor: 1e300 },
  ];
  expect(mapFields(metrics, { tenths: '3', celsius: '21.5', kilo: '1 kW', vast: '1e200' })).toEqual({
    isFound: true,
    samples: { a: 0.3, b: 70.7, c: -2000 },
    faults: ['d not_finite'],
  });
});

test('a bit is read from a whole number, in hexadecimal too', () => {
  const metrics = [0, 1, 2, 36].map((bit) => ({ name: `b${bit}`, value: 'flags', bit }));
  expect(mapFields(metrics, { flags: '0x1000000006' }).samples).toEqual({ b0: 0, b1: 1, b2: 1, b36: 1 });
  expect(mapFields(metrics, { flags: 5 }).samples).toEqual({ b0: 1, b1: 0, b2: 1, b36: 0 });
  const plain = [{ name: 'a', value: 'flags', form: 'hexadecimal', bit: 4 }];
  expect(mapFields(plain, { flags: '1f' }).samples).toEqual({ a: 1 });
  for (const flags of ['1.5', '-1', '0xffffffffffffffff']) {
    expect(mapFields(metrics.slice(0, 1), { flags }).faults).toEqual(['b0 unknown_form']);
  }
});

test('a fault names the module and never the value', () => {
  const document = { status: { unique: { field: 'my-secret' } } };
  expect(JSON.stringify(mapRows([METRIC], document))).not.toContain('my-secret');
});

test('control characters around and within a value are blanks', () => {
  expect(mapFields([{ ...METRIC, unit: 'V' }], { field: '\u000023.75\t\r\nV\u0085' }).samples).toEqual({ m: 23.75 });
});

test('null values have no sample; without any they are an empty text and dashes', () => {
  expect(mapFields([METRIC], { field: ' --- ' })).toMatchObject({ samples: {}, faults: [] });
  expect(mapFields([METRIC], { field: '' })).toMatchObject({ samples: {}, faults: [] });
  const metric = { ...METRIC, null_values: ['99', 'Not now'] };
  expect(mapFields([metric], { field: 99 })).toMatchObject({ samples: {}, faults: [] });
  expect(mapFields([metric], { field: 'Not now' })).toMatchObject({ samples: {}, faults: [] });
  expect(mapFields([metric], { field: '---' }).faults).toEqual(['m unknown_form']);
});

test('an ambiguous text is a value when another field of its row says something, and none when all are blank', () => {
  const metric = { ...METRIC, null_when: { values: ['0'], fields: { signal: ['99'], cell: ['0'] } } };
  const samples = (fields: object) => mapFields([metric], { field: '0', ...fields }).samples;
  expect(samples({ signal: '12', cell: '0' })).toEqual({ m: 0 });
  expect(samples({ SIGNAL: 99, cell: 'a3f' })).toEqual({ m: 0 });
  expect(samples({ signal: '99', cell: '0' })).toEqual({});
  expect(samples({ signal: '---', cell: null })).toEqual({});
  expect(samples({})).toEqual({});
  expect(mapFields([metric], { field: '7', signal: '99', cell: '0' }).samples).toEqual({ m: 7 });
  expect(mapFields([metric], { field: '', signal: '12' })).toMatchObject({ samples: {}, faults: [] });
});

test('map gives texts their values, by the exact text or else without regard to case', () => {
  const metric = { ...METRIC, map: { up: 1, Up: 3, down: 0 } };
  const value = (field: unknown) => mapFields([metric], { field }).samples['m'];
  expect([value('up'), value('Up'), value('UP'), value('down'), value(' DOWN ')]).toEqual([1, 3, 1, 0, 0]);
  expect(mapFields([metric], { field: 'sideways' }).faults).toEqual(['m unknown_text']);
  expect(mapFields([metric], { field: 'constructor' }).faults).toEqual(['m unknown_text']);
});

test.for<[string, string, object]>([
  ['a number', '1', { map: { up: 1, down: 0 } }],
  ['a quantity', '12 mA', { unit: 'V' }],
  ['a percentage', '45 %', { form: 'number' }],
  ['a duration', '3 days, 04:05', { unit: 'V' }],
  ['a date', '2026-11-21 09:00:00', { form: 'duration' }],
  ['a list', '0.1 0.2', { form: 'list', part: 3 }],
  ['a fraction', '1 / 2', { form: 'percentage' }],
])('%s that the only metric of its field does not read is a fault', ([_what, field, keys]) => {
  expect(mapFields([{ ...METRIC, ...keys }], { field })).toMatchObject({ samples: {}, faults: ['m other_form'] });
});

test('a value of another form is no fault when another metric reads the field, or takes it for nothing', () => {
  const metric = { ...METRIC, map: { high: 1 } };
  const faults = (other: object, field: unknown) =>
    mapFields([metric, { name: 'n', value: 'Field', ...other }], { field }).faults;
  expect(faults({ unit: 'V' }, '23.75 V')).toEqual([]);
  expect(faults({ value: 'f*d', unit: 'V', labels: { n: '$match' } }, '23.75 V')).toEqual([]);
  expect(faults({ type: 'stateset', states: ['1'] }, '1')).toEqual([]);
  expect(faults({ null_values: ['99'] }, '99')).toEqual([]);
  expect(faults({ pattern: '^(?P<value>[0-9]+) V$' }, '23 V')).toEqual([]);
});

test('a value of another form is a fault when other metrics read other fields, rows or texts, or only make a label of it', () => {
  const metric = { ...METRIC, map: { high: 1 } };
  const faults = (other: object) => mapFields([metric, { name: 'n', ...other }], { field: '1', other: '1' }).faults;
  expect(faults({ value: 'other' })).toEqual(['m other_form']);
  expect(faults({ ...METRIC, name: 'n', unit: 'V', pattern: '^(?P<value>[0-9]+) V$' })).toEqual(['m other_form']);
  expect(faults({ type: 'info', labels: { field: 'field' } })).toEqual(['m other_form']);
  expect(faults({ value: 'field', type: 'stateset', states: ['on'] })).toEqual(['m other_form', 'n unknown_state']);
  const rows = [{ field: '1' }, { field: 'high' }];
  const both = [metric, { ...METRIC, name: 'n', map: { high: 2 } }];
  const mapped = mapRows(both, { status: { list: rows } }, { each: 'status.list', labels: { row: '$index' } });
  expect(mapped.faults).toEqual(['m other_form', 'n other_form']);
});

test('each field that a star takes is left to the metrics that read this one', () => {
  const metrics = [
    { name: 'volts', value: 'in_*', unit: 'V', labels: { n: '$match' } },
    { name: 'amperes', value: 'in_*', unit: 'A', labels: { n: '$match' } },
  ];
  expect(mapFields(metrics, { in_1: '5 V', IN_2: '20 mA', in_3: '7 %' })).toMatchObject({
    samples: { 'volts{n=1}': 5, 'amperes{n=2}': 0.02 },
    faults: ['volts other_form', 'amperes other_form'],
  });
});

test('a value is left to metrics of another resource of the module with the same rows', () => {
  const read = (form: string) => ({ path: 'lte2', metrics: [{ ...METRIC, form }] });
  const [module] = compileModules([toModule('test', { resources: [read('number'), read('percentage')] })]);
  const faultsOf = (field: string) =>
    mapDocument(module?.resources ?? [], { status: { unique: { field } } }, CONTEXT).faults;
  expect(faultsOf('45 %')).toEqual([]);
  expect(faultsOf('0.1 0.2')).toHaveLength(2);
});

test('a value is not left to a metric that is not for the router', () => {
  const metrics = [
    { ...METRIC, unit: 'V' },
    { name: 'n', value: 'field', unit: 'A', when: { firmware: '>=9' } },
  ];
  const faultsOf = (firmware: string) =>
    mapOne({ metrics }, { status: { unique: { field: '12 mA' } } }, { device: { firmware, boards: [] } }).faults;
  expect(faultsOf('9.5')).toEqual([]);
  expect(faultsOf('6.1')).toEqual([{ module: 'test', metric: 'm', reason: 'other_form' }]);
});

test('a star in map is any other text', () => {
  const metric = { ...METRIC, map: { OK: 1, '*': 0 } };
  const value = (field: unknown) => mapFields([metric], { field }).samples['m'];
  expect([value('OK'), value('worn out'), value('12'), value(true), value('')]).toEqual([1, 0, 0, 0, undefined]);
});

test('several metrics of one name are one family, each with the forms that it knows', () => {
  const metrics = [
    { name: 'load', value: 'load', form: 'list', part: 1 },
    { name: 'load', value: 'load', form: 'number' },
    { name: 'ratio', value: 'load', form: 'percentage' },
  ];
  expect(mapFields(metrics, { load: '0.1 0.2 0.3' })).toMatchObject({ samples: { load: 0.1 }, faults: [] });
  expect(mapFields(metrics, { load: '0.4' })).toMatchObject({ samples: { load: 0.4 }, faults: [] });
  expect(mapFields(metrics, { load: '40 %' })).toMatchObject({ samples: { ratio: 0.4 }, faults: [] });
  expect(mapFields(metrics, { load: 'idle' }).faults).toHaveLength(3);
});

test('dates are read in the zone of the router and with the time of reading', () => {
  const metrics = [
    { ...METRIC, form: 'date' },
    { name: 'offset', value: 'field', form: 'clock_offset' },
  ];
  expect(mapFields(metrics, { field: '2026-11-21 09:00:05' }).samples).toEqual({ m: 1_795_248_005, offset: 5 });
  const document = { status: { unique: { field: '2026-11-21 09:00:05' } } };
  const unzoned = mapOne({ metrics: metrics.slice(1) }, document, { zone: undefined });
  expect(unzoned).toMatchObject({ families: [], faults: [] });
});

test('a counter is never negative', () => {
  const metrics = [{ ...METRIC, name: 'm_total', type: 'counter' }, METRIC];
  expect(mapFields(metrics, { field: '-1' })).toMatchObject({ samples: { m: -1 }, faults: ['m_total negative'] });
});

test('a star in the name of a field takes each field that fits, and $match is what it stood for', () => {
  const metric = { name: 'm', value: 'input_*', labels: { channel: '$match' } };
  const fields = { input_1: '1', Input_A: '2', input_: '3', output_1: '4', xinput_1: '5', input_2_b: null };
  expect(mapFields([metric], fields).samples).toEqual({ 'm{channel=1}': 1, 'm{channel=A}': 2 });
  const middle = { ...metric, value: 'in_*_v' };
  expect(mapFields([middle], { in_7_v: '1', in_v: '2', in__v: '3', in_7: '4' }).samples).toEqual({ 'm{channel=7}': 1 });
});

test('a star stands for no more fields than any device has', () => {
  const fields = Object.fromEntries(Array.from({ length: 100 }, (_none, index) => [`input_${index}`, '1']));
  const { samples, faults } = mapFields([{ name: 'm', value: 'input_*', labels: { channel: '$match' } }], fields);
  expect(Object.keys(samples)).toHaveLength(64);
  expect(faults).toEqual(['m too_many']);
});

test('a state set has one sample per state and one for those that are unknown', () => {
  const metric = {
    name: 's',
    type: 'stateset',
    value: 'state',
    states: ['Offline', 'Online'],
    labels: { modem: '$resource' },
  };
  expect(mapFields([metric], { state: 'Online' })).toMatchObject({
    samples: { 's{modem=lte2,state=Offline}': 0, 's{modem=lte2,state=Online}': 1, 's{modem=lte2,state=unknown}': 0 },
    faults: [],
  });
});

test('an unexpected state is unknown, and a fault', () => {
  const metric = { name: 's', type: 'stateset', value: 'state', states: ['Online'], state_label: 'mode' };
  expect(mapFields([metric], { state: 'Dancing' })).toMatchObject({
    samples: { 's{mode=Online}': 0, 's{mode=unknown}': 1 },
    faults: ['s unknown_state'],
  });
});

test('states are compared exactly, else without regard to case', () => {
  const metric = { name: 's', type: 'stateset', value: 'state', states: ['Up', 'up', 'Down'] };
  const on = (state: string) =>
    Object.entries(mapFields([metric], { state }).samples).filter(([, value]) => value === 1);
  expect(['Up', 'up', 'UP', 'down'].map((state) => on(state).map(([name]) => name))).toEqual([
    ['s{state=Up}'],
    ['s{state=up}'],
    ['s{state=Up}'],
    ['s{state=Down}'],
  ]);
});

test('a state set whose field is absent or unknown has no samples', () => {
  const metric = { name: 's', type: 'stateset', value: 'state', states: ['Online'] };
  for (const fields of [{}, { state: '' }, { state: null }, { state: '---' }]) {
    expect(mapFields([metric], fields)).toEqual({ isFound: true, samples: {}, faults: [] });
  }
});

test('$count is the number of rows, whatever is in them, also beyond those that are looked at', () => {
  const metric = {
    name: 'n',
    value: '$count',
    labels: { slot: '$slot', place: '=here', index: '$index', field: 'name' },
  };
  const count = (list: unknown) => mapRows([metric], { status: { list } }, { each: 'status.list' });
  expect(count([{ name: 'a' }, { name: 'b' }])).toEqual({
    isFound: true,
    samples: { 'n{slot=2,place=here}': 2 },
    faults: [],
  });
  expect(count([]).samples).toEqual({ 'n{slot=2,place=here}': 0 });
  expect(count(Array.from({ length: 300 }, () => ({})))).toMatchObject({
    samples: { 'n{slot=2,place=here}': 300 },
    faults: [],
  });
  expect(count(undefined)).toEqual({ isFound: false, samples: {}, faults: [] });
});
