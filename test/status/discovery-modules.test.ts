import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { compileModules, discoverModules, type MappingFault, renderModules } from '../../src/status/index.ts';
import { countRuns } from '../support/sampled.ts';
import { discoverIn, loadDiscovered, mapWith, SHIPPED } from './discovery-support.ts';
import { GOLDEN_NAMES, type GoldenDocuments } from './golden-documents.ts';
import { toModule } from './shipped-modules.ts';

const readGolden = (name: string): GoldenDocuments => {
  const documents = JSON.parse(
    readFileSync(new URL(`../golden/${name}.json`, import.meta.url), 'utf8'),
  ) as GoldenDocuments;
  return Object.fromEntries(Object.entries(documents).filter(([path]) => !path.startsWith('/')));
};
/** Fields that no module covers, as `resource field`. */
const listOpen = ({ resources }: ReturnType<typeof discoverIn>) =>
  resources.flatMap(({ resource, fields }) =>
    fields.filter(({ modules }) => modules.length === 0).map(({ name }) => `${resource} ${name}`),
  );
const unique = (fields: object) => ({ status: { unique: fields } });
const list = (...rows: object[]) => ({ status: { list: rows } });
const firstPlace = (discovery: ReturnType<typeof discoverIn>) => discovery.modules[0]?.rowSets[0];

