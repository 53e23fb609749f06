import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Manifest,
  parseManifest,
  parseVersionFile,
  renderManifest,
  renderVersionFile,
} from '../../src/backup/manifest.ts';

const SHA256 = 'ab'.repeat(32);
const TIME_MS = Date.UTC(2026, 10, 21, 3, 4, 5, 678);
const MANIFEST: Manifest = {
  router: 'plant-7',
  profile: 'Profil "Süd"\n\ud800',
  isListed: false,
  lastAttempt: { timeMs: TIME_MS, isSuccess: false },
  lastSuccessMs: TIME_MS - 1000,
  versions: [
    {
      file: renderVersionFile(TIME_MS, SHA256, 'ascii'),
      timeMs: TIME_MS,
      bytes: 12,
      sha256: SHA256,
      contentSha256: 'cd'.repeat(32),
      format: 'ascii',
      reason: 'change',
    },
  ],
};

describe('renderVersionFile()', () => {
  test.for(['binary', 'ascii'] as const)('makes a name that says time, checksum and the format %s', (format) => {
    const file = renderVersionFile(TIME_MS, SHA256, format);
    expect(file).toBe(`20261121T030405Z-abababababab.${format === 'binary' ? 'tar' : 'txt'}`);
    expect(parseVersionFile(file)).toEqual({
      timeMs: Math.floor(TIME_MS / 1000) * 1000,
      sha256Start: 'abababababab',
      format,
    });
  });
});

describe('parseVersionFile()', () => {
  test.for([
    'manifest.json',
    '../20261121T030405Z-abababababab.txt',
    '20261121T030405Z-abababababab.txt.part',
    '20261399T030405Z-abababababab.txt',
    '',
  ])('takes %j for no version', (file) => expect(parseVersionFile(file)).toBeUndefined());
});

describe('parseManifest()', () => {
  test('reads what renderManifest() wrote', () => {
    expect(parseManifest(renderManifest(MANIFEST))).toEqual(MANIFEST);
    const fresh = { ...MANIFEST, lastAttempt: undefined, lastSuccessMs: undefined, versions: [], isListed: true };
    expect(parseManifest(renderManifest(fresh))).toEqual(fresh);
  });

  test('refuses a file that leads out of the folder, and everything else that is no record', () => {
    const json = JSON.parse(renderManifest(MANIFEST));
    const [version] = json.versions;
    const changed = (change: object) => JSON.stringify({ ...json, versions: [{ ...version, ...change }] });
    expect(parseManifest(changed({}))).toEqual(MANIFEST);
    for (const change of [
      { file: '../../../etc/shadow' },
      { file: undefined },
      { bytes: 'many' },
      { time: 'noon' },
      { sha256: 'ab' },
      { content_sha256: 1 },
      { reason: 'whim' },
    ]) {
      expect([change, parseManifest(changed(change))]).toEqual([change, undefined]);
    }
    for (const change of [{ manifest: 2 }, { router: 1 }, { profile: null }, { versions: {} }]) {
      expect([change, parseManifest(JSON.stringify({ ...json, ...change }))]).toEqual([change, undefined]);
    }
  });

  test('takes a profile for listed, and an attempt for a failed one, where nothing says so', () => {
    const { listed, last_attempt: attempt, ...json } = JSON.parse(renderManifest(MANIFEST));
    expect([listed, attempt.success]).toEqual([false, false]);
    const bare = { ...json, last_attempt: { time: attempt.time } };
    expect(parseManifest(JSON.stringify(bare))).toEqual({ ...MANIFEST, isListed: true });
  });

  test('takes any text and never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(parseManifest(text)).toBeUndefined();
      }),
    );
  });
});
