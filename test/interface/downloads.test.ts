import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { describe, expect, test } from 'vitest';
import { failureOf, readBytes, readText, START_MS, shareFleets } from './bench.ts';

const openInterface = shareFleets();

const { signal } = new AbortController();
/** What the simulator's clock makes of a file that is rotated at the start. */
const ARCHIVE = 'network/log-2026-11-21-08:00:00.bz2';
const TAR_BLOCK_BYTES = 512;

describe('logs', () => {
  test('the list names the live file of each component and its archives', async () => {
    await using bench = await openInterface({ logs: { compressionMs: 0 } });
    const client = bench.as('monitor');
    expect(await client.listLogs()).toEqual([]);
    bench.router.appendLog('network', 'one');
    bench.router.appendLog('httpd', 'two');
    bench.router.rotate('network');
    await bench.router.whenQuiet();
    const names = await client.listLogs();
    expect(names.toSorted()).toEqual(['httpd/current', 'network/current', ARCHIVE]);
    for (const name of names) {
      expect(name).toMatch(/^[^/]+\/(current|log-\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.bz2)$/);
    }
  });

  test.for(['1', '0', '', 'false'])('list_files=%j lists, whatever its value', async (value) => {
    await using bench = await openInterface();
    bench.router.appendLog('network', 'one');
    const answer = await bench
      .as('monitor')
      .call({ method: 'GET', path: '/download/log', query: { list_files: value } });
    expect(answer).toMatchObject({ status: 200, body: { log_files: ['network/current'] } });
  });

  test('a live file is plain text with one line per entry: date, time, component in brackets, message', async () => {
    await using bench = await openInterface({ routers: 1 });
    bench.router.appendLog('network', 'wan1: connection check failed', 'wan');
    await bench.clock.advance(5000);
    bench.router.appendLog('network', 'net2: link is up');
    const text = await bench.as('monitor').readLog('network/current', signal, readText);
    expect(text).toBe(
      '2026-11-21 09:00:00 [wan] wan1: connection check failed\n2026-11-21 09:00:05 [network] net2: link is up\n',
    );
    const { access } = await bench.stranger.login('monitor');
    const { headers, text: same } = await bench.stranger.get('/download/log?log_file=network/current', access);
    expect(headers['content-type']).toMatch(/^text\/plain/);
    expect(same).toBe(text);
  });

  test('an archive comes as the bytes that it has', async () => {
    await using bench = await openInterface({ logs: { compressionMs: 0 } });
    for (let line = 0; line < 500; line++) bench.router.appendLog('network', `line ${line}`);
    bench.router.rotate('network');
    await bench.router.whenQuiet();
    const bytes = await bench.as('monitor').readLog(ARCHIVE, signal, readBytes);
    expect(bytes.subarray(0, 3).toString()).toBe('BZh');
    const { access } = await bench.stranger.login('monitor');
    const path = `/download/log?log_file=${encodeURIComponent(ARCHIVE)}`;
    expect((await bench.stranger.get(path, access)).bytes.equals(bytes)).toBe(true);
    expect(bench.router.truth('network')[0]?.served).toBe(true);
  });

  test('a file that does not exist is 404, and a download that names no file is 400', async () => {
    await using bench = await openInterface();
    const client = bench.as('monitor');
    for (const name of ['network/current', '../network/current', '/etc/passwd', 'network/log-x.bz2']) {
      expect(await failureOf(client.readLog(name, signal, readText))).toEqual({
        code: 'http',
        status: 404,
        topics: ['log_file'],
      });
    }
    expect(await client.call({ method: 'GET', path: '/download/log' })).toMatchObject({
      status: 400,
      body: { error: [{ log_file: expect.any(String) }] },
    });
  });

  test('a part is asked for: a router without ranges gives the whole file and says so, one with them the part', async () => {
    for (const rangeRequests of [false, true]) {
      await using bench = await openInterface({ features: { rangeRequests } });
      bench.router.appendLog('network', 'one');
      const whole = '2026-11-21 09:00:00 [network] one\n';
      const read = async (body: AsyncIterable<Uint8Array>, start: number) => [start, await readText(body)];
      const part = await bench.as('monitor').readLog('network/current', signal, read, { start: 20 });
      expect(part).toEqual(rangeRequests ? [20, whole.slice(20)] : [0, whole]);
    }
  });

  test('an unchanged file is not sent again by a router with entity tags, and a changed one is', async () => {
    await using bench = await openInterface({ features: { rangeRequests: true } });
    bench.router.appendLog('network', 'one');
    const client = bench.as('monitor');
    const tagOf = async (
      _body: unknown,
      _start: number,
      { etag, dateMs }: { etag: string | undefined; dateMs: number | undefined },
    ) => {
      expect(dateMs).toBe(START_MS);
      return etag;
    };
    const etag = await client.readLog('network/current', signal, tagOf);
    expect(etag).toMatch(/^".+"$/);
    expect(await failureOf(client.readLog('network/current', signal, readText, { unlessEtag: etag }))).toMatchObject({
      status: 304,
    });
    bench.router.appendLog('network', 'two');
    expect(await client.readLog('network/current', signal, readText, { unlessEtag: etag })).toMatch(/two\n$/);
  });
});

