import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BackupError, ProfileArchive } from '../../src/backup/index.ts';
import {
  type ArchiveBench,
  inPieces,
  openArchive,
  PROFILE,
  ROUTER,
  START_MS,
  tarEntry,
  thrownBy,
} from './archive-bench.ts';

const MINUTE_MS = 60_000;
const MIB = 1024 * 1024;
const textOf = (bytes: Buffer) => bytes.toString();

describe('keep()', () => {
  test('writes the bytes as they came, with their time and checksum, for the owner alone', async () => {
    await using bench = await openArchive();
    const { type, version } = await bench.keep('hostname="plc"\n');
    expect({ type, version }).toEqual({
      type: 'kept',
      version: {
        file: `20261121T030100Z-${version.sha256.slice(0, 12)}.txt`,
        timeMs: START_MS + MINUTE_MS,
        bytes: 15,
        sha256: createHash('sha256').update('hostname="plc"\n').digest('hex'),
        contentSha256: version.sha256,
        format: 'ascii',
        reason: 'schedule',
      },
    });
    const folder = await bench.folder();
    expect(await readFile(join(folder, version.file), 'utf8')).toBe('hostname="plc"\n');
    expect(await bench.files()).toEqual([version.file, 'manifest.json']);
    for (const file of await bench.files()) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
    for (const path of [folder, dirname(folder), bench.path]) expect((await stat(path)).mode & 0o777).toBe(0o700);
  });

  test('drops a download that equals the newest version, and records the check', async () => {
    await using bench = await openArchive();
    const first = await bench.keep('a');
    const second = await bench.keep('a');
    expect(second).toEqual({ type: 'unchanged', version: first.version });
    expect(await bench.files()).toEqual([first.version.file, 'manifest.json']);
    expect(await bench.archive.listProfiles(ROUTER)).toMatchObject([
      {
        lastAttempt: { timeMs: START_MS + 2 * MINUTE_MS, isSuccess: true },
        lastSuccessMs: START_MS + 2 * MINUTE_MS,
        versions: [{ timeMs: START_MS + MINUTE_MS }],
      },
    ]);
  });

  test('keeps the same text in the other format as a version of its own', async () => {
    await using bench = await openArchive();
    await bench.keep('a', { format: 'ascii' });
    expect((await bench.keep('a', { format: 'binary' })).type).toBe('kept');
    expect((await bench.versions()).map(({ format }) => format)).toEqual(['binary', 'ascii']);
  });

  test('removes the oldest versions beyond the bound and never the new one', async () => {
    await using bench = await openArchive(2);
    for (const text of ['a', 'b', 'c']) await bench.keep(text);
    const versions = await bench.versions();
    expect(versions.map(({ timeMs }) => (timeMs - START_MS) / MINUTE_MS)).toEqual([3, 2]);
    expect(await bench.files()).toEqual([...versions.map(({ file }) => file).toReversed(), 'manifest.json']);
    await bench.keep('d', { archive: bench.reopen(1) });
    expect((await bench.versions()).map(({ number, state }) => [number, state])).toEqual([[1, 'good']]);
    expect(textOf(await bench.archive.readVersion(ROUTER, PROFILE, (await bench.versions())[0] as never))).toBe('d');
  });

  test('counts distinct versions: content that comes back is the newest and replaces its old entry', async () => {
    await using bench = await openArchive(3);
    for (const text of ['x', 'a', 'b', 'a', 'b', 'a']) await bench.keep(text);
    const texts = await Promise.all(
      (await bench.versions()).map(async (version) =>
        textOf(await bench.archive.readVersion(ROUTER, PROFILE, version)),
      ),
    );
    expect(texts).toEqual(['a', 'b', 'x']);
    expect(await bench.files()).toHaveLength(4);
  });

  test('keeps versions of one moment apart, also when the first comes back', async () => {
    await using bench = await openArchive();
    const keepNow = (text: string) =>
      bench.archive.keep({ router: ROUTER, profile: PROFILE, format: 'ascii', reason: 'change', body: inPieces(text) });
    for (const text of ['a', 'b', 'a']) await keepNow(text);
    const versions = await bench.versions();
    expect(versions.map(({ state, reason }) => [state, reason])).toEqual([
      ['good', 'change'],
      ['good', 'change'],
    ]);
    expect(await bench.files()).toHaveLength(3);
  });

  test('keeps the download again when the file of the newest version is damaged', async () => {
    await using bench = await openArchive();
    const { version } = await bench.keep('hostname="plc"');
    await writeFile(join(await bench.folder(), version.file), 'hostname="pl0"');
    const again = await bench.keep('hostname="plc"');
    expect(again.type).toBe('kept');
    expect((await bench.versions()).map(({ state }) => state)).toEqual(['good']);
    expect(await bench.files()).toEqual([again.version.file, 'manifest.json']);
  });

  test.for([
    ['an empty one', '', 'empty'],
    ['a web page', ' \n<!DOCTYPE html><html><title>Login</title>', 'not-a-profile'],
    ['another web page', '<HTML>\n', 'not-a-profile'],
    [
      'a web page behind the declaration of XML',
      '\uFEFF<?xml version="1.0"?>\n<!-- a\nb -->\n<html xmlns="x">',
      'not-a-profile',
    ],
    [
      'an archive that ends within its file',
      tarEntry('profile.txt', 'x'.repeat(700), START_MS).subarray(0, 900),
      'cut-off',
    ],
    ['one that is too large', new Uint8Array(16 * MIB + 1), 'too-large'],
  ] as const)('refuses %s and leaves everything as it was', async ([, content, code]) => {
    await using bench = await openArchive();
    const { version } = await bench.keep('a');
    const body = inPieces(content, MIB);
    expect(await thrownBy(bench.keep(body))).toMatchObject({ name: 'BackupError', code });
    expect(await bench.files()).toEqual([version.file, 'manifest.json']);
    expect(await bench.versions()).toHaveLength(1);
  });

  test('keeps one of the largest size, and one that only speaks of a web page', async () => {
    await using bench = await openArchive();
    expect((await bench.keep(inPieces(new Uint8Array(16 * MIB), MIB))).version.bytes).toBe(16 * MIB);
    expect((await bench.keep('note="<html>"\n')).type).toBe('kept');
  });

  test('stops reading a body at its bound', async () => {
    await using bench = await openArchive();
    let sent = 0;
    const endless = (async function* () {
      for (;;) {
        sent += MIB;
        yield new Uint8Array(MIB);
      }
    })();
    expect(await thrownBy(bench.keep(endless))).toMatchObject({ code: 'too-large' });
    expect(sent).toBeLessThanOrEqual(18 * MIB);
  });

  test('passes on what the download throws and leaves no trace of it', async () => {
    await using bench = await openArchive();
    const { version } = await bench.keep('a');
    const cut = new RangeError('The connection was lost');
    const body = (async function* () {
      yield Buffer.from('hostna');
      throw cut;
    })();
    expect(await thrownBy(bench.keep(body))).toBe(cut);
    expect(await bench.files()).toEqual([version.file, 'manifest.json']);
    expect((await bench.manifest())['last_success']).toBe('2026-11-21T03:01:00.000Z');
  });

  test('throws the code write when the folder cannot be made', async () => {
    await using bench = await openArchive();
    await writeFile(bench.path, 'a file');
    expect(await thrownBy(bench.keep('a'))).toMatchObject({ code: 'write', disposition: 'operator' });
  });

  test('leaves the folder of another profile alone', async () => {
    await using bench = await openArchive();
    await bench.keep('a');
    await bench.writeManifest((manifest) => ({ ...manifest, profile: 'Other' }));
    expect(await thrownBy(bench.keep('b'))).toMatchObject({ code: 'write' });
    expect(await bench.files()).toHaveLength(2);
  });

  test('keeps profiles and routers apart whose names differ in nothing that a folder shows', async () => {
    await using bench = await openArchive();
    const names = ['a/b', 'a_b', '../a', '..', ''];
    for (const profile of names) {
      await bench.archive.keep({
        router: ROUTER,
        profile,
        format: 'ascii',
        reason: 'schedule',
        body: inPieces(`=${profile}`),
      });
    }
    const profiles = await bench.archive.listProfiles(ROUTER);
    expect(profiles.map(({ profile }) => profile)).toEqual(names.toSorted());
    for (const { profile, versions } of profiles) {
      const bytes = await bench.archive.readVersion(ROUTER, profile, versions[0] as never);
      expect(textOf(bytes)).toBe(`=${profile}`);
    }
    expect(await readdir(dirname(bench.path))).toEqual(['backups']);
    expect(await readdir(bench.path)).toEqual([ROUTER]);
    expect(await bench.archive.listProfiles('plant-8')).toEqual([]);
  });
});

