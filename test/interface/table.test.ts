import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const text = readFileSync(new URL('docs/interface.md', ROOT), 'utf8');

interface Table {
  readonly part: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The cells of a line of a table. No title of a test contains the sign between cells. */
const cellsOf = (line: string) =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

const tables: readonly Table[] = text
  .split(/^## /m)
  .slice(1)
  .map((section) => {
    const [part = '', ...lines] = section.split('\n');
    const [columns = [], , ...rows] = lines.filter((line) => line.startsWith('|')).map(cellsOf);
    return { part, columns, rows };
  });
const parts = tables.filter(({ part }) => part !== 'Tests');
const keys = new Map(
  tables.find(({ part }) => part === 'Tests')?.rows.map(([key = '', file = '', title = '']) => [key, { file, title }]),
);

describe('docs/interface.md', () => {
  test('has a table for each of the nine parts, with the same columns and no empty cell', () => {
    expect(parts.map(({ part }) => part.slice(0, 2))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9].map((part) => `${part}.`));
    for (const { part, columns, rows } of parts) {
      expect([part, columns]).toEqual([part, ['Row', 'In our words', 'Client', 'Simulator']]);
      expect([part, rows.length > 0]).toEqual([part, true]);
      for (const [number, row] of rows.entries()) {
        expect(row[0]).toBe(`${part.slice(0, 1)}.${number + 1}`);
        expect(row).toHaveLength(columns.length);
        expect(row).not.toContain('');
      }
    }
  });

  test('names a test that it spells out in every cell for client and simulator, and spells out no other', () => {
    const named = parts.flatMap(({ rows }) =>
      rows.flatMap(([row, , client = '', simulator = '']) =>
        [...client.split(', '), ...simulator.split(', ')].map((key) => ({ row, key })),
      ),
    );
    expect(named.filter(({ key }) => !keys.has(key))).toEqual([]);
    expect(new Set(named.map(({ key }) => key))).toEqual(new Set(keys.keys()));
  });

  test.for([...keys])('%s is a test that exists', ([, { file, title }]) => {
    const path = /^`(test\/[\w/-]+\.test\.ts)`$/.exec(file)?.[1] ?? '';
    const source = readFileSync(fileURLToPath(new URL(path, ROOT)), 'utf8');
    // Behind the title comes the function: a text that merely contains it is no test.
    const quoted = ["'", '"', '`'].map((quote) => `${quote}${title}${quote},`);
    expect({ path, title, exists: quoted.some((one) => source.includes(one)) }).toEqual({ path, title, exists: true });
    expect(source).not.toMatch(/\btest\.(?:skip|todo|only|fails)\b/);
  });
});
