import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { type DiffFlags, diffProfiles, listVersions } from '../../src/cli/profiles.ts';
import type { CommandIo } from '../../src/cli/support/io.ts';
import { type ArchiveBench, inPieces, openArchive, PROFILE, ROUTER } from './archive-bench.ts';

interface End {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(command: (io: CommandIo) => Promise<number>, isTerminal = false): Promise<End> {
  const output = { stdout: '', stderr: '' };
  const collect = (name: 'stdout' | 'stderr') =>
    Object.assign(
      new Writable({
        decodeStrings: false,
        write(chunk: string, _encoding, done) {
          output[name] += chunk;
          done();
        },
      }),
      { isTTY: isTerminal },
    );
  const code = await command({
    stdin: Readable.from([]),
    stdout: collect('stdout'),
    stderr: collect('stderr'),
    signal: new AbortController().signal,
    onHangup: () => {},
  });
  return { code, ...output };
}

/** A configuration next to the folder of the archive. */
async function writeConfig(bench: ArchiveBench, backup = '{ schedule: "0 3 * * *", path: backups }'): Promise<string> {
  const file = join(dirname(bench.path), 'router-exporter.yaml');
  const router = `  - { name: ${ROUTER}, url: "https://192.0.2.10", auth: none }`;
  await writeFile(file, `routers:\n${router}\n${backup && `backup: ${backup}\n`}`);
  return file;
}

async function diff(bench: ArchiveBench, flags: Partial<DiffFlags> = {}, isTerminal = false): Promise<End> {
  const configFile = await writeConfig(bench);
  return run(
    (io) => diffProfiles({ 'config.file': configFile, router: ROUTER, json: false, ...flags }, io),
    isTerminal,
  );
}

async function versions(bench: ArchiveBench, json = false, router = ROUTER): Promise<End> {
  const configFile = await writeConfig(bench);
  return run((io) => listVersions({ 'config.file': configFile, router, json }, io));
}

const lines = (...numbers: number[]) => numbers.map((number) => `line.${number}="${number}"\n`).join('');
const OLD = lines(1, 2, 3, 4, 5, 6, 7, 8, 9);
const NEW = OLD.replace('line.5="5"', 'line.5="five"');

describe('profiles diff', () => {
  test('shows what changed between the newest two versions as a unified diff', async () => {
    await using bench = await openArchive();
    for (const text of ['long ago\n', OLD, NEW]) await bench.keep(text);
    expect(await diff(bench)).toEqual({
      code: 0,
      stdout: `--- Profile 2 2026-11-21T03:02:00.000Z
+++ Profile 1 2026-11-21T03:03:00.000Z
@@ -2,7 +2,7 @@
 line.2="2"
 line.3="3"
 line.4="4"
-line.5="5"
+line.5="five"
 line.6="6"
 line.7="7"
 line.8="8"
`,
      stderr: '',
    });
  });

  test('compares the versions that are named, the newest being 1', async () => {
    await using bench = await openArchive();
    for (const text of ['a\n', 'b\n', 'c\n']) await bench.keep(text);
    expect((await diff(bench, { from: 3, to: 2 })).stdout).toContain('-a\n+b\n');
    expect((await diff(bench, { from: 3 })).stdout).toContain('-a\n+c\n');
    expect((await diff(bench, { to: 2 })).stdout).toContain('-a\n+b\n');
    expect((await diff(bench, { from: 1, to: 2 })).stdout).toContain('-c\n+b\n');
  });

  test('says that there are no differences', async () => {
    await using bench = await openArchive();
    await bench.keep('a\n');
    expect(await diff(bench, { from: 1, to: 1 })).toEqual({
      code: 0,
      stdout: 'Profile: no differences between version 1 and version 1\n',
      stderr: '',
    });
  });

  test('ends with exit code 1 when a version that was named is not there', async () => {
    await using bench = await openArchive();
    await bench.keep('a\n');
    expect(await diff(bench, { from: 7 })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Profile: there is no version 7; 1 are kept\n',
    });
    expect((await diff(bench, { from: 1, to: 4 })).stderr).toContain('no version 4');
  });

  test('has nothing to compare when there is one version', async () => {
    await using bench = await openArchive();
    await bench.keep('a\n');
    expect(await diff(bench)).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Profile: there are no two versions to compare\n',
    });
  });

  test('says of binary versions that they differ, with size and checksum', async () => {
    await using bench = await openArchive();
    const [old, fresh] = [
      (await bench.keep('aa', { format: 'binary' })).version,
      (await bench.keep('b', { format: 'binary' })).version,
    ];
    const { code, stdout } = await diff(bench);
    expect(code).toBe(0);
    expect(stdout).toBe(`Profile: the versions differ; only ascii can be compared line by line (backup.format)
  2  2026-11-21T03:01:00Z  binary  2 bytes  sha256 ${old.sha256}
  1  2026-11-21T03:02:00Z  binary  1 bytes  sha256 ${fresh.sha256}
`);
  });

  test('prefers the readable versions where there are both', async () => {
    await using bench = await openArchive(4);
    await bench.keep('a\n');
    await bench.keep('x', { format: 'binary' });
    await bench.keep('b\n');
    await bench.keep('y', { format: 'binary' });
    expect((await diff(bench)).stdout).toContain('-a\n+b\n');
    expect((await diff(bench, { from: 2, to: 1 })).stdout).toContain('only ascii can be compared');
  });

  test('passes over a damaged version, and refuses it when it is named', async () => {
    await using bench = await openArchive();
    const files: string[] = [];
    for (const text of ['a\n', 'b\n', 'c\n']) files.push((await bench.keep(text)).version.file);
    await writeFile(join(await bench.folder(), files[1] ?? ''), 'B\n');
    expect((await diff(bench)).stdout).toContain('-a\n+c\n');
    const named = await diff(bench, { from: 2 });
    expect(named).toMatchObject({ code: 1, stdout: '' });
    expect(named.stderr).toMatch(/^plant-7: The file .* is damaged: its checksum does not match\. /);
    await rm(join(await bench.folder(), files[0] ?? ''));
    expect((await diff(bench)).stderr).toBe('Profile: there are no two versions to compare; 2 of 3 are damaged\n');
  });

  test('compares every profile, or the one that is named', async () => {
    await using bench = await openArchive();
    for (const profile of ['spare', PROFILE]) {
      for (const text of ['a\n', 'b\n']) {
        const body = inPieces(`${profile} ${text}`);
        await bench.archive.keep({ router: ROUTER, profile, format: 'ascii', reason: 'change', body });
        await bench.clock.advance(1000);
      }
    }
    expect((await diff(bench)).stdout.match(/^\+\+\+ \w+/gm)).toEqual(['+++ Profile', '+++ spare']);
    expect((await diff(bench, { profile: 'spare' })).stdout.match(/^\+\+\+ \w+/gm)).toEqual(['+++ spare']);
    expect(await diff(bench, { profile: 'other' })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'No versions of profile "other" of plant-7; available: "Profile", "spare"\n',
    });
  });

  test('is coloured and warns of secrets on a terminal alone, and lets no text direct the terminal', async () => {
    await using bench = await openArchive();
    for (const text of ['a\n', 'b\u001b[2J\n']) await bench.keep(text);
    const { stdout, stderr } = await diff(bench, {}, true);
    expect(stderr).toBe('The lines of a profile may contain secrets of the router.\n');
    expect(stdout).toContain('\u001b[31m-a\u001b[39m\n\u001b[32m+b?[2J\u001b[39m\n');
    const plain = await diff(bench);
    expect(plain.stderr).toBe('');
    expect(plain.stdout).toContain('-a\n+b\u001b[2J\n');
  });

  test('keeps the name of a profile within its line of the heading', async () => {
    await using bench = await openArchive();
    for (const text of ['a\n', 'b\n']) {
      const request = { router: ROUTER, profile: 'x\n+++ y\u001b[2J', format: 'ascii', reason: 'change' } as const;
      await bench.archive.keep({ ...request, body: inPieces(text) });
    }
    expect((await diff(bench)).stdout.split('\n').slice(0, 2)).toEqual([
      '--- x?+++ y?[2J 2 2026-11-21T03:00:00.000Z',
      '+++ x?+++ y?[2J 1 2026-11-21T03:00:00.000Z',
    ]);
  });

  test('shows with --json both versions and the difference', async () => {
    await using bench = await openArchive();
    for (const text of ['a\n', 'b\n']) await bench.keep(text);
    const [newest, older] = await bench.versions();
    const toJson = (version: typeof newest, time: string) => ({
      number: version?.number,
      time,
      format: 'ascii',
      bytes: 2,
      sha256: version?.sha256,
      reason: 'schedule',
      state: 'good',
      file: version?.file,
    });
    expect(JSON.parse((await diff(bench, { json: true })).stdout)).toEqual([
      {
        profile: PROFILE,
        from: toJson(older, '2026-11-21T03:01:00Z'),
        to: toJson(newest, '2026-11-21T03:02:00Z'),
        equal: false,
        diff: expect.stringContaining('-a\n+b\n'),
      },
    ]);
    await bench.keep('x', { format: 'binary' });
    const [json] = JSON.parse((await diff(bench, { json: true, from: 2 })).stdout);
    expect(json).toMatchObject({ equal: false, diff: null });
  });
});

