import { expect, test } from 'vitest';
import { compileModules, mapDocument } from '../../../src/status/index.ts';
import { toModule } from '../shipped-modules.ts';
import { CONTEXT, compileResource, mapFields, mapOne, mapRows } from './mapping-bench.ts';

const METRIC = { name: 'm', value: 'v' };
const LABELLED = { ...METRIC, labels: { index: '$index' } };

test.for<[string, unknown, object]>([
  ['status.unique', { status: { unique: { v: 1 } } }, { 'm{index=1}': 1 }],
  ['status.list', { status: { list: [{ v: 1 }, { v: 2 }] } }, { 'm{index=1}': 1, 'm{index=2}': 2 }],
  ['status.list[]', { status: { list: [{ v: 1 }] } }, { 'm{index=1}': 1 }],
  [
    'status.list[].sublist',
    { status: { list: [{ sublist: [{ v: 1 }] }, {}, { sublist: [{ v: 1 }, { v: 3 }] }] } },
    { 'm{index=1}': 1, 'm{index=2}': 3 },
  ],
  ['status.list[].more.rows', { status: { list: [{ more: { rows: [{ v: 1 }] } }] } }, { 'm{index=1}': 1 }],
  ['a[].b[].c', { a: [{ b: [{ c: [{ v: 1 }] }] }] }, { 'm{index=1}': 1 }],
  ['profiles', { profiles: [{ v: true }] }, { 'm{index=1}': 1 }],
  ['config', { config: { v: '7' } }, { 'm{index=1}': 7 }],
  ['Status.LIST', { status: { list: [{ v: 1 }] } }, { 'm{index=1}': 1 }],
])('the rows of %s are found in %j', ([each, document, samples]) => {
  expect(mapRows([LABELLED], document, { each })).toEqual({ isFound: true, samples, faults: [] });
});

test.for<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'status'],
  ['a list', [{ status: { list: [] } }]],
  ['another object', { error: [{ status: 'x' }] }],
  ['a text instead of a list', { status: { list: 'x' } }],
  ['what it inherits', JSON.parse('{"__proto__": {"status": {"list": []}}}')],
  ['only single values', { status: { unique: {} } }],
])('a document that is %s has no rows', ([_what, document]) => {
  expect(mapRows([METRIC], document, { each: 'status.list' })).toEqual({ isFound: false, samples: {}, faults: [] });
});

test('an empty list, and rows without a sublist, are a document like any other', () => {
  expect(mapRows([METRIC], { status: { list: [] } }, { each: 'status.list' }).isFound).toBe(true);
  expect(mapRows([METRIC], { status: { list: [{}] } }, { each: 'status.list[].sublist' }).isFound).toBe(true);
});

test('what is no row is left out, and the others keep their places', () => {
  const document = { status: { list: [null, 'x', [{ v: 1 }], { v: 2 }] } };
  expect(mapRows([LABELLED], document, { each: 'status.list' }).samples).toEqual({ 'm{index=4}': 2 });
});

test('a list is examined up to a bound, and exceeding it is a fault', () => {
  const list = Array.from({ length: 300 }, (_none, index) => ({ v: index }));
  const { samples, faults } = mapRows([LABELLED], { status: { list } }, { each: 'status.list' });
  expect(Object.keys(samples)).toHaveLength(256);
  expect(faults).toEqual(['m too_many']);
});

test('all lists of a document together are bounded', () => {
  const sublist = Array.from({ length: 256 }, (_none, index) => ({ v: index }));
  const list = Array.from({ length: 5 }, (_none, index) => ({ name: `n${index}`, sublist }));
  const metric = { ...METRIC, labels: { of: '..name', index: '$index' } };
  const { samples, faults } = mapRows([metric], { status: { list } }, { each: 'status.list[].sublist' });
  expect(Object.keys(samples)).toHaveLength(1024);
  expect(faults).toEqual(['m too_many']);
});

test('the samples of a document are bounded, and so are its faults', () => {
  const fields = Object.fromEntries(Array.from({ length: 64 }, (_none, index) => [`v${index}`, '1']));
  const list = Array.from({ length: 256 }, () => fields);
  const metric = { name: 'm', value: 'v*', labels: { field: '$match', index: '$index' } };
  const { samples, faults } = mapRows([metric], { status: { list } }, { each: 'status.list' });
  expect(Object.keys(samples)).toHaveLength(8192);
  expect(faults).toEqual(Array.from({ length: 256 }, () => 'm too_many'));
});

test('labels come from fields, the resource, its slot, the place of the row, and fixed texts', () => {
  const labels = { a: 'name', b: '$resource', c: '$slot', d: '$index', e: '=fixed text', f: '$other', g: 'NAME' };
  const { samples } = mapFields([{ ...METRIC, labels }], { v: 1, name: 'n', $other: 'odd' });
  expect(samples).toEqual({ 'm{a=n,b=lte2,c=2,d=1,e=fixed text,f=odd,g=n}': 1 });
});