describe('discoverModules()', () => {
  test('shows as open what no shipped module reads, and nothing else', () => {
    const open = new Set(GOLDEN_NAMES.flatMap((name) => listOpen(discoverIn(readGolden(name)))));
    const resources = [...open].map((field) => field.split(' ')[0]);
    expect(
      [...open]
        .filter((field) =>
          /^(ethernet|sfp|power|io|sio|adio|device_info|sysstat\/wan|lte|dsl|sysdetail\/(system|ip))/.test(field),
        )
        .toSorted(),
    ).toEqual([
      ...['dsl5/status rate_down', 'dsl5/status rate_up', 'dsl5/status snr_margin_down', 'dsl5/status state'],
      ...['io2 direction'],
      ...['sysdetail/system mac'],
    ]);
    expect(resources).toEqual(expect.arrayContaining(['overview', 'sysstat/lan', 'sysdetail/container', 'serial2']));
  });

  test('shows a field as covered exactly when a shipped module makes something else of a document without it', () => {
    for (const name of GOLDEN_NAMES) {
      const documents = readGolden(name);
      for (const { resource, fields } of discoverIn(documents).resources) {
        const before = mapWith(SHIPPED, resource, documents[resource]);
        for (const { each, name: field, modules } of fields) {
          if (modules.length > 0) continue;
          const without = structuredClone(documents[resource]);
          removeField(without, each.split(/\.|(?=\[\])/), field);
          expect({ resource, field, ...mapWith(SHIPPED, resource, without) }).toEqual({ resource, field, ...before });
        }
      }
    }
  });

  test('names the modules that cover a field, also those that cover it from the rows inside', () => {
    const document = {
      status: {
        list: [
          { name: 'net1', bytes_rx: '1', mac_address: '', sublist: [{ ip_address: '10.0.0.1/8', scope: 'link' }] },
        ],
      },
    };
    const [resource] = discoverIn({ 'sysdetail/ip_addresses': document }).resources;
    expect(resource).toMatchObject({ rows: 1 });
    expect(resource?.fields).toEqual([
      { each: 'status.list', name: 'name', modules: ['interface_addresses', 'interfaces'] },
      { each: 'status.list', name: 'bytes_rx', modules: ['interfaces'] },
      { each: 'status.list', name: 'mac_address', modules: ['interface_addresses'] },
      { each: 'status.list[].sublist', name: 'ip_address', modules: ['interface_addresses'] },
      { each: 'status.list[].sublist', name: 'scope', modules: [] },
    ]);
    const outer = discoverIn({ 'sysstat/wan': { status: { unique: { name: 'wan1' }, list: [{ if_name: 'net1' }] } } });
    expect(listOpen(outer)).toEqual([]);
  });

  test('takes a field for covered where a module reads it, and not elsewhere in the document', () => {
    const module = toModule('box', {
      resources: [
        { path: 'box', each: 'status.list[].sub', labels: { a: '..name' }, metrics: [{ name: 'x', value: 'v' }] },
      ],
    });
    const rows = [{ name: 'a', v: '1', sub: [{ name: 'b', v: '2' }] }];
    const documents = new Map([['box', { status: { unique: { name: 'c', v: '3' }, list: rows } }]]);
    const { resources } = discoverModules(documents, { modules: [module], agentFamilies: [], labels: [] });
    expect(resources[0]?.fields.map(({ each, name, modules }) => [each, name, modules.length])).toEqual([
      ['status.unique', 'name', 0],
      ['status.unique', 'v', 0],
      ['status.list', 'name', 1],
      ['status.list', 'v', 0],
      ['status.list[].sub', 'name', 0],
      ['status.list[].sub', 'v', 1],
    ]);
  });

  test('proposes for golden documents modules that the configuration accepts, and that leave nothing open but what they say', async () => {
    for (const name of ['mrx3-9.5', 'mrx5-sfp-5.5', 'mro-l200-9.5', 'miro-l200-6.1']) {
      const documents = readGolden(name);
      const discovery = discoverIn(documents);
      const modules = await loadDiscovered(discovery);
      const rowSets = [...discovery.modules.flatMap((module) => module.rowSets), ...discovery.remarks];
      const leftOut = new Set(rowSets.flatMap(({ notes }) => [...notes.sensitive, ...notes.empty]));
      const compiled = compileModules([...SHIPPED, ...modules]);
      expect(compiled.length).toBe(SHIPPED.length + discovery.modules.length);
      const open = listOpen(discoverIn(documents));
      for (const { resource, fields } of discovery.resources) {
        for (const { name: field } of fields) {
          if (!open.includes(`${resource} ${field}`) || leftOut.has(field)) continue;
          const readers = compiled.flatMap(({ resources }) => resources).filter((reader) => reader.coversField(field));
          expect({ resource, field, readers: readers.length }).not.toMatchObject({ readers: 0 });
        }
        expect(mapWith(modules, resource, documents[resource]).faults).toEqual([]);
      }
    }
  });

  test('means all slots of a card with what one slot has shown, and what any has', () => {
    const documents = { lte2: unique({ band: 'B20', fan: '1' }), lte3: unique({ band: 'B3', noise: '-100 dBm' }) };
    const discovery = discoverIn(documents);
    expect(discovery.modules.map(({ name }) => name)).toEqual(['lte']);
    expect(firstPlace(discovery)?.resource).toMatchObject({
      path: 'lte*',
      optional: true,
      labels: { slot: '$slot' },
      metrics: [
        { name: 'router_lte_fan' },
        { name: 'router_lte_noise_dbm' },
        { name: 'router_lte_info', labels: { band: 'band' } },
      ],
    });
    expect(discoverIn({ 'dsl5/status': unique({ attenuation: '1 dB' }) }).modules[0]?.rowSets[0]?.path).toBe(
      'dsl*/status',
    );
  });

  test('takes a resource that is in no list of slots as it stands', () => {
    const discovery = discoverIn({
      gnss1: unique({ satellites: '7' }),
      'radio/bar2': unique({ x: '1' }),
      lte7: unique({ x: '1' }),
    });
    expect(discovery.modules.map(({ name, rowSets }) => [name, rowSets[0]?.path])).toEqual([
      ['gnss1', 'gnss1'],
      ['radio_bar2', 'radio/bar2'],
      ['lte7', 'lte7'],
    ]);
    expect(firstPlace(discovery)?.resource).not.toHaveProperty('labels');
  });

  test('gives a module no name that another module has', () => {
    const discovery = discoverIn({
      sfp2: list({ vendor_id: 'x' }),
      default: unique({ x: '1' }),
      'sf/p': unique({ x: '1' }),
      sf_p: unique({ x: '1' }),
    });
    expect(discovery.modules.map(({ name }) => name)).toEqual(['sfp_more', 'default_more', 'sf_p', 'sf_p_more']);
  });

  test('gives a metric no name that another one has, as OpenMetrics compares them', async () => {
    const discovery = discoverIn({
      up: unique({ x: '1' }),
      port: list({ name: 'a', link: 'up', link_up: '7' }),
      device: unique({ kind: 'of 5' }),
      log: unique({ lines: '5', archives: '3', type: 'x' }),
      consecutive: unique({ failures: '3' }),
    });
    const names = discovery.modules
      .flatMap(({ rowSets }) => rowSets.flatMap(({ resource }) => resource?.metrics ?? []))
      .map(({ name }) => name);
    expect(names).toEqual([
      'router_up_x',
      ...['router_port_list_link_up', 'router_port_link_up_2'],
      'router_device_unique_info',
      // router_log_lines_total is a counter of the agent.
      ...['router_log_unique_lines', 'router_log_unique_archives', 'router_log_info'],
      'router_consecutive_unique_failures',
    ]);
    await expect(loadDiscovered(discovery)).resolves.toHaveLength(5);
  });

  test('names rows by the field that distinguishes them, and otherwise by their rowSet', () => {
    const labelsOf = (...rows: object[]) => firstPlace(discoverIn({ box: list(...rows) }))?.resource?.labels;
    expect(labelsOf({ name: 'a', x: '1' }, { name: 'b', x: '2' })).toEqual({ name: 'name' });
    expect(labelsOf({ if_name: 'net1', x: '1' })).toEqual({ interface: 'if_name' });
    expect(labelsOf({ port: '1', x: '1' }, { port: '2', x: '2' })).toEqual({ port: 'port' });
    expect(labelsOf({ name: 'a', x: '1' }, { name: 'a', x: '2' })).toEqual({ index: '$index' });
    expect(labelsOf({ name: 'a', x: '1' }, { x: '2' })).toEqual({ index: '$index' });
    expect(labelsOf({ interface: 'net1', x: '1' })).toEqual({ index: '$index' });
    expect(labelsOf({ name: 'a.firm.de', x: '1' }, { name: 'b.firm.de', x: '2' })).toEqual({ index: '$index' });
  });

  test('makes a metric of names of rows when they are all there is', () => {
    expect(firstPlace(discoverIn({ box: list({ name: 'a' }, { name: 'b' }) }))?.resource).toMatchObject({
      metrics: [{ name: 'router_box_info', type: 'info', labels: { name: 'name' } }],
    });
  });

  test('names rows inside rows by both, and leaves them out when the outer ones have no name', () => {
    const inner = (rows: object[]) =>
      discoverIn({ box: { status: { list: rows } } }).modules[0]?.rowSets.find(({ each }) => each.endsWith('sub'));
    expect(
      inner([
        { name: 'a', sub: [{ x: '1' }, { x: '2' }] },
        { name: 'b', sub: [{ x: '3' }] },
      ])?.resource,
    ).toMatchObject({
      each: 'status.list[].sub',
      labels: { name: '..name', index: '$index' },
    });
    const unnamed = inner([
      { y: '1', sub: [{ x: '1' }] },
      { y: '2', sub: [{ x: '3' }] },
    ]);
    expect(unnamed).toMatchObject({ resource: undefined, notes: { isAmbiguous: true } });
  });

  test('leaves out what looks like a secret or an identity, what is empty, and what a module cannot say', () => {
    const rowSet = firstPlace(
      discoverIn({
        box: unique({
          ...{ password: '1', IMEI: '', hostname: 'up', ip: '10.0.0.1', text: 'see 10.0.0.1', big: '353830214291112' },
          ...{
            none: '',
            dash: '---',
            list: ['a'],
            'odd name': '1',
            long: 'x'.repeat(600),
            fan: '1',
            hostname2: 'plant',
            same: 'plant',
          },
        }),
      }),
    );
    expect(rowSet?.notes).toEqual({
      sensitive: ['password', 'IMEI', 'ip', 'text', 'big', 'hostname2', 'same'],
      empty: ['none', 'dash'],
      unsayable: ['list', 'odd name', 'long'],
      excess: [],
      isAmbiguous: false,
    });
    expect(rowSet?.resource?.metrics.map(({ value }) => value)).toEqual(['hostname', 'fan']);
  });

  test('gives labels no names that the configuration has given to labels of the router', async () => {
    const labels = { slot: 'a', name: 'b', index: 'c', state: 'd', kind: 'e' };
    const documents = { lte2: list({ name: 'x', mood: 'fine', kind: '5 of 6' }), box: list({ x: '1', le: '5 of 6' }) };
    const discovery = discoverIn(documents, Object.keys(labels));
    expect(firstPlace(discovery)?.resource).toMatchObject({
      labels: { slot_field: '$slot', name_field: 'name' },
      metrics: [{ state_label: 'state_field' }, { labels: { kind_field: 'kind' } }],
    });
    expect(discovery.modules[1]?.rowSets[0]?.resource).toMatchObject({
      labels: { index_field: '$index' },
      metrics: [{ type: 'gauge' }, { labels: { le_field: 'le' } }],
    });
    await expect(loadDiscovered(discovery, labels)).resolves.toHaveLength(2);
  });

  test('keeps within what a configuration may have', async () => {
    const fields = Object.fromEntries(
      Array.from({ length: 400 }, (_none, index) => [`f${index}`, index % 2 ? '1' : '5 of 6']),
    );
    const wide = discoverIn({ box: unique(fields) });
    const loaded = await loadDiscovered(wide);
    expect(loaded[0]?.resources[0]?.metrics.length).toBe(200);
    expect(firstPlace(wide)?.notes.excess.length).toBeGreaterThan(0);
    const many = discoverIn(
      Object.fromEntries(
        Array.from({ length: 120 }, (_none, index) => [`box_${'x'.repeat(index)}`, unique({ x: '1' })]),
      ),
    );
    expect(many.leftOut.length).toBe(120 - (100 - SHIPPED.length));
    await expect(loadDiscovered(many)).resolves.toHaveLength(100 - SHIPPED.length);
  });

  test.each([
    ['no object', 'text'],
    ['a list', [1, 2]],
    ['nothing', null],
    ['no rows', { status: { list: [] } }],
    ['a field beside the rows', { version: '1' }],
  ])('proposes nothing for a document that is %s', (_name, document) => {
    expect(discoverIn({ box: document }).modules).toEqual([]);
  });
});