describe('a crash', () => {
  test('within a download leaves a part that never counts and goes with the next backup', async () => {
    await using bench = await openArchive();
    const { version } = await bench.keep('a');
    await writeFile(join(await bench.folder(), 'download.999-1.part'), 'half');
    expect(await bench.versions()).toHaveLength(1);
    await bench.keep('a');
    expect(await bench.files()).toEqual([version.file, 'manifest.json']);
  });

  test('between a version and its record leaves a version that the next backup records', async () => {
    await using bench = await openArchive();
    await bench.keep('a');
    const before = await bench.manifest();
    const { version } = await bench.keep('b');
    await bench.writeManifest(() => before);
    expect(await bench.versions()).toHaveLength(1);
    expect(await bench.keep('b')).toMatchObject({
      type: 'unchanged',
      version: { file: version.file, reason: 'recovered' },
    });
    expect((await bench.versions()).map(({ file, state }) => [file, state])).toEqual([
      [version.file, 'good'],
      [expect.stringContaining('20261121T030100Z'), 'good'],
    ]);
  });

  test('between a record and the removal of an old version leaves a file that goes with a later backup', async () => {
    await using bench = await openArchive(2);
    const { version } = await bench.keep('a');
    const bytes = await readFile(join(await bench.folder(), version.file));
    for (const text of ['b', 'c']) await bench.keep(text);
    await writeFile(join(await bench.folder(), version.file), bytes);
    await bench.keep('c');
    expect((await bench.versions()).map(({ timeMs }) => (timeMs - START_MS) / MINUTE_MS)).toEqual([3, 2]);
    expect(await bench.files()).toHaveLength(3);
  });

  test('after a version came back leaves a second file of it, which goes with the next backup', async () => {
    await using bench = await openArchive(9);
    const { version } = await bench.keep('a');
    const bytes = await readFile(join(await bench.folder(), version.file));
    for (const text of ['b', 'a', 'c']) await bench.keep(text);
    await writeFile(join(await bench.folder(), version.file), bytes);
    await bench.keep('c');
    expect(await bench.versions()).toHaveLength(3);
    expect(await bench.files()).toHaveLength(4);
    expect(await bench.files()).not.toContain(version.file);
  });
});

