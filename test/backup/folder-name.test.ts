import { basename, join, normalize } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toFolderName, toRouterFolderName } from '../../src/backup/profile-folder.ts';

const HOSTILE = [
  '',
  '.',
  '..',
  '../../etc/passwd',
  '/etc',
  'C:\\x',
  'CON',
  'nul',
  '\u0000',
  'a\nb',
  '-rf',
  '~',
  '%2e%2e',
  '\ud800',
  'x'.repeat(100_000),
];

describe('toFolderName()', () => {
  test('keeps what is harmless of a name, so that a person finds the folder', () => {
    expect(toFolderName('quick_start_profile_2')).toMatch(/^quick_start_profile_2-[0-9a-f]{16}$/);
    expect(toFolderName('Werk Süd/7')).toMatch(/^Werk_S_d_7-[0-9a-f]{16}$/);
  });

  test.for(HOSTILE)('makes one plain folder of %j', (name) => {
    expect(toFolderName(name)).toMatch(/^[A-Za-z0-9_-]{1,40}-[0-9a-f]{16}$/);
  });

  test('stays inside the folder above it and below the bound of a file name, whatever the name is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (name) => {
        const folder = toFolderName(name);
        expect(normalize(join('/backups', folder))).toBe(`/backups/${folder}`);
        expect(basename(folder)).toBe(folder);
        expect(folder.length).toBeLessThanOrEqual(57);
      }),
    );
  });

  test('gives different names different folders, also where letters of both cases are one', () => {
    const names = [
      ...HOSTILE,
      'profile',
      'Profile',
      'PROFILE',
      'a/b',
      'a_b',
      'a\\b',
      '\ud800',
      '\ud801',
      `${'x'.repeat(100_000)}y`,
    ];
    const distinct = new Set(names);
    expect(new Set([...distinct].map((name) => toFolderName(name).toLowerCase())).size).toBe(distinct.size);
  });
});

describe('toRouterFolderName()', () => {
  test.for(['plant-7', 'A', 'r1.example.net', '_lab', 'x'.repeat(100)])(
    'takes the configured name %s as it is',
    (name) => {
      expect(toRouterFolderName(name)).toBe(name);
    },
  );

  test.for(['..', '.', '.hidden', '-x', 'a/b', '', 'x'.repeat(101)])('makes a folder of its own for %j', (name) => {
    expect(toRouterFolderName(name)).toBe(toFolderName(name));
  });
});
