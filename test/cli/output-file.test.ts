import {
  chmod,
  chown,
  lchown,
  lstat,
  mkdtempDisposable,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeOutputFile } from '../../src/cli/support/output-file.ts';

const NOBODY = 65_534;
const OTHER = 65_533;
const openFolder = () => mkdtempDisposable(join(tmpdir(), 'router-exporter-output-file-'));

/** A body that breaks off, as a download that fails. */
async function* breakOff() {
  yield Buffer.from('half');
  throw new RangeError('broken off');
}

test('a file is replaced when the new one is whole, behind a link too, and stays as it was when that fails', async () => {
  await using folder = await openFolder();
  const [file, link] = [join(folder.path, 'file'), join(folder.path, 'link')];
  await writeFile(file, '');
  await symlink(file, link);
  await writeOutputFile(link, [Buffer.from('first')], 0o600);
  await expect(writeOutputFile(link, breakOff(), 0o600)).rejects.toThrow('broken off');
  expect([await readFile(file, 'utf8'), await readdir(folder.path)]).toEqual(['first', ['file', 'link']]);
});

test('a file in a folder that takes no other one is written in its place', async () => {
  await using folder = await openFolder();
  const file = join(folder.path, 'file');
  await writeFile(file, 'first');
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) await chown(file, NOBODY, NOBODY);
  await chmod(folder.path, 0o555);
  // Nothing is closed to root.
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    await writeOutputFile(file, [Buffer.from('next')], 0o600);
  } finally {
    if (isRoot) process.seteuid?.(0);
    await chmod(folder.path, 0o700);
  }
  expect([await readFile(file, 'utf8'), await readdir(folder.path)]).toEqual(['next', ['file']]);
});

test.skipIf(process.geteuid?.() !== 0)(
  'a link of another user in a folder like /tmp is replaced or refused, and never followed, behind a link of the own user too',
  async () => {
    await using folder = await openFolder();
    const [victim, link, own] = ['victim', 'link', 'own'].map((name) => join(folder.path, name)) as [
      string,
      string,
      string,
    ];
    await chmod(folder.path, 0o1777);
    const plant = async () => {
      await writeFile(victim, 'precious');
      await symlink(victim, link);
      await lchown(link, NOBODY, NOBODY);
    };
    await plant();
    await symlink(link, own);
    await writeOutputFile(own, [Buffer.from('new')], 0o600);
    expect([await readFile(victim, 'utf8'), await readFile(link, 'utf8')]).toEqual(['precious', 'new']);
    expect((await lstat(link)).isFile()).toBe(true);
    await rm(link);
    await plant();
    await chown(victim, OTHER, OTHER);
    process.seteuid?.(OTHER);
    try {
      await expect(writeOutputFile(link, [Buffer.from('new')], 0o600)).rejects.toThrow(
        `${link} is a link of another user in a world-writable folder`,
      );
    } finally {
      process.seteuid?.(0);
    }
    expect([await readFile(victim, 'utf8'), await readdir(folder.path)]).toEqual([
      'precious',
      ['link', 'own', 'victim'],
    ]);
  },
);