describe('renderModules()', () => {
  test('says in comments what was left out and why, and what a person has to add', () => {
    const discovery = discoverIn({
      box: unique({ serial: '1', none: '', mood: 'fine' }),
      bag: unique({ pin: '1234' }),
    });
    expect(renderModules(discovery, ['Found.', '', 'More.'])).toBe(`# Found.

# More.

box:
  help: Proposed by discover from the answers of routers for box.
  resources:
    - path: box
      optional: true
      each: status.unique
      # Left out: looks like a secret, or identifies a person or place: serial
      # Left out: no value was seen: none
      metrics:
        - name: router_box_mood
          help: "Proposed by discover: mood of box, 1 for the state that applies."
          type: stateset
          value: mood
          # States seen so far. Add the others of the device; until then they are "unknown".
          states: [ fine ]

# Without a module:
# bag, status.unique: Left out: looks like a secret, or identifies a person or place: pin
`);
  });

  test('is an empty map when there is nothing to propose', async () => {
    const discovery = discoverIn({ 'sysstat/wan': unique({ name: 'wan1' }) });
    expect(renderModules(discovery, ['Found.'])).toBe('# Found.\n\n{}\n');
    await expect(loadDiscovered(discovery)).resolves.toEqual([]);
  });

  test.each(['\n', '\r', '\u2028', '\u0085', '\u001b[2J', '\u202e', '"', '#', ': ', '\\'])(
    'shows a name with %j on the line of its comment',
    (sign) => {
      const name = `a${sign}evil: { help: x }${sign}`;
      const text = renderModules(
        discoverIn({ box: unique({ [name]: '1', fan: '1' }), [`bag${sign}x`]: unique({ x: '1' }) }),
        [],
      );
      expect(Object.keys(parseDocument(text).toJS() as object)).toEqual(['box']);
      expect(text).not.toMatch(/^\s*a?evil/m);
      expect(text).not.toMatch(/[^\P{C}\n]|[\p{Zl}\p{Zp}]/u);
    },
  );

  test('cuts long names, and says how many there are', () => {
    const fields = Object.fromEntries(
      Array.from({ length: 60 }, (_none, index) => [`${index} ${'n'.repeat(500)}`, '1']),
    );
    const text = renderModules(discoverIn({ box: unique({ ...fields, fan: '1' }) }), []);
    expect(text).toContain(' and 20 more\n');
    expect(text.length).toBeLessThan(5000);
  });
});

