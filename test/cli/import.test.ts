import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { load } from '../config/configuration-folder.ts';
import { runCommand } from './run-command.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'router-exporter-import-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function runImport(text: string | Uint8Array) {
  const file = join(folder, 'routers.csv');
  await writeFile(file, text);
  const { code, stdout, stderr } = await runCommand(['import', '--csv', file]);
  return { code, stdout, stderr: stderr.replaceAll(`${folder}/`, '') };
}

test('import prints a list of routers that the configuration takes', async () => {
  const { code, stdout } = await runImport(
    '\uFEFFname;address;groups;label:site;label:line;timezone\r\n' +
      'plant-7;192.0.2.10;munich, metered;"Werk ""Nord""; Halle 1";3;Europe/Berlin\r\n' +
      '\r\n' +
      'plant-8;192.0.2.11:8443;;;007;\r\n',
  );
  expect(code).toBe(0);
  const main =
    'defaults: { auth: none }\ngroups: { munich: {}, metered: { poll: { interval: 5m } } }\nrouter_files: [r.yaml]';
  const { lines, config } = await load(main, { files: { 'r.yaml': stdout } });
  expect(lines).toEqual([]);
  expect(config?.routers).toMatchObject([
    {
      name: 'plant-7',
      url: 'https://192.0.2.10',
      groups: ['munich', 'metered'],
      labels: { site: 'Werk "Nord"; Halle 1', line: '3' },
      timezone: 'Europe/Berlin',
    },
    { name: 'plant-8', url: 'https://192.0.2.11:8443', groups: [], labels: { line: '007' } },
  ]);
});

test('import of a file with columns alone is an empty list', async () => {
  expect(await runImport('name,url\n')).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
});

test.for<[string, string, string]>([
  ['an unknown column', 'name,adress\n', '1: There is no column "adress"; did you mean "address"?'],
  [
    'a column of passwords',
    'name,url,password\n',
    '1: There is no column "password", because its values would be printed',
  ],
  ['a column twice', 'name,name,url\n', '1: The column "name" appears twice'],
  ['no address', 'name,groups\n', '1: Expected the columns "name" and one of "url" and "address"'],
  ['two addresses', 'name,url,address\n', '1: Expected the columns "name" and one of "url" and "address"'],
  ['nothing', '', '1: Expected a first line with the names of columns'],
  ['a wrong name', 'name,address\na b,192.0.2.1\n', '2: name: Expected a name of letters, digits'],
  [
    'a wrong name, which it shows',
    'name,address\na b,192.0.2.1\n',
    '2: name: Expected a name of letters, digits, ".", "_" and "-", at most 128 (a number needs quotes); found "a b"',
  ],
  [
    'a long name, of which it shows the beginning',
    `name,address\n${'a '.repeat(500)}b,192.0.2.1\n`,
    `2: name: Expected a name of letters, digits, ".", "_" and "-", at most 128 (a number needs quotes); found "${'a '.repeat(30)}…"`,
  ],
  ['an empty address', 'name,address\na,\n', '2: address: Expected a host, or host:port; found an empty cell'],
  ['a wrong address', 'name,address\na,evil@192.0.2.1\n', '2: url: Expected an http or https URL'],
  [
    'an address that means another one',
    'name,address\na,192.168.001.010\n',
    '2: url: Expected an http or https URL of scheme, host, port and path prefix alone, without credentials, query and fragment, such as https://192.0.2.10; found a host in another form of an IPv4 address; write 192.168.1.10, for the URL standard reads it as 192.168.1.8',
  ],
  ['a short address', 'name,address\na,10.20.30\n', '2: url: '],
  ['an address with a scheme', 'name,address\na,https://192.0.2.1\n', '2: url: '],
  ['a name twice', 'name,address\na,192.0.2.1\nb,192.0.2.2\na,192.0.2.3\n', '4: The name "a" is already on line 2'],
  ['too many cells', 'name,address\na,192.0.2.1,x\n', '2: Expected 2 cells, found 3'],
  ['an open quote', 'name,address\na,"192\n\n', '2: A quote is never closed'],
  ['an open quote of the last cell', 'name,address\na,192.0.2.1\n\n\nb,"192.0.2.2', '5: A quote is never closed'],
  ['text behind a quote', 'name,address\n"a"b,c\n', '2: A closing quote must be followed by a delimiter'],
  ['text behind a quote and a blank', 'name,address\n"a" b,c\n', '2: A closing quote must be followed by a delimiter'],
  [
    'a quote within a cell',
    'name,address,label:a\na,192.0.2.1,3" pipe\n',
    '2: A cell with a quote in it must be in quotes',
  ],
])('import refuses %s, and prints nothing', async ([_what, text, expected]) => {
  const { code, stdout, stderr } = await runImport(text);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(`routers.csv:${expected}`);
});

