import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Digests, FileDigest } from '../../src/backup/profile-body.ts';
import { tarEntry } from './archive-bench.ts';

const NOON_MS = Date.UTC(2026, 10, 21, 12);

const tar = (entries: readonly (readonly [string, string])[], modifiedMs: number) =>
  Buffer.concat([...entries.map(([name, content]) => tarEntry(name, content, modifiedMs)), Buffer.alloc(1024)]);

function digest(bytes: Uint8Array, cuts: readonly number[] = []): Digests {
  const one = new FileDigest();
  let from = 0;
  for (const cut of [
    ...cuts.map((share) => Math.floor(share * bytes.length)).toSorted((a, b) => a - b),
    bytes.length,
  ]) {
    one.update(bytes.subarray(from, cut));
    from = cut;
  }
  return one.finish();
}

function isCutOff(bytes: Uint8Array): boolean {
  const one = new FileDigest();
  one.update(bytes);
  return one.isCutOff;
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const FILES = [
  ['profile.txt', 'x'.repeat(700)],
  ['empty', ''],
  ['exact', 'y'.repeat(512)],
] as const;

describe('FileDigest', () => {
  test('counts and sums all bytes', () => {
    const bytes = Buffer.from('administration.hostnames.hostname="plc"\n');
    expect(digest(bytes)).toEqual({ bytes: bytes.length, sha256: sha256(bytes), contentSha256: sha256(bytes) });
  });

  test('takes an archive of the same files that was made later for the same content', () => {
    const [early, late] = [digest(tar(FILES, NOON_MS)), digest(tar(FILES, NOON_MS + 86_400_000))];
    expect(early.sha256).not.toBe(late.sha256);
    expect(early.contentSha256).toBe(late.contentSha256);
  });

  test.for([
    ['a byte of a file', [['profile.txt', `x${'y'.repeat(699)}`], ...FILES.slice(1)]],
    ['the name of a file', [['profile.cfg', 'x'.repeat(700)], ...FILES.slice(1)]],
    ['the last file', FILES.slice(0, 2)],
    ['the size of a file', [['profile.txt', 'x'.repeat(699)], ...FILES.slice(1)]],
  ] as [string, [string, string][]][])('tells archives apart that differ in %s', ([, files]) => {
    expect(digest(tar(files, NOON_MS)).contentSha256).not.toBe(digest(tar(FILES, NOON_MS)).contentSha256);
  });

  test('does not look for times in the files of an archive', () => {
    const inner = (modifiedMs: number) =>
      tar([['inner.tar', tarEntry('a', 'b', modifiedMs).toString('latin1')]], NOON_MS);
    expect(digest(inner(NOON_MS)).contentSha256).not.toBe(digest(inner(NOON_MS + 1000)).contentSha256);
  });

  test('takes what follows a broken header as it is', () => {
    const whole = tar(FILES, NOON_MS);
    const later = tar(FILES, NOON_MS + 1000);
    // The second header.
    for (const archive of [whole, later]) archive.write('XXXXX', 512 + 1024 + 257);
    expect(digest(whole).contentSha256).not.toBe(digest(later).contentSha256);
  });

  test.for([
    ['within a file', 800],
    ['in the padding of a file', 512 + 700],
    ['within a header', 512 + 1024 + 100],
  ] as const)('says of an archive that it ends %s', ([, bytes]) => {
    expect(isCutOff(tar(FILES, NOON_MS).subarray(0, bytes))).toBe(true);
  });

  test('says of no other file that it is cut off', () => {
    const whole = tar(FILES, NOON_MS);
    // Some programs give a link the size of the file that it leads to.
    const link = Buffer.from(tarEntry('link', 'x'.repeat(700), NOON_MS).subarray(0, 512));
    link.write('1', 156);
    for (const bytes of [
      whole,
      // Without the end, with a part of it, and with something behind it.
      whole.subarray(0, -1024),
      whole.subarray(0, -700),
      Buffer.concat([whole, Buffer.from('x')]),
      Buffer.concat([link, Buffer.alloc(1024)]),
      Buffer.from('administration.hostnames.hostname="plc"\n'),
      new Uint8Array(2000),
    ]) {
      expect(isCutOff(bytes)).toBe(false);
    }
  });

  test('gives the same sums however the bytes are cut', () => {
    const files = fc.array(
      fc.tuple(fc.stringMatching(/^[a-z]{1,9}$/), fc.string({ unit: 'binary-ascii', maxLength: 1500 })),
    );
    const bytes = fc.oneof(
      files.map((entries) => new Uint8Array(tar(entries, NOON_MS))),
      fc.uint8Array({ maxLength: 2000 }),
    );
    fc.assert(
      fc.property(bytes, fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 }), (all, cuts) => {
        expect(digest(all, cuts)).toEqual(digest(all));
        expect(digest(all).sha256).toBe(sha256(all));
      }),
    );
  });
});
