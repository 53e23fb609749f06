import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { FileChecker } from '../../src/config/watch-files.ts';
import { listMatches, readPatternFiles } from '../../src/settings/files/pattern-files.ts';
import { ConfigFiles } from '../../src/settings/source/config-file.ts';
import { renderFault } from '../../src/settings/source/fault.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'router-exporter-files-'));
  for (const name of ['a', 'b', 'c', 'd']) await writeFile(join(folder, `${name}.yaml`), name.repeat(10));
});
afterEach(() => rm(folder, { recursive: true }));

describe('listMatches()', () => {
  it('stops at one file more than it may list', async () => {
    expect(await listMatches(join(folder, '*.yaml'), 2)).toHaveLength(3);
    expect(await listMatches(join(folder, '*.yaml'), 4)).toEqual(
      ['a', 'b', 'c', 'd'].map((name) => join(folder, `${name}.yaml`)),
    );
  });
});

describe('readPatternFiles()', () => {
  const read = async (bounds: { filesMax: number; bytesMax: number }) => {
    await using files = new ConfigFiles();
    const root = { kind: 'map', expected: '', ifEmpty: '', schema: z.unknown() } as const;
    const main = await files.parse(
      'main.yaml',
      join(folder, 'main.yaml'),
      { text: 'router_files: [a.yaml, "*.yaml"]' },
      root,
    );
    if (!main) throw new TypeError('The text can be parsed');
    const matched = await readPatternFiles(main, 'router_files', ['a.yaml', '*.yaml'], bounds);
    return {
      names: matched.files.map(({ name }) => name),
      digests: matched.digests.size,
      lines: files.faults.map(renderFault),
    };
  };

  it('reads as many files and bytes as it may', async () => {
    const names = ['a.yaml', 'b.yaml', 'c.yaml', 'd.yaml'];
    expect(await read({ filesMax: 4, bytesMax: 40 })).toEqual({ names, digests: 4, lines: [] });
  });

  it('stops at the file that is one too many', async () => {
    expect(await read({ filesMax: 3, bytesMax: 40 })).toMatchObject({
      digests: 3,
      lines: ['main.yaml:1:24: router_files[1]: More than 3 files are named here and before'],
    });
  });

  it('stops at the byte that is one too many', async () => {
    expect(await read({ filesMax: 4, bytesMax: 29 })).toMatchObject({
      names: ['a.yaml', 'b.yaml'],
      lines: ['main.yaml:1:24: router_files[1]: The files that are named here and before hold more than 29 bytes'],
    });
  });
});

describe('FileChecker', () => {
  it('reads a file once more after its stamp has changed, because a second change may have the same stamp', async () => {
    let stamp = '1';
    let stamps = 0;
    const checker = new FileChecker([join(folder, 'a.yaml')], async () => {
      stamps++;
      return stamp;
    });
    const lookAt = async (text: string) => {
      await writeFile(join(folder, 'a.yaml'), text);
      return checker.check();
    };
    const first = await lookAt('1');
    const second = await lookAt('2');
    expect(second).not.toBe(first);
    // From here on the stamp is trusted, and the file not read.
    expect(await lookAt('3')).toBe(second);
    stamp = '2';
    const fourth = await lookAt('4');
    expect([first, second]).not.toContain(fourth);
    expect(stamps).toBe(4);
  });
});
