import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRange } from '../../src/simulator/rest/download.ts';
import { filePath, openAdmin } from './client.ts';

type Options = Parameters<typeof openAdmin>[0];

async function openLogs(options: Options = {}) {
  const bench = await openAdmin(options);
  const read = async (headers: Record<string, string> = {}, file = 'n/current') =>
    bench.client.send('GET', filePath(file), { token: (await bench.client.login()).access, headers });
  return { ...bench, read };
}

describe('repeats', () => {
  const NOTICE = `${' '.repeat(16)}- Last output repeated`;

  test('equal messages are counted, and the count is written before the next different one', async () => {
    await using bench = await openLogs({ logs: { showRepeats: false } });
    for (const message of ['a', 'a', 'b', 'b', 'b', 'b', 'c', 'd']) bench.router.appendLog('n', message);
    expect((await bench.read()).text).toBe(
      ['[n] a', 'twice', '[n] b', '3 times', '[n] c', '[n] d', '']
        .map((part) => (part.startsWith('[') ? `2026-11-21 09:00:00 ${part}` : part && `${NOTICE} ${part} -`))
        .join('\n'),
    );
  });

  test('the same text of another tag is another message', async () => {
    await using bench = await openLogs({ logs: { showRepeats: false } });
    for (const tag of ['x', 'y', 'x']) bench.router.appendLog('n', 'a', tag);
    expect(bench.router.truth('n')).toHaveLength(3);
  });

  test('the notice can become the first line of a new file', async () => {
    await using bench = await openLogs({ logs: { showRepeats: false, maxSizeBytes: 20, compressionMs: 0 } });
    for (const message of ['a', 'a', 'a', 'b']) bench.router.appendLog('n', message);
    expect((await bench.read()).text).toBe(`${NOTICE} 2 times -\n2026-11-21 09:00:00 [n] b\n`);
  });

  test('by default every line is written', async () => {
    await using bench = await openLogs();
    for (let count = 0; count < 3; count++) bench.router.appendLog('n', 'a');
    expect(bench.router.truth('n')).toHaveLength(3);
  });
});

describe('blocks', () => {
  test('current ends in mid-line until more comes, and rotation brings the rest', async () => {
    await using bench = await openLogs({ logs: { blockBytes: 64, compressionMs: 0 } });
    bench.router.appendLog('n', 'one');
    expect((await bench.read()).text).toBe('');
    for (const message of ['two', 'three']) bench.router.appendLog('n', message);
    expect((await bench.read()).text).toHaveLength(64);
    expect(bench.router.truth('n').map(({ served }) => served)).toEqual([true, true, false]);
    bench.router.rotate('n', 'four');
    expect((await bench.read({}, 'n/log-2026-11-21-08:00:00.bz2')).status).toBe(200);
    expect(bench.router.truth('n').map(({ served }) => served)).toEqual([true, true, true, false]);
  });

  test('a restart loses what was not in the file, and the next line follows the torn one', async () => {
    await using bench = await openLogs({ logs: { blockBytes: 32 } });
    for (const message of ['one', 'two']) bench.router.appendLog('n', message);
    bench.router.restart();
    bench.router.appendLog('n', 'three, which is long enough to fill the block');
    const { text } = await bench.read();
    expect(text.startsWith('2026-11-21 09:00:00 [n] one\n20262026-11-21 09:00:00 [n] three')).toBe(true);
  });
});

describe('torn lines', () => {
  test('a restart leaves the beginning of a line, and the next one goes behind it', async () => {
    await using bench = await openLogs({ logs: { tornBytes: 4 } });
    bench.router.appendLog('n', 'one');
    bench.router.restart();
    bench.router.appendLog('n', 'two');
    expect((await bench.read()).text).toBe('2026-11-21 09:00:00 [n] one\n20262026-11-21 09:00:00 [n] two\n');
    expect(bench.router.truth('n')).toHaveLength(2);
  });
});

describe('brackets', () => {
  test('the severity has its own brackets with severityBrackets', async () => {
    await using bench = await openLogs({ logs: { severityBrackets: true } });
    bench.router.appendLog('n', 'bad', 'wan', 'WARNING');
    bench.router.appendLog('n', 'plain');
    expect((await bench.read()).text).toBe(
      '2026-11-21 09:00:00 [wan][WARNING] bad\n2026-11-21 09:00:00 [n][NOTICE] plain\n',
    );
  });
});