test.for([
  ['lte2', '2'],
  ['lte_serial12', '12'],
  ['dsl5/status', '5'],
  ['sysstat/wan', undefined],
  ['wan/lte2', undefined],
])('the slot of %s is %s', ([resource = '', slot]) => {
  const written = { metrics: [{ ...METRIC, labels: { slot: '$slot' } }] };
  const { families } = mapOne(written, { status: { unique: { v: 1 } } }, { resource });
  expect(families[0]?.samples).toEqual([{ labels: slot ? { slot } : {}, value: 1 }]);
});

test('labels of a metric go before those of its resource', () => {
  const rest = { labels: { a: '=resource', b: '=resource' } };
  expect(mapFields([{ ...METRIC, labels: { b: '=metric' } }], { v: 1 }, rest).samples).toEqual({
    'm{a=resource,b=metric}': 1,
  });
});

test('labels are trimmed, without control characters, and left out when empty or not chosen', () => {
  const labels = { a: 'a', b: 'b', c: 'c', d: 'd', e: 'e' };
  const fields = { v: 1, a: ' x\u0000y\n', b: '  ', c: '---', d: null, e: 7 };
  expect(mapFields([{ ...METRIC, labels }], fields).samples).toEqual({ 'm{a=x y,e=7}': 1 });
});

test.for<[unknown, string]>([
  ['x'.repeat(513), 'too_long'],
  [['x'], 'not_plain'],
])('a label of %j is a fault, and its row has no sample', ([name, reason]) => {
  expect(mapFields([{ ...METRIC, labels: { name: 'name' } }], { v: 1, name })).toMatchObject({
    samples: {},
    faults: [`m ${reason}`],
  });
});

test('half a character in a label is made whole', () => {
  expect(mapFields([{ ...METRIC, labels: { name: 'name' } }], { v: 1, name: 'a\ud800' }).samples).toEqual({
    'm{name=a\ufffd}': 1,
  });
});

test('..field is a field of the row around, or of the single values next to a list', () => {
  const metric = { ...METRIC, labels: { of: '..name' } };
  const sub = { status: { unique: { name: 'no' }, list: [{ name: 'net1', sublist: [{ v: 1, name: 'no' }] }] } };
  expect(mapRows([metric], sub, { each: 'status.list[].sublist' }).samples).toEqual({ 'm{of=net1}': 1 });
  const list = { status: { unique: { name: 'wan1' }, list: [{ v: 1, name: 'no' }] } };
  expect(mapRows([metric], list, { each: 'status.list' }).samples).toEqual({ 'm{of=wan1}': 1 });
  expect(mapRows([metric], { rows: [{ v: 1 }], name: 'top' }, { each: 'rows' }).samples).toEqual({
    'm{of=top}': 1,
  });
  expect(mapRows([metric], { status: { list: [{ v: 1 }] } }, { each: 'status.list' }).samples).toEqual({ m: 1 });
});

test('info is 1 with what the fields say, and nothing when they say nothing', () => {
  const metric = { name: 'm_info', type: 'info', labels: { a: 'a', b: 'b', fixed: '=x' } };
  expect(mapFields([metric], { a: '1' }).samples).toEqual({ 'm_info{a=1,fixed=x}': 1 });
  expect(mapFields([metric], { a: '', b: '---' })).toMatchObject({ samples: {}, faults: [] });
  expect(mapFields([metric], {})).toMatchObject({ samples: {}, faults: [] });
});

test('info says nothing when only the labels of its resource have something', () => {
  const metric = { name: 'm_info', type: 'info', labels: { address: 'address' } };
  const rest = { labels: { interface: 'name' } };
  expect(mapFields([metric], { name: 'net1' }, rest).samples).toEqual({});
  expect(mapFields([{ ...metric, labels: {} }], { name: 'net1' }, rest).samples).toEqual({
    'm_info{interface=net1}': 1,
  });
  expect(mapFields([{ ...metric, labels: { x: '=y' } }], {}, {}).samples).toEqual({ 'm_info{x=y}': 1 });
});

test('null values of info are texts that its labels do not have', () => {
  const metric = { name: 'm_info', type: 'info', null_values: ['0'], labels: { a: 'a', b: 'b' } };
  expect(mapFields([metric], { a: '0', b: '1' }).samples).toEqual({ 'm_info{b=1}': 1 });
  const gauge = { ...METRIC, null_values: ['0'], labels: { a: 'a' } };
  expect(mapFields([gauge], { v: 1, a: '0' }).samples).toEqual({ 'm{a=0}': 1 });
});

test('of two rows that make the same series the first one stays, and the other one is a fault', () => {
  const list = [
    { name: 'net1', v: '1' },
    { name: 'net2', v: '2' },
    { name: 'net2', v: '3' },
  ];
  const metric = { ...METRIC, labels: { interface: 'name' } };
  expect(mapRows([metric], { status: { list } }, { each: 'status.list' })).toEqual({
    isFound: true,
    samples: { 'm{interface=net1}': 1, 'm{interface=net2}': 2 },
    faults: ['m duplicate'],
  });
});

