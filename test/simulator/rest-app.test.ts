import { describe, expect, test } from 'vitest';
import { filePath, listPath, openBench } from './client.ts';

describe('status and profiles', () => {
  test('device_info lists the boards, the main one with serial number and system version', async () => {
    await using bench = await openBench();
    const { access } = await bench.client.login('status');
    const { status, json } = await bench.client.get('/status/device_info', access);
    expect(status).toBe(200);
    expect(json.status.list).toHaveLength(3);
    expect(json.status.list[0]).toMatchObject({ serial_number: bench.router.serial, firmware_version: '9.5' });
    expect(json.status.list[1]).toMatchObject({ serial_number: '', firmware_version: '' });
    expect(bench.router.serial).toMatch(/^\d{8}$/);
  });

  test('profiles are listed with their two flags', async () => {
    await using bench = await openBench();
    const { access } = await bench.client.login('monitor');
    const { json } = await bench.client.get('/profiles', access);
    expect(json.profiles[0]).toEqual({ name: 'Profile', last_activated: true, modified: false });
  });
});

describe('log download', () => {
  test('the listing is empty before the first line', async () => {
    await using bench = await openBench();
    const { access } = await bench.client.login();
    expect((await bench.client.get(listPath, access)).json).toEqual({ log_files: [] });
  });

  test('current comes as text under the name of its component, dated by the router', async () => {
    await using bench = await openBench();
    const { access } = await bench.client.login();
    bench.router.appendLog('network', 'wan1: connection check failed, retry 3', 'wan');
    bench.router.jumpClock(3_600_000);
    const { headers, text } = await bench.client.get(filePath('network/current'), access);
    expect(text).toBe('2026-11-21 09:00:00 [wan] wan1: connection check failed, retry 3\n');
    expect(headers).toMatchObject({
      'content-type': 'text/plain',
      'content-disposition': 'attachment; filename=network.txt',
      'content-length': String(text.length),
      date: 'Sat, 21 Nov 2026 09:00:00 GMT',
    });
  });

  test.each([
    ['no file is named', '/download/log', 400],
    ['the name is empty', '/download/log?log_file=', 400],
    ['the component is unknown', filePath('modem/current'), 404],
    ['the file is unknown', filePath('network/log-2026-11-21-08:00:00.bz2'), 404],
    ['the name leads out of the folder', filePath('network/../network/current'), 404],
    ['the resource is unknown', '/download/nothing', 404],
  ])('answers with an error list when %s', async (_what, path, expected) => {
    await using bench = await openBench();
    const { access } = await bench.client.login();
    bench.router.appendLog('network', 'up');
    const { status, json } = await bench.client.get(path, access);
    expect(status).toBe(expected);
    expect(json).toEqual({ error: [expect.any(Object)] });
  });

  test.each([listPath, filePath('network/current'), '/profiles'])(
    '%s answers 403 to a status account',
    async (path) => {
      await using bench = await openBench();
      const { access } = await bench.client.login('status');
      expect((await bench.client.get(path, access)).status).toBe(403);
    },
  );
});

describe('requests', () => {
  test('a body over the bound is refused with 413', async () => {
    await using bench = await openBench();
    const body = JSON.stringify({ username: 'x'.repeat(1024 * 1024), password: '' });
    expect((await bench.client.send('POST', '/auth/login', { body })).status).toBe(413);
  });

  test('counters tell requests apart by method and path, and add up the bodies', async () => {
    await using bench = await openBench();
    const { access } = await bench.client.login();
    bench.router.appendLog('network', 'up');
    const before = bench.router.counters;
    const answers = [
      await bench.client.get(listPath, access),
      await bench.client.get(filePath('network/current'), access),
      await bench.client.get(filePath('network/other'), access),
      await bench.client.get('/status/nothing', access),
      await bench.client.get('/status/less', access),
    ];
    const { requests, bodyBytes } = bench.router.counters;
    expect(requests).toEqual({
      'POST /auth/login': 1,
      'GET /download/log?list_files': 1,
      'GET /download/log?log_file': 2,
      'GET (unknown)': 2,
    });
    expect(bodyBytes - before.bodyBytes).toBe(answers.reduce((sum, { bytes }) => sum + bytes.length, 0));
  });
});