describe('profiles versions', () => {
  test('lists the kept versions, newest first', async () => {
    await using bench = await openArchive();
    const old = (await bench.keep('a\n')).version.sha256.slice(0, 12);
    const fresh = (await bench.keep('bb', { format: 'binary' })).version.sha256.slice(0, 12);
    expect(await versions(bench)).toEqual({
      code: 0,
      stdout: `PROFILE  NUMBER  TIME (UTC)            FORMAT  BYTES  SHA-256       REASON    STATE
Profile  1       2026-11-21T03:02:00Z  binary  2      ${fresh}  schedule  good
Profile  2       2026-11-21T03:01:00Z  ascii   2      ${old}  schedule  good
`,
      stderr: '',
    });
    const json = JSON.parse((await versions(bench, true)).stdout);
    expect(json).toMatchObject([
      { profile: PROFILE, number: 1 },
      { profile: PROFILE, number: 2, state: 'good' },
    ]);
  });

  test('ends with exit code 1 when one is damaged', async () => {
    await using bench = await openArchive();
    const { file } = (await bench.keep('a\n')).version;
    await writeFile(join(await bench.folder(), file), 'b\n');
    expect(await versions(bench)).toMatchObject({ code: 1, stdout: expect.stringMatching(/damaged\n$/) });
  });

  test('names the folder of a profile whose record is damaged', async () => {
    await using bench = await openArchive();
    await bench.keep('a\n');
    await writeFile(join(await bench.folder(), 'manifest.json'), '{');
    const { code, stderr } = await versions(bench);
    expect(code).toBe(1);
    expect(stderr).toContain(`The manifest in ${await bench.folder()} is damaged`);
  });

  test('says where nothing is kept of a router, and whether it is known at all', async () => {
    await using bench = await openArchive();
    expect(await versions(bench)).toEqual({
      code: 1,
      stdout: '',
      stderr: `No versions of profiles of "plant-7" in ${bench.path}\n`,
    });
    expect((await versions(bench, false, 'plant-8')).stderr).toMatch(/, and .* has no router of this name\n$/);
  });

  test('still lists what is kept of a router that the configuration has no more', async () => {
    await using bench = await openArchive();
    const body = inPieces('a\n');
    await bench.archive.keep({ router: 'old', profile: PROFILE, format: 'ascii', reason: 'schedule', body });
    expect(await versions(bench, false, 'old')).toMatchObject({ code: 0, stderr: '' });
  });

  test('is wrong usage without a backup in the configuration, or with a faulty one', async () => {
    await using bench = await openArchive();
    const without = await writeConfig(bench, '');
    const flags = { 'config.file': without, router: ROUTER, json: false };
    expect(await run((io) => listVersions(flags, io))).toMatchObject({
      code: 2,
      stderr: `${without} has no section backup, so there are no versions\n`,
    });
    await writeFile(without, `${await readFile(without, 'utf8')}nonsense: 1\n`);
    expect(await run((io) => listVersions(flags, io))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('nonsense'),
    });
  });
});
