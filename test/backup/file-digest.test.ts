import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Digests, FileDigest } from '../../src/backup/file-digest.ts';

const NOON_MS = Date.UTC(2026, 10, 21, 12);

/** One file of a POSIX archive, as tar writes it. */
function tarEntry(name: string, content: string, modifiedMs: number): Buffer {
  const header = Buffer.alloc(512);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0');
  header.write(name, 0);
  header.write(`${octal(0o644, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100);
  header.write(`${octal(content.length, 11)}\0${octal(modifiedMs / 1000, 11)}\0`, 124);
  header.write('        0', 148);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)}\0 `, 148);
  return Buffer.concat([header, Buffer.from(content), Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

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