describe('a damaged record', () => {
  test('hides the profile from the list, is reported, and is rebuilt from the files by the next backup', async () => {
    await using bench = await openArchive();
    for (const text of ['a', 'b']) await bench.keep(text);
    await writeFile(join(await bench.folder(), 'manifest.json'), '{"manifest": 1, "rou');
    expect(await bench.archive.listProfiles(ROUTER)).toEqual([]);
    expect(await bench.archive.listDamagedFolders(ROUTER)).toEqual([await bench.folder()]);
    expect((await bench.keep('b')).type).toBe('unchanged');
    expect(await bench.archive.listDamagedFolders(ROUTER)).toEqual([]);
    expect((await bench.versions()).map(({ reason, timeMs, state }) => [reason, timeMs, state])).toEqual([
      ['recovered', START_MS + 2 * MINUTE_MS, 'good'],
      ['recovered', START_MS + MINUTE_MS, 'good'],
    ]);
  });

  test('does not let a file count that is not what its name says', async () => {
    await using bench = await openArchive();
    const { version } = await bench.keep('a');
    const folder = await bench.folder();
    await rm(join(folder, 'manifest.json'));
    await writeFile(join(folder, version.file), 'A');
    await bench.keep('b');
    expect(await bench.versions()).toHaveLength(1);
    expect(await bench.files()).toHaveLength(3);
  });
});

describe('listVersions()', () => {
  test('says which files are not what was kept', async () => {
    await using bench = await openArchive(4);
    const files: string[] = [];
    for (const text of ['a', 'bbbb', 'c', 'd']) files.push((await bench.keep(text)).version.file);
    const [missing = '', cut = '', changed = ''] = files.map((file) => file);
    const folder = await bench.folder();
    await rm(join(folder, missing));
    await truncate(join(folder, cut), 3);
    await writeFile(join(folder, changed), 'C');
    expect((await bench.versions()).map(({ number, state }) => [number, state])).toEqual([
      [1, 'good'],
      [2, 'damaged'],
      [3, 'damaged'],
      [4, 'missing'],
    ]);
  });

  test('takes a folder in the place of a file for damaged', async () => {
    await using bench = await openArchive();
    const { version } = await bench.keep('a');
    const file = join(await bench.folder(), version.file);
    await rm(file);
    await mkdir(file);
    expect((await bench.versions()).map(({ state }) => state)).toEqual(['damaged']);
  });
});

describe('readVersion()', () => {
  test('never gives a damaged version', async () => {
    await using bench = await openArchive();
    const { version } = await bench.keep('a');
    await writeFile(join(await bench.folder(), version.file), 'b');
    const cause = await thrownBy(bench.archive.readVersion(ROUTER, PROFILE, version));
    expect(cause).toBeInstanceOf(BackupError);
    expect(cause).toMatchObject({ code: 'damaged', hint: expect.stringContaining('another version') });
  });
});

