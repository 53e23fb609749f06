import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readTextFile } from '../../src/settings/files/text-file.ts';
import { CERTIFICATE, load } from './configuration-folder.ts';

const router = (line: string) => `routers:\n  - name: a\n    url: https://a\n    username: u\n    ${line}\n`;
const NOT_PEM =
  'Expected a file of PEM blocks "BEGIN CERTIFICATE", at least one and all of them whole; found other content';

describe('loadConfig() on files that the configuration names', () => {
  it.each([
    ['pw', 'pw'],
    ['pw\n', 'pw'],
    ['pw\r\n', 'pw'],
    ['pw\n\n', 'pw\n'],
    [' p w ', ' p w '],
  ])('takes the password from a file of %j without its line end', async (content, password) => {
    const { config } = await load(router('password_file: secrets/pw'), { files: { 'secrets/pw': content } });
    expect(config?.routers[0]?.password.reveal()).toBe(password);
  });

  it.each([
    ['an empty password file', '\n', 'Expected a file that holds the password; found an empty one'],
    [
      'a password file that is too large',
      'x'.repeat(4097),
      'The file named here is larger than the limit of 4096 bytes; relative paths start at FOLDER. Its name is not shown, because it may be the secret itself',
    ],
    [
      'a binary password file',
      Uint8Array.of(0xff),
      'The file named here is not UTF-8 text; relative paths start at FOLDER. Its name is not shown, because it may be the secret itself',
    ],
  ])('refuses %s', async (_, content, message) => {
    const { lines } = await load(router('password_file: pw'), { files: { pw: content } });
    expect(lines).toEqual([`router-exporter.yaml:5:20: routers[0].password_file: ${message}`]);
  });

  it('points at the name of a file that does not exist', async () => {
    const { lines } = await load(router('password: p\n    tls:\n      ca_file: /nonexistent/ca.pem'));
    expect(lines).toEqual([
      'router-exporter.yaml:7:16: routers[0].tls.ca_file: The file named here, "/nonexistent/ca.pem", does not exist',
    ]);
  });

  it('reports a missing file of the defaults once for all routers', async () => {
    const { lines } = await load(`defaults: { username: u, password: p, tls: { ca_file: ca.pem } }
routers: [{ name: a, url: "https://a" }, { name: b, url: "https://b" }]`);
    expect(lines).toEqual([
      'router-exporter.yaml:1:55: defaults.tls.ca_file: The file named here, "ca.pem", does not exist; relative paths start at FOLDER',
    ]);
  });

  it('keeps the certificates of a CA file and nothing else in it', async () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n';
    const { config } = await load(router('password: p\n    tls: { ca_file: ca.pem }'), {
      files: { 'ca.pem': `# authority one\n${CERTIFICATE}${key}\n# authority two\n${CERTIFICATE}` },
    });
    expect(config?.routers[0]?.tls.ca_file).toBe(CERTIFICATE + CERTIFICATE);
  });

  it.each([
    ['nothing', ''],
    ['text', 'hello'],
    ['a key', '-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n'],
    ['a damaged certificate', CERTIFICATE.replace('MIIB', 'MIIC')],
    ['a certificate that is cut off', CERTIFICATE + CERTIFICATE.slice(0, 200)],
  ])('refuses a CA file of %s', async (_, content) => {
    const { lines } = await load(router('password: p\n    tls: { ca_file: ca.pem }'), { files: { 'ca.pem': content } });
    expect(lines).toEqual([`router-exporter.yaml:6:21: routers[0].tls.ca_file: ${NOT_PEM}`]);
  });
});

describe('readTextFile()', () => {
  it.skipIf(process.getuid?.() === 0)('says that a file may not be read when its rights forbid it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'router-exporter-config-'));
    try {
      await writeFile(join(folder, 'x'), 'x');
      await chmod(join(folder, 'x'), 0);
      const file = await readTextFile(join(folder, 'x'), 10);
      expect(file).toEqual({ ok: false, reason: 'may not be read by the user that runs this program' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('reads a file of exactly the limit', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'router-exporter-config-'));
    try {
      await writeFile(join(folder, 'x'), '12345');
      expect(await readTextFile(join(folder, 'x'), 5)).toMatchObject({ ok: true, text: '12345' });
      expect(await readTextFile(join(folder, 'x'), 4)).toMatchObject({ ok: false });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