test('import keeps what looks like a variable as text, with a warning, so that no cell publishes a secret', async () => {
  const { code, stdout, stderr } = await runImport(
    'name,url,label:site,label:a,label:b\na,https://192.0.2.1/${ROUTER_PASSWORD},${ROUTER_PASSWORD},"x\n$${Y}",$Z\nb,https://192.0.2.2,,,\n',
  );
  expect([code, stderr]).toEqual([0, 'routers.csv:2: Warning: "${" stays text, written as "$${"\n']);
  const main = 'defaults: { auth: none }\nrouter_files: [r.yaml]';
  const { config } = await load(main, { files: { 'r.yaml': stdout }, env: { ROUTER_PASSWORD: 'hunter2', Y: 'no' } });
  expect(config?.routers[0]).toMatchObject({
    url: 'https://192.0.2.1/$%7BROUTER_PASSWORD%7D',
    labels: { site: '${ROUTER_PASSWORD}', a: 'x\n$${Y}', b: '$Z' },
  });
});

test('import refuses a table of 100,000 columns at once', async () => {
  const head = Array.from({ length: 100_000 }, (_, index) => `label:x${index}`).join(',');
  expect(await runImport(`name,url,${head}\n`)).toEqual({
    code: 2,
    stdout: '',
    stderr: 'routers.csv:1: Expected at most 100 columns, found 100002\n',
  });
});

test.for<[string, string, string[]]>([
  ['commas', 'name,address,label:a\na,192.0.2.1,"x;y\tz"\n', ['x;y\tz']],
  ['semicolons', 'name;address;label:a\na;192.0.2.1;x,y\n', ['x,y']],
  ['tabs', 'name\taddress\tlabel:a\na\t192.0.2.1\tx,y\nb\t192.0.2.2\t\n', ['x,y', '']],
  ['line ends of old computers', 'name,address,label:a\r\ra,192.0.2.1,x\r', ['x']],
  ['line ends of several kinds', 'name,address,label:a\r\na,192.0.2.1,x\nb,192.0.2.2,"y\r\n"\r\n', ['x', 'y\r\n']],
  ['blanks around cells', ' name , address , label:a \n a , 192.0.2.1 , " x " \n', [' x ']],
])('import reads %s', async ([_what, text, labels]) => {
  const { code, stdout, stderr } = await runImport(text);
  expect([code, stderr]).toEqual([0, '']);
  const routers = parse(stdout) as { labels?: { a: string } }[];
  expect(routers.map((router) => router.labels?.a ?? '')).toEqual(labels);
});

test('import names the line on which a row begins, whatever stands in the cells and between the rows before', async () => {
  const { code, stderr } = await runImport(
    'name,address,label:a\r\n \r\n\r\na,192.0.2.1,"x\r\ny\nz"\r\n\r\nb,,"x\n\ny"\r\nc,,\r\n\td,,\r\ne,,',
  );
  expect(code).toBe(2);
  expect(stderr.split('\n').map((line) => line.split(' ', 1)[0])).toEqual([
    'routers.csv:8:',
    'routers.csv:11:',
    'routers.csv:12:',
    'routers.csv:13:',
    '',
  ]);
});

test('import refuses more rows than one process can ask routers', async () => {
  expect(await runImport(`name,url\n${'a,b\n'.repeat(1_000_000)}`)).toEqual({
    code: 2,
    stdout: '',
    stderr: 'routers.csv:100002: Expected at most 100000 routers\n',
  });
});

test('any table is a list of routers, or has faults with their lines', async () => {
  const pieces = ['a', 'é', ',', ';', '\t', '"', '""', '\r', '\n', '\r\n', ' ', '\0', '\u2028'];
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...pieces), { maxLength: 60 }), async (parts) => {
      const text = `name,address\n${parts.join('')}`;
      const { code, stdout, stderr } = await runImport(text);
      if (code === 0) {
        expect(parse(stdout)).toBeInstanceOf(Array);
        return;
      }
      expect([code, stdout]).toEqual([2, '']);
      const lines = [...stderr.matchAll(/^routers\.csv:(\d+): \S/gm)].map(([, line]) => Number(line));
      expect(Math.max(...lines)).toBeLessThanOrEqual(text.split(/\r\n|\r|\n/).length);
      expect(Math.min(...lines)).toBeGreaterThanOrEqual(1);
    }),
  );
});