/** Names and values that are special to YAML, to the configuration, or to JavaScript. */
const anyName = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/),
  fc.constantFrom(
    '---',
    '-',
    'true',
    'null',
    'yes',
    '0x1',
    '1e3',
    '123',
    'name',
    'NAME',
    'unique',
    'list',
    'state',
    'router',
    'le',
  ),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'bytes_rx',
    'errors',
    'x_total',
    'x_info',
    'x_count',
    'bucket',
    'exporter_x',
    '$count',
    'a*b',
  ),
  fc.string({ maxLength: 8 }),
);
const anyValue = fc.oneof(
  fc.constantFrom(
    'up',
    'Off',
    'yes',
    'true',
    'low',
    'closed',
    'Online',
    'Not available at the moment',
    'n/a',
    '~',
    '|',
    '*a',
    '&a',
  ),
  fc.constantFrom(
    '12',
    '-1.5',
    '0x1F',
    '12 %',
    '23.7 V',
    '5 mA',
    '-83 dBm',
    '41 °C',
    '10 Mbit/s',
    '3 MB',
    '7 rpm',
    '5 \u03a9',
    '1 / 2',
    '1/2 MB',
  ),
  fc.constantFrom(
    '3 days, 04:05',
    '04:05:06',
    '2026-11-21 10:30:00',
    '0.1 0.2',
    '0.1 0.2 0.3',
    '${SECRET}',
    '${',
    '1 ${x}',
    '!!js x',
    '# x',
    'a: b',
  ),
  fc.string({ maxLength: 12 }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
);
const anyRow = fc.dictionary(anyName, anyValue, { maxKeys: 6 });
const anyStatus = fc.record(
  {
    unique: anyRow,
    list: fc.array(
      fc.tuple(anyRow, fc.array(anyRow, { maxLength: 2 })).map(([row, sublist]) => ({ ...row, sublist })),
      { maxLength: 3 },
    ),
    odd: fc.oneof(anyRow, fc.array(fc.oneof(anyRow, anyValue), { maxLength: 3 })),
  },
  { requiredKeys: [] },
);
const anyResource = fc.constantFrom(
  'box',
  'lte2',
  'lte3',
  'sfp2',
  'sysstat/wan',
  'up',
  'exporter',
  'exporter/x',
  'a/b-c',
  '1',
  'default',
);

describe('whatever a router answers', () => {
  test('the modules for it are accepted by the configuration and read it without a fault', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(anyResource, anyStatus, { minKeys: 1, maxKeys: 4 }), async (statuses) => {
        const documents = Object.fromEntries(
          Object.entries(statuses).map(([resource, status]) => [resource, { status }]),
        );
        const discovery = discoverIn(documents);
        const modules = await loadDiscovered(discovery);
        expect(modules.length).toBe(discovery.modules.length);
        expect(JSON.stringify(modules)).not.toContain('of the environment');
        const mapped = Object.entries(documents).map(([resource, document]) => mapWith(modules, resource, document));
        const isRead = (metric: string) => mapped.some(({ series }) => (series[metric]?.length ?? 0) > 0);
        // A field has another form in one row or slot than in another, which one metric cannot read.
        const isOther = ({ reason, metric }: MappingFault) => reason === 'other_form' && isRead(metric);
        expect(mapped.flatMap(({ faults }) => faults.filter((fault) => !isOther(fault)))).toEqual([]);
      }),
      { numRuns: countRuns(100) },
    );
  });

  test('a field that one row has twice, in upper and lower case, and another lacks names no row', async () => {
    const rows = [{ sublist: [{ a: false }] }, { NAME: false, name: 'up', sublist: [] }];
    const modules = await loadDiscovered(discoverIn({ box: { status: { list: rows } } }));
    expect(mapWith(modules, 'box', { status: { list: rows } }).faults).toEqual([]);
  });

  test('names that differ only in case are one field, as the modules read them', async () => {
    const documents = { a: { status: { list: [{ W: 0 }, { w: '# x' }] } } };
    const modules = await loadDiscovered(discoverIn(documents));
    expect(mapWith(modules, 'a', documents.a).faults).toEqual([]);
  });

  test('rows that one slot has in a list and another as an object are distinguished like those of a list', async () => {
    const documents = {
      lte2: { status: { odd: { a: '1', sub: [{ b: '1' }] } } },
      lte3: {
        status: {
          odd: [
            { a: '2', sub: [{ b: '2' }] },
            { a: '3', sub: [] },
          ],
        },
      },
    };
    const discovery = discoverIn(documents);
    expect(discovery.modules[0]?.rowSets.map(({ each, resource }) => [each, resource?.labels])).toEqual([
      ['status.odd', { slot: '$slot', index: '$index' }],
      ['status.odd[].sub', undefined],
    ]);
    const modules = await loadDiscovered(discovery);
    for (const [resource, document] of Object.entries(documents)) {
      const { faults, series } = mapWith(modules, resource, document);
      expect(faults).toEqual([]);
      expect(series['router_lte_a']?.length).toBeGreaterThan(0);
    }
  });

  test('any JSON is explored without an error', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), fc.jsonValue(), (one, other) => {
        const discovery = discoverIn({ lte2: { status: one }, lte3: other });
        expect(renderModules(discovery, []).length).toBeGreaterThan(0);
      }),
    );
  });

  test('deep and wide documents are explored within bounds', () => {
    let deep: unknown = '1';
    for (let level = 0; level < 5000; level++) deep = level % 2 ? [{ x: deep, y: '1' }] : { z: deep, y: '2' };
    const row = Object.fromEntries(Array.from({ length: 2000 }, (_none, index) => [`f${index}`, '1']));
    const rows = Array.from({ length: 2000 }, (_none, index) => ({ name: `n${index}`, x: String(index) }));
    const rowSets = Object.fromEntries(Array.from({ length: 500 }, (_none, index) => [`p${index}`, { x: '1' }]));
    const discovery = discoverIn({ deep, row: unique(row), rows: list(...rows), rowSets: { status: rowSets } });
    const counts = Object.fromEntries(
      discovery.resources.map(({ resource, rows: count, fields }) => [resource, [count, fields.length]]),
    );
    expect(counts['row']).toEqual([1, 512]);
    expect(counts['rows']).toEqual([2000, 2]);
    expect(counts['rowSets']?.[1]).toBeLessThanOrEqual(64);
    expect(counts['deep']?.[1]).toBeLessThan(10);
  });
});

/** Takes a field away from the rows at the end of the steps, by the rules of `each`. */
function removeField(value: unknown, steps: readonly string[], field: string): void {
  const [step, ...rest] = steps.filter((one) => one !== '[]' && one !== '');
  for (const row of Array.isArray(value) ? value : [value]) {
    if (typeof row !== 'object' || row === null) continue;
    if (step === undefined) Reflect.deleteProperty(row, field);
    else removeField(Reflect.get(row, step), rest, field);
  }
}
