import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { openAdmin } from './client.ts';

describe('profile download', () => {
  test('the readable form has one line per parameter and no password', async () => {
    await using bench = await openAdmin({}, 'monitor');
    const { text, headers } = await bench.call('GET', '/download/profiles?profile=Profile&format=ascii');
    expect(headers['content-disposition']).toBe('attachment; filename=Profile.txt');
    const lines = text.split('\n');
    expect(lines).toContain('administration.webinterface.session_timeout="15"');
    expect(lines).toContain('administration.users.user2.username="monitor"');
    expect(lines).toContain('wan.wans.wan1[2].interface="ipsec1"');
    expect(text).not.toContain('simulated');
  });

  test('the binary form is an archive that the tar program reads', async () => {
    await using bench = await openAdmin({}, 'monitor');
    const { bytes, headers } = await bench.call('GET', '/download/profiles?profile=Profile');
    expect(headers['content-disposition']).toBe('attachment; filename=Profile.tar');
    expect(bytes.length % 512).toBe(0);
    const { stdout, status } = spawnSync('tar', ['-xOf', '-', 'profile.txt'], { input: bytes });
    expect(status).toBe(0);
    const ascii = await bench.call('GET', '/download/profiles?profile=Profile&format=ascii');
    expect(stdout.equals(ascii.bytes)).toBe(true);
  });

  test('a changed profile gives another file, an unchanged one the same', async () => {
    await using bench = await openAdmin();
    const read = async () => (await bench.call('GET', '/download/profiles?profile=Profile')).bytes.toString('latin1');
    const before = await read();
    expect(await read()).toBe(before);
    await bench.call('PUT', '/configuration/events/email_account', { config: { unique: { port: '587' } } });
    expect(await read()).not.toBe(before);
  });
});
