import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compareKeys } from '../../src/backup/index.ts';
import { type ArchiveBench, inPieces, openArchive, PROFILE, ROUTER } from './archive-bench.ts';

const compare = ({ archive }: ArchiveBench, version = 1, profile = PROFILE) =>
  compareKeys(archive, ROUTER, profile, version);

test('the keys of two versions are compared without any value, and a line without a key is hidden', async () => {
  await using bench = await openArchive();
  await bench.keep('net.lan.1.ip="192.0.2.1"\nnet.lan.1[2].name="office"\nnet.lan.1.mtu=1500\nfree text\n');
  await bench.keep('net.lan.1.ip="192.0.2.2"\nnet.lan.1[2].name="office"\nnet.lan.2.dhcp="1"\nother text\n');
  expect((await compare(bench)).split('\n')).toEqual([
    '- …',
    '+ …',
    '- net.lan.1.ip=…',
    '+ net.lan.1.ip=…',
    '- net.lan.1.mtu=…',
    '+ net.lan.2.dhcp=…',
  ]);
});

/** Whatever a profile may hold, with a mark in each line that must not be shown. */
const SECRETS = [
  'users.1.password="canary"',
  'wlan.1.psk=canary',
  'vpn.1.key=-----BEGIN PRIVATE KEY-----canary',
  'MIIEvQIBADANBgkqhkiG9w0BAQcanaryFAASCBKcwggSjAgEAAoIBAQ==',
  'canary==',
  'canary=',
  'eyJhbGciOiJIUzI1NiJ9.canary.c2lnbmF0dXJl=',
  '-----END PRIVATE KEY-----canary',
  'canary',
  '--- canary',
  '+++ canary',
  '@@ -1,1 +1,1 @@ canary',
  'sip:canary@192.0.2.1=x',
  'sim.1.pin = canary',
  `users.${'canary'.repeat(20)}.x=1`,
  `${'x'.repeat(50_000)}canary.a=b`,
  '\rcanary',
  'a.b=1\rcanary.c=2',
  'a.b="\u2028canary.c=2"',
  '<script>canary</script>=1',
];

test('nothing of a value, a key or a certificate is shown, on whichever side of the comparison it is', async () => {
  await using bench = await openArchive();
  for (const text of ['', ...SECRETS.map((line) => `${line}\n`), '']) {
    await bench.keep(`first.key=1\n${text}last.key=1\n`);
    const shown = await compare(bench);
    expect(shown).not.toMatch(/canary|script|BEGIN/i);
    expect(shown.split('\n').length).toBeLessThan(10);
  }
  await bench.keep(`${SECRETS.join('\n')}\n`);
  expect(await compare(bench)).not.toContain('canary');
  await bench.keep(SECRETS.toReversed().join('\n'));
  expect(await compare(bench)).not.toContain('canary');
});

test('no other version is read than the two', async () => {
  await using bench = await openArchive();
  for (const value of [1, 2, 3]) await bench.keep(`a.b=${value}\nkey.${value}=\n`);
  Object.assign(bench.archive, { listVersions: () => expect.unreachable('It reads every version') });
  expect(await compare(bench, 2)).toBe('- a.b=…\n+ a.b=…\n- key.1=…\n+ key.2=…');
});

test('versions that cannot be compared are said so', async () => {
  await using bench = await openArchive(9);
  expect(await compare(bench)).toBe('there is no version 2; 0 are kept');
  await bench.keep('a.b=1\n');
  expect(await compare(bench)).toBe('there is no version 2; 1 are kept');
  expect(await compare(bench, 7, '../../etc')).toBe('there is no version 8; 0 are kept');
  await bench.keep(new Uint8Array([1, 2, 3]), { format: 'binary' });
  const refused = 'only versions of the format ascii, of 512 KiB at most, are compared on this page';
  expect(await compare(bench)).toBe(refused);
  await bench.keep('a.b=2\n');
  await bench.keep(inPieces(`a.b="${'x'.repeat(512 * 1024)}"\n`, 65_536));
  expect(await compare(bench)).toBe(refused);
  const lines = (start: number) => Array.from({ length: 1000 }, (_, index) => `a.b${start + index * 7}=\n`).join('');
  await bench.keep(lines(0));
  await bench.keep(lines(1));
  const shown = (await compare(bench)).split('\n');
  expect([shown.length, shown.at(-1)]).toEqual([501, 'and 1,500 more lines']);
  await bench.keep(`${lines(1)}a.b1=\n`);
  expect(await compare(bench)).toBe('no key and no value differs');
  const newest = (await bench.versions())[0];
  await appendFile(join(await bench.folder(), newest?.file ?? ''), 'x');
  await expect(compare(bench)).rejects.toThrow('is damaged: its checksum does not match');
});