describe('profiles', () => {
  test('the list has name and both flags of each profile', async () => {
    await using bench = await openInterface();
    const client = bench.as('monitor');
    const profiles = [
      { name: 'Profile', last_activated: true, modified: false },
      { name: 'quick_start_profile', last_activated: false, modified: false },
    ];
    expect(await client.readProfiles()).toMatchObject({ profiles });
    expect(await client.listProfiles()).toEqual(
      profiles.map(({ name, last_activated, modified }) => ({ name, lastActivated: last_activated, modified })),
    );
  });

  test('a profile comes in binary form, to be stored as a file', async () => {
    await using bench = await openInterface();
    const client = bench.as('monitor');
    const folder = await mkdtemp(join(tmpdir(), 'router-exporter-test-'));
    try {
      const file = join(folder, 'Profile.tar');
      await client.downloadProfile('Profile', {}, (body) => pipeline(body, createWriteStream(file)));
      const stored = await readFile(file);
      expect(stored.equals(await client.downloadProfile('Profile', { format: 'binary' }, readBytes))).toBe(true);
      // A tar archive: 512-byte blocks, the first of which names a file and its length.
      expect(stored.length % TAR_BLOCK_BYTES).toBe(0);
      expect(stored.toString('latin1', 257, 262)).toBe('ustar');
      const length = Number.parseInt(stored.toString('latin1', 124, 135), 8);
      const content = stored.toString('utf8', TAR_BLOCK_BYTES, TAR_BLOCK_BYTES + length);
      expect(content).toBe(await client.downloadProfile('Profile', { format: 'ascii' }, readText));
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('the readable form shows the configuration of the profile that was asked for', async () => {
    await using bench = await openInterface();
    const admin = bench.as();
    await admin.configuration.changeParameters(
      'events/email_account',
      { port: '587' },
      { profile: 'quick_start_profile' },
    );
    const port = async (name: string) =>
      /^events\.email_account\.port=.*$/m.exec(await admin.downloadProfile(name, { format: 'ascii' }, readText))?.[0];
    expect(await port('Profile')).toBe('events.email_account.port="25"');
    expect(await port('quick_start_profile')).toBe('events.email_account.port="587"');
  });

  test('a profile that does not exist is 404, a download that names none is 400', async () => {
    await using bench = await openInterface();
    const client = bench.as('monitor');
    expect(await failureOf(client.downloadProfile('nothing', {}, readText))).toEqual({
      code: 'http',
      status: 404,
      topics: ['profile'],
    });
    expect(await client.call({ method: 'GET', path: '/download/profiles' })).toMatchObject({ status: 400 });
  });
});
