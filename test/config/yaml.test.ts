// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts under test refer to variables.

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONFIG_FILE_BYTES_MAX } from '../../src/settings/source/config-file.ts';
import { countRuns } from '../support/sampled.ts';
import { load, withRouter } from './configuration-folder.ts';

async function linesOf(text: string | Uint8Array): Promise<string[]> {
  const { lines } = await load(text);
  return lines.map((line) => line.replace('router-exporter.yaml:', ''));
}

function repeat(alias: string, times: number): string {
  return `[${`*${alias}, `.repeat(times)}]`;
}

describe('loadConfig() on YAML', () => {
  it.each([
    ['a: { b: ${NAME}, c: d }\ne: f\n', '1:9'],
    ['a: {\n  b: c,\n  d: x-${NAME:-y},\n}\ne: f\n', '3:8'],
    ['a: [b, ${NAME}/c]\n', '1:8'],
  ])('says of %j, once, that the text needs quotes', async (text, position) => {
    expect(await linesOf(text)).toEqual([
      `${position}: Inside "{ }" and "[ ]", a text with "\${" needs quotes, as in "\${NAME}"`,
    ]);
  });

  it.each([
    ['nothing', ''],
    ['comments alone', '# routers:\n'],
    ['an empty document', '---\n'],
    ['a byte order mark', '\ufeff'],
  ])('says that a file of %s is empty', async (_, text) => {
    expect(await linesOf(text)).toEqual(['1:1: The file is empty; write at least "routers:" with one router']);
  });

  it.each([
    ['hunter2', 'text'],
    ['- a', 'a list of 1'],
    ['7', 'a number'],
  ])('refuses "%s" instead of a map, and does not repeat what may be a secret', async (text, found) => {
    expect(await linesOf(text)).toEqual([`1:1: Expected a map of keys such as "routers:"; found ${found}`]);
  });

  it.each([
    ['an open quote', 'web: {}\na: "x', '2:6', /closing quote is missing; the text in quotes begins on line 2$/],
    ['a quote that is open for lines', 'a: "x\n  y: z\n', '3:1', /the text in quotes begins on line 1$/],
    ['a key one blank too far left', 'a:\n  - b: c\n   d: e\n', '3:1', /or the indentation of the line is wrong$/],
    [
      'a key one blank too far right',
      'a:\n  - b: c\n     d: e\n',
      '2:8',
      /or the indentation of the next line is too large$/,
    ],
    ['an open bracket', 'a:\n  b: [1, 2', '2:11', /bracket is not closed/],
    ['a tab', 'a:\n\t- b', '2:1', /tab cannot indent/],
    ['wrong indentation', 'a:\n    b: 1\n  c: 2', '3:1', /indentation does not fit/],
    ['a colon in a value', 'a: b: c', '1:4', /second colon/],
    ['a reserved character', 'a: @b', '1:4', /put the value in quotes/],
    ['a second document', 'a: 1\n---\nb: 1', '2:1', /more than one YAML document/],
    ['an unknown tag', 'a: !vault x', '1:4', /tag .* is not known/],
    ['an alias without anchor', 'a: &x 1\nb: *y', '2:4', /No anchor/],
    ['a map as a key', '? { a: b }\n: c', '1:3', /key must be plain text/],
    ['brackets without end', '['.repeat(20_000), '1:', /nested too deeply/],
  ])('points at %s', async (_, text, position, message) => {
    const lines = await linesOf(text);
    expect(lines[0]?.startsWith(position)).toBe(true);
    expect(lines[0]).toMatch(message);
    expect(lines.length).toBeLessThanOrEqual(10);
  });

  it('points at a repeated key and checks the rest of the file', async () => {
    expect(await linesOf(withRouter('poll: {}\nname: b\npoll: { interval: 1 }'))).toEqual([
      '7:5: routers[0].name: The key stands more than once in the same map; keep one of them',
      '8:5: routers[0].poll: The key stands more than once in the same map; keep one of them',
      expect.stringMatching(/^8:23: routers\[0\]\.poll\.interval: Expected a duration/),
    ]);
  });

  it.each([
    ['equal keys', () => 'a: 1\n'.repeat(20_000), '2:1: a: The key stands more than once'],
    ['different keys', () => Array.from({ length: 20_000 }, (_, index) => `k${index}: 1\n`).join(''), '1:1: k0: '],
    ['equal keys in braces', () => `{${'a: 1, '.repeat(20_000)}}`, '1:8: a: The key stands more than once'],
    ['faults', () => ']'.repeat(60_000), '1:1: '],
  ])('is soon done with a hostile file of many %s', { timeout: 30_000 }, async (_, render, first) => {
    const lines = await linesOf(render());
    expect(lines).toContainEqual(expect.stringContaining(first));
    expect(lines.length).toBeLessThan(150);
  });

  it.each([
    [21, '21:1: k20: Unknown key'],
    [25, '21:1: …: This and 4 more keys of the same map are unknown'],
  ])('reports %d unknown keys of a map in 21 lines', async (count, last) => {
    const keys = Array.from({ length: count }, (_, index) => `k${index}: 1`);
    const lines = await linesOf(`${keys.join('\n')}\nrouters: [{ name: a, url: "https://192.0.2.1", auth: none }]\n`);
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toContain(last);
  });

  it('follows an alias to the place where the faulty value stands', async () => {
    const text = `defaults:\n  poll: &poll { interval: 5 }\n${withRouter('poll: *poll')}`;
    expect((await linesOf(text)).map((line) => line.slice(0, 5))).toEqual(['2:27:', '2:27:']);
  });

  it.each([
    [
      'repeat a value too often',
      `a: &a x\nb: ${repeat('a', 51)}`,
      /more than 50 times; share settings through "defaults"/,
    ],
    [
      'multiply',
      [
        'a: &a [x, x]',
        ...'bcdefghi'.split('').map((key, i) => `${key}: &${key} ${repeat('abcdefghi'[i] ?? 'a', 9)}`),
      ].join('\n'),
      /more than 50 times/,
    ],
    [
      'multiply nothing',
      `a: &a []\nb: &b ${repeat('a', 60)}\nc: &c ${repeat('b', 60)}\nd: &d ${repeat('c', 60)}\ne: ${repeat('d', 10)}`,
      /more than 1000000 values/,
    ],
    ['are too many', `a: &a []\nb: ${repeat('a', 201)}`, /^2:805: The file holds more than 200 aliases/],
    ['contain themselves', `a: &a [*a]\nb: &b { c: *b }`, /nested more than 16 deep/],
  ])('stops aliases that %s', async (_, text, message) => {
    const lines = await linesOf(text);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(message);
  });

  it('refuses a file that is not UTF-8, and one that is too large', async () => {
    expect(await linesOf(Uint8Array.of(0x61, 0x3a, 0x20, 0xff))).toEqual([
      '1:1: The configuration file is not UTF-8 text. Use --config.file to name another',
    ]);
    expect(await linesOf(new Uint8Array(CONFIG_FILE_BYTES_MAX + 1).fill(0x23))).toEqual([
      `1:1: The configuration file is larger than the limit of ${CONFIG_FILE_BYTES_MAX} bytes. Use --config.file to name another`,
    ]);
  });

  it('answers with a configuration or with faults inside the file, whatever the text', async () => {
    const token = fc.constantFrom(
      ...'routers:|sinks:|defaults:|web:|listen:|name:|url:|password:|password_file:|tls:|ca_file:|labels:|poll:|interval:|modules:|resources:|metrics:|router_files:|backup:|type:|batch:|headers:|severities:'.split(
        '|',
      ),
      ...'\n|\n  |\n    |- | |: |, |[|]|{|}|"|\'|&a |*a|!t |!!set |!!binary |? |#|%|---\n|<<: *a|__proto__:|\\x|\0|\t|${A}|${|$${'.split(
        '|',
      ),
      ...'a|60s|stdout|loki|https://h|1|true|null|~|.nan|0x1f|2001-01-01|\ud800|é'.split('|'),
    );
    const text = fc.oneof(
      fc.array(token, { maxLength: 40 }).map((tokens) => tokens.join('')),
      fc.array(token, { maxLength: 10 }).map((tokens) => withRouter(tokens.join(''))),
      fc.string({ unit: 'binary', maxLength: 60 }),
    );
    await fc.assert(
      fc.asyncProperty(text, async (yaml) => {
        const { config, faults } = await load(yaml, { env: { A: 'x' } });
        expect(config === undefined).toBe(faults.length > 0);
        const lineCount = yaml.split(/\r\n|[\n\r]/).length;
        for (const fault of faults) {
          expect(fault.line).toBeGreaterThanOrEqual(1);
          expect(fault.line).toBeLessThanOrEqual(lineCount);
          expect(fault.column).toBeGreaterThanOrEqual(1);
          expect(fault.message).not.toMatch(/[\n\r]/);
          // What the schema library says by itself, where the schema does not say what is expected.
          expect(fault.message).not.toMatch(/Invalid|Too (small|big)|Unrecognized/);
        }
      }),
      { numRuns: countRuns(500) },
    );
  });

  it('answers with a configuration or with faults inside a file, whatever the module', async () => {
    const key = fc.constantFrom(
      ...'help|interval|min_interval|identity|resources|path|optional|each|labels|metrics|name|type|value|unit|form|part|null_values|map|states|state_label|source|x|__proto__|constructor'.split(
        '|',
      ),
    );
    const leaf = fc.oneof(
      fc.constantFrom(
        ...'gauge|counter|info|stateset|$match|$slot|$count|..a|a_*|lte*|/profiles|status.list|fraction|router_x|router_x_total|*|unknown|'.split(
          '|',
        ),
      ),
      fc.constantFrom(null, true, 0, 1, 1e9, '__proto__'),
      fc.string({ maxLength: 5 }),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ depthSize: 'small' }, leaf, tie('map'), tie('list')),
      list: fc.array(tie('tree'), { maxLength: 3 }),
      map: fc.dictionary(key, tie('tree'), { maxKeys: 5 }),
    }));
    // Sound at the root more often than chance would have it, so that the checks behind the schema have something to do.
    const metric = fc.dictionary(key, fc.oneof(leaf, tree), { maxKeys: 8 });
    const resource = fc.record({ path: leaf, each: leaf, labels: tree, metrics: fc.array(metric, { maxLength: 3 }) });
    const module = fc.oneof(tree, fc.record({ resources: fc.array(fc.oneof(resource, tree), { maxLength: 2 }) }));
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), module), async (modules) => {
        const { config, faults } = await load(
          JSON.stringify({ modules, routers: [{ name: 'r', url: 'http://r', auth: 'none' }] }),
        );
        expect(config === undefined).toBe(faults.length > 0);
        for (const fault of faults) {
          expect(fault.line).toBe(1);
          expect(fault.message).not.toMatch(/Invalid|Too (small|big)|Unrecognized|undefined|\[object/);
        }
      }),
      { numRuns: countRuns(500) },
    );
  });
});
