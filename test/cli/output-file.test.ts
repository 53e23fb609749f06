import { chmod, chown, mkdtempDisposable, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeOutputFile } from '../../src/cli/terminal/output-file.ts';

const NOBODY = 65_534;
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
