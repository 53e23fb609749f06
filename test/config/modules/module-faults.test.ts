import { describe, expect, it } from 'vitest';
import { load } from '../configuration-folder.ts';
import { configOf, GAUGE, metricFaults, moduleFaults, moduleOf } from './module-text.ts';

const PATH = 'the path of a resource, such as lte2, lte*, sysdetail/system or /profiles';
const SOURCE =
  'where the label comes from: a field, "..field" of the row around, "@field" of the joined row, $resource, $slot, $index, $match, or a fixed text after "="';
const STEPS = 'steps to the rows such as status.unique, status.list or status.list[].sublist';
const METRIC = 'modules.m.resources[0].metrics[0]';

describe('loadConfig() on keys of a module', () => {
  it('points at a misspelt key at every level and names the nearest one', async () => {
    const lines = await moduleFaults(`intervall: 30s
resources:
- path: x
  optinal: true
  metrics: [{ ${GAUGE}, unt: V }]`);
    expect(lines).toEqual([
      '3:5: modules.m.intervall: Unknown key; did you mean "interval"?',
      '6:7: modules.m.resources[0].optinal: Unknown key; did you mean "optional"?',
      `7:68: ${METRIC}.unt: Unknown key; did you mean "unit"?`,
    ]);
  });

  it.each(['reader: configuration', 'default: true'])('refuses "%s", which only shipped modules have', async (line) => {
    const lines = await moduleFaults(`resources: [{ path: x, metrics: [] }]\n${line}`);
    expect(lines).toEqual([
      expect.stringMatching(
        /^4:5: modules\.m\.\w+: Unknown key; valid here: help, interval, min_interval, identity, resources$/,
      ),
    ]);
  });

  it('points at what is missing', async () => {
    expect(await moduleFaults('resources: [{ metrics: [{ }] }, { path: x }]')).toEqual([
      `3:17: modules.m.resources[0].path: Missing key; expected ${PATH}`,
      `3:29: ${METRIC}.name: Missing key; expected the name of a metric: letters, digits and "_", beginning with a letter`,
      `3:29: ${METRIC}.help: Missing key; expected a text of at most 500 characters`,
      `3:29: ${METRIC}.type: Missing key; expected "gauge", "counter", "info" or "stateset"`,
      '3:37: modules.m.resources[1].metrics: Missing key; expected a list of at most 200 metrics',
    ]);
  });

  it('refuses interval and min_interval together', async () => {
    const lines = await moduleFaults('interval: 30s\nmin_interval: 1m\nresources: [{ path: x, metrics: [] }]');
    expect(lines).toEqual([
      '4:5: modules.m.min_interval: Both "interval" and "min_interval" are set; keep one of them',
    ]);
  });

  it.each(['default', 'a b', '.', '"!a"', 'ä'])('refuses the module name %s', async (name) => {
    const { lines } = await load(configOf(moduleOf(name)));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^router-exporter\.yaml:2:3: modules\.\S*: Expected a name .*; found "/);
  });

  it('refuses what is no map of modules', async () => {
    const router = 'routers: [{ name: a, url: "http://a", auth: none }]';
    expect((await load(`modules: [default]\n${router}`)).lines).toEqual([
      'router-exporter.yaml:1:10: modules: Expected a map of names and modules; found a list of 1',
    ]);
    expect((await load(`modules: { a: 7 }\n${router}`)).lines).toEqual([
      'router-exporter.yaml:1:15: modules.a: Expected a map of keys; found the number 7',
    ]);
  });

  it('refuses more resources and metrics than a module may have', async () => {
    const metrics = Array.from({ length: 201 }, (_, index) => `{ name: x${index}, help: X, type: gauge, value: x }`);
    expect(await moduleFaults(`resources: [{ path: x, metrics: [${metrics.join(', ')}] }]`)).toEqual([
      '3:37: modules.m.resources[0].metrics: Expected a list of at most 200 metrics; found a list of 201',
    ]);
    const resources = Array.from({ length: 101 }, () => '{ path: x, metrics: [] }');
    expect(await moduleFaults(`resources: [${resources.join(', ')}]`)).toEqual([
      '3:16: modules.m.resources: Expected a list of 1 to 100 resources; found a list of 101',
    ]);
    expect(await moduleFaults('resources: []')).toEqual([
      '3:16: modules.m.resources: Expected a list of 1 to 100 resources; found an empty list',
    ]);
  });

  it('refuses more than 100 modules, at the first that is too many', async () => {
    const modules = Array.from({ length: 102 }, (_, index) => moduleOf(`m${index}`));
    const { lines } = await load(configOf(modules.join('\n')));
    expect(lines).toEqual(['router-exporter.yaml:102:3: modules.m100: There are more than 100 modules']);
  });

  it('reports the faults of all modules at once, in the order of the file', async () => {
    const { lines } = await load(
      configOf(`a: { resources: [{ path: "a b", metrics: [{ ${GAUGE}, part: 1 }] }] }
b: { resources: [7, { path: x, metrics: [nothing, { ${GAUGE}_total }] }] }
c: nothing`),
    );
    expect(lines.map((line) => line.split(': ').slice(0, 2).join(' ').replace('router-exporter.yaml:', ''))).toEqual([
      '2:28 modules.a.resources[0].path',
      '2:102 modules.a.resources[0].metrics[0].part',
      '3:20 modules.b.resources[0]',
      '3:44 modules.b.resources[1].metrics[0]',
      '4:6 modules.c',
    ]);
  });
});