describe('requests in the log', () => {
  test('log_requests makes the router log what it is asked', async () => {
    await using bench = await openLogs({ features: { logRequests: true } });
    await bench.call('GET', '/status/nothing?x=1');
    expect(bench.router.truth('restd').map(({ text }) => text.slice(20))).toEqual([
      expect.stringMatching(/^\[restd\] 127\.0\.0\.1 "POST \/api\/v2_0\/auth\/login" 200 \d+$/),
      expect.stringMatching(/^\[restd\] 127\.0\.0\.1 "GET \/api\/v2_0\/status\/nothing" 404 \d+$/),
    ]);
    const unique = { log_requests: '0' };
    await bench.call('PUT', '/configuration/administration/webinterface', {
      config: { unique },
      profile: { activate: '1' },
    });
    const before = bench.router.truth('restd').length;
    await bench.call('GET', '/profiles');
    expect(bench.router.truth('restd')).toHaveLength(before);
  });
});

describe('ranges', () => {
  test('are ignored unless they are switched on', async () => {
    await using bench = await openLogs();
    bench.router.appendLog('n', 'one');
    const { status, headers } = await bench.read({ range: 'bytes=0-3' });
    expect([status, headers['accept-ranges'], headers['etag']]).toEqual([200, undefined, undefined]);
  });

  test('a part is answered with 206, and only what was sent from the start counts as served', async () => {
    await using bench = await openLogs({ features: { rangeRequests: true } });
    for (const message of ['one', 'two', 'three']) bench.router.appendLog('n', message);
    const served = () => bench.router.truth('n').filter((line) => line.served).length;
    const whole = '2026-11-21 09:00:00 [n] one\n'.length;
    const behind = await bench.read({ range: `bytes=${whole}-` });
    expect([behind.status, served()]).toEqual([206, 0]);
    expect(behind.headers['content-range']).toBe(`bytes ${whole}-85/86`);
    const first = await bench.read({ range: `bytes=0-${whole - 1}` });
    expect([first.text, served()]).toEqual(['2026-11-21 09:00:00 [n] one\n', 1]);
    await bench.read({ range: `bytes=${whole}-` });
    expect(served()).toBe(3);
    const beyond = await bench.read({ range: 'bytes=86-' });
    expect([beyond.status, beyond.headers['content-range']]).toEqual([416, 'bytes */86']);
  });

  test('an entity tag holds until the file grows', async () => {
    await using bench = await openLogs({ features: { rangeRequests: true } });
    bench.router.appendLog('n', 'one');
    const tag = String((await bench.read()).headers['etag']);
    expect((await bench.read({ 'if-none-match': tag })).status).toBe(304);
    expect((await bench.read({ 'if-range': tag, range: 'bytes=0-3' })).status).toBe(206);
    bench.router.appendLog('n', 'two');
    expect((await bench.read({ 'if-none-match': tag })).status).toBe(200);
    expect((await bench.read({ 'if-range': tag, range: 'bytes=0-3' })).status).toBe(200);
  });

  test('an archive counts as served when all its parts were sent', async () => {
    await using bench = await openLogs({ features: { rangeRequests: true }, logs: { compressionMs: 0 } });
    bench.router.appendLog('n', 'one');
    bench.router.rotate('n');
    const file = 'n/log-2026-11-21-08:00:00.bz2';
    await bench.read({ range: 'bytes=0-9' }, file);
    expect(bench.router.truth('n')[0]?.served).toBe(false);
    await bench.read({ range: 'bytes=10-' }, file);
    expect(bench.router.truth('n')[0]?.served).toBe(true);
  });

  test('parseRange() gives what slicing gives', () => {
    const number = fc.nat({ max: 12 });
    fc.assert(
      fc.property(fc.nat({ max: 10 }), fc.option(number), fc.option(number), (length, first, last) => {
        const range = parseRange(`bytes=${first ?? ''}-${last ?? ''}`, length);
        const bytes = Array.from({ length }, (_none, index) => index);
        if (range === undefined) {
          expect(first === null ? last === null : last !== null && last < first).toBe(true);
          return;
        }
        const expected =
          first === null ? bytes.slice(-(last ?? 0) || length) : bytes.slice(first, (last ?? length) + 1);
        expect(range === 'unsatisfiable' ? [] : bytes.slice(range.from, range.to)).toEqual(expected);
      }),
      { seed: 7, numRuns: 2000 },
    );
    for (const header of [undefined, '', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=a-b']) {
      expect(parseRange(header, 10)).toBeUndefined();
    }
  });
});

describe('compression on the way', () => {
  test('is off by default, and with the option for those who accept it', async () => {
    await using plain = await openLogs();
    plain.router.appendLog('n', 'one');
    expect((await plain.read({ 'accept-encoding': 'gzip' })).headers['content-encoding']).toBeUndefined();
    await using bench = await openLogs({ features: { gzip: true } });
    bench.router.appendLog('n', 'one');
    const { headers, bytes } = await bench.read({ 'accept-encoding': 'gzip' });
    expect(headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(bytes).toString()).toBe('2026-11-21 09:00:00 [n] one\n');
    expect((await bench.read()).headers['content-encoding']).toBeUndefined();
  });
});
