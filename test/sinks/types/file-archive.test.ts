import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FileArchive } from '../../../src/sinks/types/file/archive.ts';

const STAMPS = ['20261121T000000.000Z', '20261122T000000.000Z', '20261123T000000.000Z'] as const;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'router-exporter-archive-'));
  for (const stamp of STAMPS) writeFileSync(join(folder, `r.log.${stamp}`), 'x\n');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const createArchive = (keep: number, compress: 'gzip' | 'none') =>
  new FileArchive({ path: join(folder, 'r.log'), keep, compress });
const names = () => readdirSync(folder).map((name) => name.replace('r.log.', ''));

test('FileArchive compresses no file that is newer than requested', async () => {
  const archive = createArchive(10, 'gzip');
  archive.tidy(STAMPS[1]);
  await archive.settled();
  expect(names()).toEqual([`${STAMPS[0]}.gz`, `${STAMPS[1]}.gz`, STAMPS[2]]);
  archive.tidy(STAMPS[2]);
  await archive.settled();
  expect(names()).toEqual(STAMPS.map((stamp) => `${stamp}.gz`));
});

test('FileArchive removes no file that is newer than requested', async () => {
  const archive = createArchive(1, 'none');
  archive.tidy(STAMPS[0]);
  await archive.settled();
  expect(names()).toEqual(STAMPS.slice(1));
  archive.tidy(STAMPS[2]);
  await archive.settled();
  expect(names()).toEqual(STAMPS.slice(2));
});

test('FileArchive looks at the folder again only for a file that is new', async () => {
  const archive = createArchive(10, 'none');
  archive.tidy(STAMPS[0]);
  await archive.settled();
  writeFileSync(join(folder, `r.log.${STAMPS[0]}.gz.part`), '');
  archive.tidy(STAMPS[0]);
  await archive.settled();
  expect(names()).toContain(`${STAMPS[0]}.gz.part`);
});