describe('loadConfig() on resources of a module', () => {
  it.each([
    '""',
    '*',
    '*lte',
    'lte*2',
    'lte**',
    'a*/b*',
    'a/b*',
    'a b',
    'a/',
    'a//b',
    '/lte*',
    '/',
    'a?b=1',
    '/a?b',
    '../a',
    'a.b',
  ])('refuses the path %s', async (path) => {
    const [line, ...rest] = await moduleFaults(
      `resources: [{ path: ${JSON.stringify(path)}, each: a.list, metrics: [] }]`,
    );
    expect(line).toMatch(`3:25: modules.m.resources[0].path: Expected ${PATH}; found`);
    expect(rest).toEqual([]);
  });

  it.each([
    'status.list[]',
    'status..list',
    '.list',
    'status.',
    'a b',
    'list[0]',
    '[].a',
    'a[][].b',
    'a.b.c.d.e.f.g.h.i',
  ])('refuses the rows %s', async (each) => {
    expect(await moduleFaults(`resources: [{ path: x, each: "${each}", metrics: [] }]`)).toEqual([
      `3:34: modules.m.resources[0].each: Expected ${STEPS}; found "${each}"`,
    ]);
  });

  it('asks for the rows of a path below the root', async () => {
    expect(await moduleFaults('resources: [{ path: /profiles, metrics: [] }]')).toEqual([
      '3:17: modules.m.resources[0].each: Missing key; expected where the rows are, because "path" begins with "/"',
    ]);
  });

  it.each([
    ['$slots', '; did you mean "$slot"?'],
    ['$', ''],
    ['$name', ''],
    ['a b', ''],
    ['a.b', ''],
    ['..', ''],
    ['...a', ''],
    ['', ''],
  ])('refuses the label source "%s"', async (source, nearest) => {
    const where = 'modules.m.resources[0].labels.l';
    expect(await moduleFaults(`resources: [{ path: x, labels: { l: "${source}" }, metrics: [] }]`)).toEqual([
      `3:41: ${where}: Expected ${SOURCE}; found "${source}"${nearest}`,
    ]);
  });

  it.each(['router', 'le', 'quantile', '__name', '9a', 'a-b', 'a b', 'x'.repeat(129)])(
    'refuses the label %s of a resource, a metric and a state set',
    async (label) => {
      const quoted = JSON.stringify(label);
      const lines = [
        ...(await moduleFaults(`resources: [{ path: x, labels: { ${quoted}: x }, metrics: [] }]`)),
        ...(await metricFaults(`${GAUGE}, labels: { ${quoted}: x }`)),
        ...(await metricFaults(`name: x, help: X, type: stateset, value: x, states: [a], state_label: ${quoted}`)),
      ];
      expect(lines).toHaveLength(3);
      for (const line of lines) expect(line).toMatch(/^\d:\d+: modules\.m\.\S+: Expected a label name .*; found "/);
    },
  );

  it('refuses more labels than a metric may have', async () => {
    const labels = Array.from({ length: 17 }, (_, index) => `l${index}: x`).join(', ');
    expect(await moduleFaults(`resources: [{ path: x, labels: { ${labels} }, metrics: [] }]`)).toEqual([
      '3:36: modules.m.resources[0].labels: Expected at most 16 labels; found a map',
    ]);
  });

  it('refuses a label from the row around where there is none', async () => {
    const message = '..name needs rows of a list, such as status.list or status.list[].sublist in "each"';
    expect(await metricFaults(`${GAUGE}, labels: { l: ..name }`)).toEqual([
      expect.stringContaining(`labels.l: ${message}`),
    ]);
    const lines = await moduleFaults('resources: [{ path: x, each: unique, labels: { l: ..name }, metrics: [] }]');
    expect(lines).toEqual([`3:55: modules.m.resources[0].labels.l: ${message}`]);
  });

  it.each(['x', 'sysstat/wan', 'dsl/2', '/profiles2a'])(
    'refuses $slot for the path %s, which has none',
    async (path) => {
      const lines = await moduleFaults(`resources: [{ path: ${path}, each: l, labels: { l: $slot }, metrics: [] }]`);
      expect(lines).toEqual([
        expect.stringMatching(
          /^3:\d+: modules\.m\.resources\[0\]\.labels\.l: \$slot needs a "path" whose first segment ends in a number or "\*"$/,
        ),
      ]);
    },
  );
});

describe('loadConfig() on metrics of a module', () => {
  const metric = (type: string, more: string) => metricFaults(`name: router_x, help: X., type: ${type}, ${more}`);

  it.each([
    ['gauge', '', ['value']],
    ['counter', '', ['value']],
    ['stateset', '', ['value', 'states']],
    ['info', '', ['labels']],
  ])('asks for what a %s needs', async (type, more, keys) => {
    const name = { counter: 'router_x_total', info: 'router_x_info' }[type] ?? 'router_x';
    expect(await metricFaults(`name: ${name}, help: X., type: ${type}${more}`)).toEqual(
      keys.map((key) => `6:9: ${METRIC}.${key}: Missing key; a metric of type "${type}" needs it`),
    );
  });

  it.each([
    ['gauge', 'states: [a]'],
    ['gauge', 'state_label: a'],
    ['counter', 'states: [a]'],
    ['stateset', 'unit: V'],
    ['stateset', 'form: number'],
    ['stateset', 'part: 1'],
    ['stateset', 'map: { a: 1 }'],
    ['info', 'unit: V'],
    ['info', 'map: { a: 1 }'],
    ['info', 'states: [a]'],
    ['info', 'good: 1'],
    ['counter', 'good: 1'],
    ['stateset', 'good: 1'],
  ])('refuses a %s with "%s"', async (type, line) => {
    const key = line.split(':')[0];
    const base = {
      gauge: 'name: x, help: X, type: gauge, value: f',
      counter: 'name: x_total, help: X, type: counter, value: f',
      stateset: 'name: x, help: X, type: stateset, value: f, states: [b]',
      info: 'name: x_info, help: X, type: info, labels: { a: b }',
    }[type];
    expect(await metricFaults(`${base}, ${line}`)).toEqual([
      expect.stringContaining(`${METRIC}.${key}: A metric of type "${type}" has no "${key}"`),
    ]);
  });

  it.each([
    ['label: "  "', 'Expected a short text on one line, not blank'],
    ['label: "a\\tb"', 'Expected a short text on one line, not blank'],
    [`label: ${'x'.repeat(25)}`, 'Expected a short text on one line, not blank, at most 24 characters'],
    ['label: 7', 'Expected a short text on one line, not blank'],
    ['good: 2', 'Expected a whole number from 0 to 1'],
    ['good: true', 'Expected a whole number from 0 to 1'],
  ])('refuses %s', async (line, message) => {
    const key = line.split(':')[0];
    expect(await metricFaults(`name: x, help: X, type: gauge, value: f, ${line}`)).toEqual([
      expect.stringContaining(`${METRIC}.${key}: ${message}`),
    ]);
  });

  it('takes a value of an info metric only with "null_when", and the other way round', async () => {
    const base = 'name: x_info, help: X, type: info, labels: { a: b }';
    const nullWhen = 'null_when: { values: [off], fields: { c: [""] } }';
    expect(await metricFaults(`${base}, value: f, ${nullWhen}`)).toEqual([]);
    const only = (key: string, other: string) =>
      expect.stringContaining(`${METRIC}.${key}: A metric of type "info" has "${key}" only with "${other}"`);
    expect(await metricFaults(`${base}, value: f`)).toEqual([only('value', 'null_when')]);
    expect(await metricFaults(`${base}, ${nullWhen}`)).toEqual([only('null_when', 'value')]);
    expect(
      await metricFaults(`name: x_info, help: X, type: info, labels: { a: $match }, value: f*, ${nullWhen}`),
    ).toEqual([expect.stringContaining(`${METRIC}.value: A metric of type "info" reads one field`)]);
  });

  it('refuses an info metric whose labels are empty', async () => {
    expect(await metricFaults('name: x_info, help: X, type: info, labels: {}')).toEqual([
      `6:54: ${METRIC}.labels: Expected at least one label, because they are all that an info metric says`,
    ]);
  });

  it.each(['9a', '_a', 'a:b', 'a-b', 'a b', 'ä', '', 'x'.repeat(129)])('refuses the metric name "%s"', async (name) => {
    const lines = await metricFaults(`name: "${name}", help: X, type: gauge, value: x`);
    expect(lines).toEqual([expect.stringMatching(/^6:17: \S+\.name: Expected the name of a metric: /)]);
  });

  it.each(['router_exporter_x', 'process_x', 'nodejs_x', 'go_x', 'scrape_x'])(
    'refuses the metric name %s, which begins as those of others do',
    async (name) => {
      const prefix = /^(router_exporter|[a-z]+)_/.exec(name)?.[0];
      expect(await metricFaults(`name: ${name}, help: X, type: gauge, value: x`)).toEqual([
        `6:17: ${METRIC}.name: The names that begin with "${prefix}" belong to others; choose another one`,
      ]);
    },
  );

  it('refuses the metric name up, which Prometheus gives every target', async () => {
    expect(await metricFaults('name: up, help: X, type: gauge, value: x')).toEqual([
      `6:17: ${METRIC}.name: The name "up" belongs to Prometheus; choose another one`,
    ]);
  });

  it.each(['_total', '_info', '_bucket', '_count', '_sum', '_created'])(
    'refuses a gauge and a state set whose names end in %s',
    async (suffix) => {
      for (const [type, more] of Object.entries({ gauge: 'value: x', stateset: 'value: x, states: [a]' })) {
        expect(await metricFaults(`name: x${suffix}, help: X, type: ${type}, ${more}`)).toEqual([
          `6:17: ${METRIC}.name: The name of a metric of type "${type}" must not end in "${suffix}"`,
        ]);
      }
    },
  );

  it('asks for the suffix of counters and info metrics', async () => {
    expect(await metricFaults('name: x_info, help: X, type: counter, value: x')).toEqual([
      `6:17: ${METRIC}.name: The name of a metric of type "counter" must end in "_total"`,
    ]);
    expect(await metricFaults('name: x, help: X, type: info, labels: { a: b }')).toEqual([
      `6:17: ${METRIC}.name: The name of a metric of type "info" must end in "_info"`,
    ]);
  });

  it.each(['""', '" "', `"${'x'.repeat(501)}"`, '7'])('refuses the help %s', async (help) => {
    expect((await metricFaults(`name: x, help: ${help}, type: gauge, value: x`))[0]).toMatch(
      /^6:26: \S+\.help: Expected a text of at most 500 characters; found /,
    );
  });

  it.each(['a.b', 'a b', 'a**', '*_*', '$counts', '""'])('refuses the value %s', async (value) => {
    expect((await metric('gauge', `value: ${value === '""' ? value : `"${value}"`}`))[0]).toMatch(
      /^6:\d+: \S+\.value: Expected a field such as RSSI, with one "\*" a pattern of fields such as input_\*, or \$count; found/,
    );
  });

  it('requires that series of a pattern of fields can be distinguished', async () => {
    expect(await metric('gauge', 'value: in_*, labels: { l: $index }')).toEqual([
      `6:57: ${METRIC}.value: A value with "*" needs a label from $match to distinguish its series`,
    ]);
    expect(
      await metricFaults(`name: x, help: X, type: gauge, value: "in_*"`, 'path: x\n  labels: { a: $match }'),
    ).toEqual([]);
  });

  it('refuses $match where nothing is matched', async () => {
    expect(await metricFaults(`${GAUGE}, labels: { l: $match }`)).toEqual([
      `6:73: ${METRIC}.labels.l: $match needs a "*" in "value"`,
    ]);
    expect(await metricFaults(GAUGE, 'path: x\n  labels: { a: $match }')).toEqual([
      '5:20: modules.m.resources[0].labels.a: $match needs a "*" in "value" of every metric of the resource',
    ]);
  });

  it.each([
    ['part: 1', 'part: "part" requires "form: list" or "form: fraction"'],
    ['form: number, part: 1', 'part: "part" requires "form: list" or "form: fraction"'],
    ['form: list', 'part: Missing key; the form "list" needs it'],
    ['form: fraction', 'part: Missing key; the form "fraction" needs it'],
    ['form: fraction, part: 3', 'part: A fraction has the parts 1 and 2'],
    ['form: list, part: 0', 'part: Expected a whole number from 1 to 100; found the number 0'],
    ['form: percentage, unit: V', 'unit: The form "percentage" has no unit'],
    ['form: duration, unit: s', 'unit: The form "duration" has no unit'],
    ['form: date, unit: s', 'unit: The form "date" has no unit'],
    ['form: clock_offset, unit: s', 'unit: The form "clock_offset" has no unit'],
    ['map: { a: 1 }, unit: V', 'unit: "unit" cannot be combined with "map"'],
    ['map: { a: 1 }, form: number', 'form: "form" cannot be combined with "map"'],
    [
      'form: numbr',
      'form: Expected "number", "hexadecimal", "percentage", "duration", "date", "clock_offset", "list" or "fraction"; found "numbr"; did you mean "number"?',
    ],
    [
      'unit: "5 V"',
      'unit: Expected a unit such as V or dBm: no blank, not a digit first, at most 16 characters; found "5 V"',
    ],
    ['map: {}', 'map: Expected a map of at least one text to a number; found a map'],
    ['map: { a: b }', 'map.a: Expected a number; found "b"'],
    ['map: { a: .nan }', 'map.a: Expected a number; found the number NaN'],
    [
      'null_values: [0]',
      'null_values[0]: Expected text of at most 256 characters (a number needs quotes); found the number 0',
    ],
    ['prefixes: octal', 'prefixes: Expected "decimal" or "binary"; found "octal"'],
    ['prefixes: binary', 'prefixes: "prefixes" requires a unit of bytes, such as "unit: B"'],
    ['unit: V, prefixes: binary', 'prefixes: "prefixes" requires a unit of bytes, such as "unit: B"'],
    ['null_when: { values: [], fields: { f: ["0"] } }', 'null_when.values: Expected a list of at least one text'],
    [
      'null_when: { values: ["0"], fields: {} }',
      'null_when.fields: Expected a map of 1 to 16 fields of the row to lists of texts',
    ],
    ['null_when: { values: ["0"] }', 'null_when.fields: Missing key'],
    ['source: guess', 'source: Expected "documented", "observed" or "inferred"; found "guess"'],
    ['labels: { l: 7 }', `labels.l: Expected ${SOURCE}; found the number 7`],
  ])('refuses a gauge with "%s"', async (more, expected) => {
    const lines = await metricFaults(`${GAUGE}, ${more}`);
    expect(lines).toEqual([expect.stringMatching(/^6:\d+: /)]);
    expect(lines[0]).toContain(`: ${METRIC}.${expected}`);
  });

  it.each([
    'form: number, unit: V',
    'form: list, part: 3, unit: V',
    'form: fraction, part: 2, unit: B',
    'unit: °C',
    'unit: B/s',
    'form: date',
  ])('takes a gauge with "%s"', async (more) => {
    expect(await metricFaults(`${GAUGE}, ${more}`)).toEqual([]);
  });

  it.each([
    ['unit: V', 'unit: "unit" cannot be combined with $count'],
    ['null_values: ["0"]', 'null_values: "null_values" cannot be combined with $count'],
    ['null_when: { values: ["0"], fields: { f: [] } }', 'null_when: "null_when" cannot be combined with $count'],
    ['labels: { l: name }', 'labels: $count is of no single row, so its labels are $resource, $slot or fixed texts'],
    ['labels: { l: $index }', 'labels: $count is of no single row, so its labels are $resource, $slot or fixed texts'],
  ])('refuses a count of rows with "%s"', async (more, expected) => {
    expect(await metric('gauge', `value: $count, ${more}`)).toEqual([expect.stringContaining(`${METRIC}.${expected}`)]);
  });

  it('refuses a counter that counts rows', async () => {
    expect(await metricFaults('name: x_total, help: X, type: counter, value: $count')).toEqual([
      `6:57: ${METRIC}.value: $count goes up and down, so it needs "type: gauge"`,
    ]);
  });

  it.each([
    ['[]', 'states: Expected a list of 1 to 64 texts, the states that are expected; found an empty list'],
    [
      `[${Array.from({ length: 65 }, (_, i) => `s${i}`).join(',')}]`,
      'states: Expected a list of 1 to 64 texts, the states that are expected; found a list of 65',
    ],
    ['[a, ""]', 'states[1]: Expected text of 1 to 256 characters (a number needs quotes); found ""'],
    ['[Up, down, up]', 'states[2]: The state is listed twice, first as number 1; upper and lower case are the same'],
    [
      '[up, Unknown]',
      'states[1]: The state "unknown" must not be listed: it stands for every text that is not in the list',
    ],
  ])('refuses the states %s', async (states, expected) => {
    const lines = await metric('stateset', `value: f, states: ${states}`);
    expect(lines).toEqual([expect.stringContaining(`: ${METRIC}.${expected}`)]);
  });

  it('refuses a label of a state set that is taken by another label', async () => {
    expect(await metric('stateset', 'value: f, states: [a], labels: { state: x }')).toEqual([
      `6:43: ${METRIC}.type: The label "state" holds the state; name another one in "state_label", or rename the label`,
    ]);
    const named = 'name: x, help: X, type: stateset, value: f, states: [a], state_label: mode';
    expect(await metricFaults(named, 'path: x\n  labels: { mode: x }')).toEqual([
      `7:81: ${METRIC}.state_label: The label "mode" holds the state; name another one in "state_label", or rename the label`,
    ]);
  });

  it.each([
    ['bit: 2, factor: 3', 'factor: "factor" cannot be combined with "bit"'],
    ['bit: 53', 'bit: Expected a whole number from 0 to 52; found the number 53'],
    ['factor: 0', 'factor: Expected a number other than 0; found the number 0'],
    ['map: { a: 1 }, offset: 3', 'offset: "offset" cannot be combined with "map"'],
    ["pattern: 'x(?P<v>.)'", 'pattern: The pattern has no group "value", such as (?P<value>\\d+)'],
    ["pattern: '(?P<value>.'", 'pattern: A "(" is never closed; write \\( for the character'],
  ])('refuses a gauge with %s', async (more, expected) => {
    expect(await metricFaults(`${GAUGE}, ${more}`)).toEqual([expect.stringContaining(`: ${METRIC}.${expected}`)]);
  });

  it('refuses a label that the resource has already', async () => {
    expect(await metricFaults(`${GAUGE}, labels: { l: b }`, 'path: x\n  labels: { l: a }')).toEqual([
      `7:70: ${METRIC}.labels.l: The resource has a label "l" for all its metrics already`,
    ]);
  });
});

describe('loadConfig() on joins and conditions of modules', () => {
  const metrics = `metrics: [{ ${GAUGE}, labels: { room: "@room" } }]`;

  it.each<[string, string]>([
    [
      '{ path: b*, by: a, key: k }',
      'path: Expected the path of one resource, such as sysdetail/system or /profiles; found "b*"',
    ],
    ['{ path: /b, by: a, key: k }', 'each: Missing key; expected where the rows are, because "path" begins with "/"'],
    [
      '{ path: b, by: =x, key: k }',
      'by: Expected where the key of a row comes from: a field, "..field" of the row around, $resource, $slot or $index; found "=x"',
    ],
    [
      '{ path: b, by: "@x", key: k }',
      'by: Expected where the key of a row comes from: a field, "..field" of the row around, $resource, $slot or $index; found "@x"',
    ],
    ['{ path: b, by: $slot, key: k }', 'by: $slot needs a "path" whose first segment ends in a number or "*"'],
    ['{ path: b, by: a, key: "..k" }', 'key: Expected the name of a field; found "..k"'],
  ])('points at the fault of the join %s', async (join, fault) => {
    const lines = await moduleFaults(`resources:\n- path: x\n  join: ${join}\n  ${metrics}`);
    expect(lines.map((line) => line.replace(/^.*?modules\.m\.resources\[0\]\.join\./, ''))).toEqual([fault]);
  });

  it('refuses a joined label without a join, and a join without a joined label', async () => {
    expect(await moduleFaults(`resources: [{ path: x, ${metrics} }]`)).toEqual([
      expect.stringMatching(/labels\.room: @room needs "join" in the resource$/),
    ]);
    const join = 'join: { path: b, by: a, key: k }';
    expect(await moduleFaults(`resources: [{ path: x, ${join}, metrics: [{ ${GAUGE} }] }]`)).toEqual([
      expect.stringMatching(/join: "join" has no effect: no label comes from a joined row, as "@description"$/),
    ]);
    expect(await moduleFaults(`resources: [{ path: x, ${join}, ${metrics} }]`)).toEqual([]);
  });

  it.each(['6', '>= 6', '~6', '>6,<7', '>6 <7 >1 >2 >3', '>6.x', ''])('refuses the versions "%s"', async (firmware) => {
    const [line, ...others] = await moduleFaults(
      `resources: [{ path: x, when: { firmware: "${firmware}" }, metrics: [{ ${GAUGE} }] }]`,
    );
    expect(others).toEqual([]);
    expect(line).toContain('when.firmware: Expected one to four versions with "<", "<=", "=", ">=" or ">" before each');
  });

  it('refuses conditions without a condition', async () => {
    expect(
      await moduleFaults(`resources: [{ path: x, when: {}, metrics: [{ ${GAUGE}, when: { board: [] } }] }]`),
    ).toEqual([
      expect.stringMatching(/resources\[0\]\.when: Expected "firmware", "board", or both; found neither$/),
      expect.stringMatching(/when\.board: Expected a list of 1 to 64 globs/),
    ]);
  });
});