test('a row that says the same as another one loses nothing, and is no fault', () => {
  const list = [
    { name: 'net2', v: '2' },
    { name: 'net2', v: '2' },
  ];
  const metric = { ...METRIC, labels: { interface: 'name' } };
  const { samples, faults } = mapRows([metric], { status: { list } }, { each: 'status.list' });
  expect([samples, faults]).toEqual([{ 'm{interface=net2}': 2 }, []]);
});

test('two states of one series are one fault, not one for each state', () => {
  const list = [{ v: 'up' }, { v: 'down' }];
  const metric = { ...METRIC, type: 'stateset', states: ['up', 'down'] };
  const { samples, faults } = mapRows([metric], { status: { list } }, { each: 'status.list' });
  expect(samples).toEqual({ 'm{state=up}': 1, 'm{state=down}': 0, 'm{state=unknown}': 0 });
  expect(faults).toEqual(['m duplicate']);
});

test('two definitions of one name are alternatives, of which the first that has a value is used', () => {
  const metrics = [
    { ...METRIC, value: 'SNR' },
    { ...METRIC, value: 'SINR' },
  ];
  expect(mapFields(metrics, { SNR: '7', SINR: '8' })).toEqual({ isFound: true, samples: { m: 7 }, faults: [] });
  expect(mapFields(metrics, { SINR: '8' })).toEqual({ isFound: true, samples: { m: 8 }, faults: [] });
});

test('a series of two modules is that of the first one, and a fault of the other unless both say the same', () => {
  const map = (...modules: (readonly [name: string, value: string])[]) => {
    const compiled = compileModules(
      modules.map(([name, value]) =>
        toModule(name, { resources: [{ path: 'lte2', metrics: [{ name: 'm', value }] }] }),
      ),
    );
    const resources = compiled.flatMap((module) => module.resources);
    return mapDocument(resources, { status: { unique: { a: 1, b: 2 } } }, CONTEXT);
  };
  const merged = map(['one', 'a'], ['other', 'b']);
  expect(merged.families).toMatchObject([{ name: 'm', samples: [{ value: 1 }] }]);
  expect(merged.faults).toEqual([{ module: 'other', metric: 'm', reason: 'duplicate' }]);
  expect(map(['one', 'a'], ['other', 'a']).faults).toEqual([]);
  // Two shapes of one module.
  expect(map(['one', 'a'], ['one', 'b']).faults).toEqual([]);
});

test('a label from the row around comes from the row itself where that one does not have it, and not where it is empty', () => {
  const metric = { ...METRIC, labels: { chain: '..name' } };
  const inside = { status: { list: [{ name: 'wan1', v: 1 }] } };
  const beside = { status: { unique: { name: 'wan1' }, list: [{ name: 'x', v: 1 }] } };
  for (const document of [inside, beside]) {
    expect(mapRows([metric], document, { each: 'status.list' }).samples).toEqual({ 'm{chain=wan1}': 1 });
  }
  const sub = (around: object) => ({ status: { list: [{ ...around, sublist: [{ v: 1, name: 'own' }] }] } });
  const each = 'status.list[].sublist';
  expect(mapRows([metric], sub({}), { each }).samples).toEqual({ 'm{chain=own}': 1 });
  for (const name of ['', '---', null]) {
    expect(mapRows([metric], sub({ name }), { each }).samples).toEqual({ m: 1 });
  }
});

test('rows whose values differ in being there make one series', () => {
  const document = {
    status: {
      list: [
        { v: 1, name: 'a', x: 'p' },
        { v: 2, name: 'b' },
        { v: 3, name: 'a', x: 'p' },
      ],
    },
  };
  const metrics = [
    { ...METRIC, labels: { name: 'name', x: 'x' } },
    { ...METRIC, labels: { x: 'x', name: 'name' }, null_values: ['2', '3'] },
  ];
  const { families } = mapOne({ each: 'status.list', metrics }, document);
  expect(families).toHaveLength(1);
  expect(families[0]?.samples).toEqual([
    { labels: { x: 'p', name: 'a' }, value: 1 },
    { labels: { name: 'b' }, value: 2 },
  ]);
});

test('coversField() knows the fields of values and labels, also by a star and of the row around', () => {
  const resource = compileResource({
    labels: { interface: 'Name' },
    metrics: [
      { name: 'a', value: 'bytes_rx' },
      { name: 'b', value: 'input_*', labels: { of: '..chain' } },
      { name: 'c_info', type: 'info', labels: { x: 'address' } },
      { name: 'd', value: '$count' },
    ],
  });
  const covered = ['bytes_rx', 'BYTES_RX', 'name', 'input_1', 'address', 'chain', 'input_', '$count', 'mac'].filter(
    (name) => resource.coversField(name),
  );
  expect(covered).toEqual(['bytes_rx', 'BYTES_RX', 'name', 'input_1', 'address']);
  expect([resource.coversField('chain', 1), resource.coversField('name', 1)]).toEqual([true, false]);
});
