import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MODULES } from '../../tools/import-rules.ts';
import { PROJECT } from './read-pages.ts';

/** Exported interfaces and object types that hold options, with their bodies. The formatter fixes the indentation. */
const BLOCK =
  /^export (?:interface|type) (?<name>\w+(?:Options|Settings|Parts|Config))\b[^{;]*\{\n(?<body>[\s\S]*?)^\}/gm;
const FIELD = /^ {2}(?:readonly )?(?<field>\w+)\??[:(<]/;

interface Field {
  /** `Interface.field` */
  readonly name: string;
  readonly isDocumented: boolean;
}

/** Lists the fields of the exported option types in `source`. */
function listOptionFields(source: string): readonly Field[] {
  return [...source.matchAll(BLOCK)].flatMap(({ groups: { name = '', body = '' } = {} }) => {
    const lines = body.split('\n');
    return lines.flatMap((line, index) => {
      const field = FIELD.exec(line)?.groups?.['field'];
      const isDocumented = lines[index - 1]?.trimEnd().endsWith('*/') ?? false;
      return field === undefined ? [] : [{ name: `${name}.${field}`, isDocumented }];
    });
  });
}

/** Returns whether a name is exported by the entry point of a module, so that other modules can use it. */
function readPublic(module: string): (name: string) => boolean {
  const names = new Set(readFileSync(join(PROJECT, `src/${module}/index.ts`), 'utf8').match(/\w+/g));
  return (name) => names.has(name);
}

describe('the fields of option types that an entry point exports', () => {
  test.for(MODULES)('are all documented in %s', (module) => {
    const isPublic = readPublic(module);
    const undocumented = globSync(`src/${module}/**/*.ts`, { cwd: PROJECT }).flatMap((path) =>
      listOptionFields(readFileSync(join(PROJECT, path), 'utf8'))
        .filter(({ name, isDocumented }) => !isDocumented && isPublic(name.split('.', 1)[0] ?? ''))
        .map(({ name }) => `${path} ${name}`),
    );
    expect(undocumented.toSorted()).toEqual([]);
  });

  test('are found in interfaces and in object types, in all their forms', () => {
    const source = [
      'export type Plain = string;',
      'export interface AOptions<T>',
      '  extends B<T> {',
      '  /** One line. */',
      '  readonly one: T;',
      '  readonly two?: {',
      '    readonly nested: string;',
      '  };',
      '',
      '  /**',
      '   * Several lines.',
      '   */',
      '  three(): void;',
      '}',
      'interface InnerOptions {',
      '  readonly inner: string;',
      '}',
      'export type CSettings = {',
      '  four: string;',
      '} & AOptions<string>;',
      '',
    ].join('\n');
    expect(listOptionFields(source)).toEqual([
      { name: 'AOptions.one', isDocumented: true },
      { name: 'AOptions.two', isDocumented: false },
      { name: 'AOptions.three', isDocumented: true },
      { name: 'CSettings.four', isDocumented: false },
    ]);
  });
});

/** Exported declarations, with the line before them. */
const EXPORT =
  /(?<before>[^\n]*)\n(?:\/\/[^\n]*\n)?export (?:abstract |async )*(?:interface|type|const|function|class) (?<name>\w+)/g;

/** Lists the exported declarations of `source`. */
function listExports(source: string): readonly Field[] {
  return [...`\n${source}`.matchAll(EXPORT)].map(({ groups: { name = '', before = '' } = {} }) => ({
    name,
    isDocumented: before.trimEnd().endsWith('*/'),
  }));
}

describe('declarations that an entry point exports', () => {
  test.for(MODULES)('are documented in %s, nearly all of them', (module) => {
    const isPublic = readPublic(module);
    const exported = globSync(`src/${module}/**/*.ts`, { cwd: PROJECT })
      .filter((path) => !path.endsWith('/index.ts'))
      .flatMap((path) =>
        listExports(readFileSync(join(PROJECT, path), 'utf8'))
          .filter(({ name }) => isPublic(name))
          .map((one) => ({ ...one, name: `${path} ${one.name}` })),
      );
    const undocumented = exported.filter(({ isDocumented }) => !isDocumented).map(({ name }) => name);
    const share = 1 - undocumented.length / exported.length;
    expect(exported.length).toBeGreaterThan(0);
    expect(share, undocumented.join('\n')).toBeGreaterThanOrEqual(0.95);
  });

  test('are found with and without a comment', () => {
    const source = '/** One. */\nexport const one = 1;\n\nexport async function two() {}\nexport { one as three };\n';
    expect(listExports(source)).toEqual([
      { name: 'one', isDocumented: true },
      { name: 'two', isDocumented: false },
    ]);
  });
});
