import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { examineStateFolder, findFolderFault } from '../../src/store/index.ts';
import { createStoreFolder } from '../support/store-folder.ts';

const NOBODY = 65_534;
const MIB = 1024 ** 2;
const isRoot = process.getuid?.() === 0;

/** The fault that an account without rights finds. */
async function findAsNobody(path: string): Promise<string> {
  const module = JSON.stringify(new URL('../../src/store/state-folder.ts', import.meta.url).href);
  const script = `console.log((await (await import(${module})).findFolderFault(${JSON.stringify(path)})) ?? 'none')`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    ...(isRoot && { uid: NOBODY, gid: NOBODY }),
  });
  return stdout.trim();
}

test('findFolderFault() finds a file where a folder is needed, and nothing in a folder that can be used or created', async () => {
  await using folder = await createStoreFolder();
  const file = join(folder.path, 'file');
  await writeFile(file, '');
  expect(await findFolderFault(folder.path)).toBeUndefined();
  expect(await findFolderFault(join(folder.path, 'new', 'deep'))).toBeUndefined();
  expect(await findFolderFault(file)).toBe(`${file} is a file; a folder is needed`);
  expect(await findFolderFault(join(file, 'below'))).toBe(
    `${join(file, 'below')} cannot be used: a part of the path is a file`,
  );
  await symlink(join(folder.path, 'circle'), join(folder.path, 'circle'));
  expect(await findFolderFault(join(folder.path, 'circle'))).toContain('its symbolic links form a circle');
  expect(await findFolderFault(join(folder.path, 'x'.repeat(300)))).toContain('the path is too long');
  // A disk that is missing may come back.
  await symlink(join(folder.path, 'nowhere'), join(folder.path, 'link'));
  expect(await findFolderFault(join(folder.path, 'link'))).toBeUndefined();
  expect(await readdir(folder.path)).toHaveLength(3);
});

test('findFolderFault() finds missing permissions for the folder, its parent and its files', async () => {
  await using folder = await createStoreFolder();
  const closed = join(folder.path, 'closed');
  await mkdir(closed);
  const open = join(folder.path, 'open');
  await mkdir(open);
  await writeFile(join(open, 'router-exporter.db'), '');
  await chmod(join(open, 'router-exporter.db'), 0o400);
  await chmod(open, 0o777);
  await chmod(closed, 0o500);
  await chmod(folder.path, 0o755);
  const reason = 'cannot be used: this account may not write there';
  expect(await findAsNobody(closed)).toBe(`${closed} ${reason}`);
  expect(await findAsNobody(join(closed, 'new'))).toBe(`${isRoot ? join(closed, 'new') : closed} ${reason}`);
  expect(await findAsNobody(open)).toBe(`${join(open, 'router-exporter.db')} ${reason}`);
  await chmod(join(open, 'router-exporter.db'), 0o666);
  expect(await findAsNobody(open)).toBe('none');
  await chmod(closed, 0o700);
});

test('examineStateFolder() compares the free space with what the state may still need', async () => {
  await using folder = await createStoreFolder();
  const examine = (spoolBytesMax: number, path = folder.path) =>
    examineStateFolder({ path, spoolBytesMax, recentBytesMax: MIB, deadLettersBytesMax: MIB });
  expect(await examine(MIB)).toEqual([
    { step: 'folder', verdict: 'ok', message: `${folder.path} can be written` },
    {
      step: 'free space',
      verdict: 'ok',
      message: expect.stringMatching(/^[\d.]+ [MG]iB free, needs up to 19.5 MiB more$/),
    },
  ]);
  const path = join(folder.path, 'new');
  expect(await examine(1e18, path)).toMatchObject([
    { verdict: 'ok', message: `${path} will be created` },
    { verdict: 'warning', hint: 'Free space, or lower storage.spool_max' },
  ]);
  await writeFile(path, '');
  expect(await examine(MIB, path)).toMatchObject([{ step: 'folder', verdict: 'failed' }]);
});