describe('recordFailure()', () => {
  test('records the attempt and keeps what is known, across a restart', async () => {
    await using bench = await openArchive();
    await bench.keep('a');
    await bench.clock.advance(MINUTE_MS);
    await bench.archive.recordFailure(ROUTER, PROFILE);
    const [kept] = await bench.reopen().listProfiles(ROUTER);
    expect(kept).toMatchObject({
      lastAttempt: { timeMs: START_MS + 2 * MINUTE_MS, isSuccess: false },
      lastSuccessMs: START_MS + MINUTE_MS,
    });
    expect(kept?.versions).toHaveLength(1);
    expect(await bench.archive.readLastAttempts(ROUTER)).toEqual([
      { profile: PROFILE, timeMs: START_MS + 2 * MINUTE_MS, isSuccess: false },
    ]);
    expect(await bench.archive.readLastAttempts('plant-8')).toEqual([]);
  });

  test('remembers a failure that could not be written, until a backup succeeds', async () => {
    await using bench = await openArchive();
    await writeFile(bench.path, 'a file');
    await bench.archive.recordFailure(ROUTER, PROFILE);
    await rm(bench.path);
    expect(await bench.archive.listProfiles(ROUTER)).toMatchObject([
      { profile: PROFILE, lastAttempt: { isSuccess: false } },
    ]);
    await bench.keep('a');
    expect(await bench.archive.listProfiles(ROUTER)).toMatchObject([
      { profile: PROFILE, lastAttempt: { isSuccess: true } },
    ]);
  });
});

describe('prepare()', () => {
  test('makes a folder for the owner alone', async () => {
    await using bench = await openArchive();
    expect(await bench.archive.prepare()).toEqual({ isOpenToOthers: false });
    expect((await stat(bench.path)).mode & 0o777).toBe(0o700);
  });

  test('says when others can look into a folder that was there', async () => {
    await using bench = await openArchive();
    await mkdir(bench.path, { mode: 0o755 });
    expect(await bench.archive.prepare()).toEqual({ isOpenToOthers: true });
  });

  test('throws the code write when there is no folder to be had', async () => {
    await using bench = await openArchive();
    await writeFile(bench.path, 'a file');
    expect(await thrownBy(bench.archive.prepare())).toMatchObject({ code: 'write' });
  });
});

describe('what one router may take of the disk', () => {
  const keepIn = ({ path, clock }: ArchiveBench, bounds: Partial<ConstructorParameters<typeof ProfileArchive>[0]>) => {
    const archive = new ProfileArchive({ path, clock, keep: 3, ...bounds });
    const keep = (profile: string, content: string) => {
      const body = inPieces(content, 1000);
      return archive.keep({ router: ROUTER, profile, format: 'ascii', reason: 'schedule', body });
    };
    const count = async () => {
      const profiles = await archive.listProfiles(ROUTER);
      return profiles.map(({ profile, versions }) => [profile, versions.map(({ bytes }) => bytes)]);
    };
    return { keep, count };
  };

  test('is bounded: what a profile has of old versions goes first, and a version beyond the bound is refused by name', async () => {
    await using bench = await openArchive();
    const { keep, count } = keepIn(bench, { routerBytesMax: 1000 });
    await keep('one', 'a'.repeat(300));
    await keep('one', 'b'.repeat(301));
    await keep('two', 'c'.repeat(390));
    await keep('one', 'd'.repeat(302));
    expect(await count()).toEqual([
      ['one', [301, 302]],
      ['two', [390]],
    ]);
    expect(await thrownBy(keep('three', 'e'.repeat(400)))).toMatchObject({
      code: 'too-large',
      message: `The kept profiles of router ${ROUTER} would take more than 1000 bytes`,
    });
    expect(await count()).toEqual([
      ['one', [301, 302]],
      ['two', [390]],
    ]);
  });

  test('ends where the reserve of the state begins, in the middle of a download', async () => {
    await using bench = await openArchive();
    const free = [MIB, MIB, 0];
    const { keep } = keepIn(bench, { readFreeBytes: () => Promise.resolve(free.shift() ?? MIB) });
    const cause = await thrownBy(keep('endless', 'a'.repeat(MIB)));
    expect(free).toEqual([]);
    expect(cause).toMatchObject({ code: 'write' });
    expect(String(cause)).toContain(
      'no room for another version of a profile in addition to the space reserved for the state',
    );
    const [folder = ''] = await readdir(join(bench.path, ROUTER));
    expect(await readdir(join(bench.path, ROUTER, folder))).toEqual([]);
  });
});
