import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { openBench } from '../web/bench.ts';
import { Choices, countCases, describeCases, limitMs } from './random-cases.ts';

const SHARE = 0.06;
/** Longest wait for the end of one connection on which the client has ended its side. Milliseconds. */
const CASE_MS_MAX = 10_000;

const PATHS = [
  '/',
  '/metrics',
  '/metrics?collect[]=modem',
  '/probe?target=plant-7',
  '/sd',
  '/api/v1/routers',
  '/routers/plant-7',
  '/-/healthy',
  '/-/ready',
  '/-/reload',
  '/config',
  '/sinks',
  '/logs',
];
const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'PATCH',
  'get',
  'PRI',
  'M-SEARCH',
  'GET\t',
  '',
];
const TARGETS = [
  '*',
  '//',
  '/../etc/passwd',
  '/%2e%2e/',
  '/%',
  '/%ff',
  '/%00',
  '/\u0000',
  'http://other/metrics',
  'http://',
  'other:80',
  '/?'.padEnd(9000, 'a'),
  '/'.padEnd(20_000, '/'),
  '/probe?target=__proto__',
  '/routers/%E0%A4%A',
  '/probe?target=',
  '?',
  '#',
  '/metrics#x',
];
const HEADERS = [
  'Host: localhost',
  'Host: evil.example',
  'Host:',
  'Host: a@b',
  'Host: [::1',
  ' Host: localhost',
  'Host : localhost',
  'Content-Length: 5',
  'Content-Length: 0',
  'Content-Length: -1',
  'Content-Length: +5',
  'Content-Length: 5, 5',
  'Content-Length: 5\r\nContent-Length: 6',
  'Content-Length: 99999999999999999999',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding:\u000bchunked',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 5',
  'Connection: close',
  'Connection: keep-alive, Host',
  'Connection: upgrade\r\nUpgrade: websocket',
  'Upgrade: h2c',
  'Expect: 100-continue',
  'Expect: something',
  'Accept-Encoding: gzip;q=1e9, *;q=-1',
  'Accept: application/openmetrics-text;version=1.0.0',
  'Accept: */*;q=x',
  'Authorization: Basic %%%',
  'Authorization: Bearer ',
  `Authorization: Basic ${'QQ'.repeat(4000)}`,
  'X-Prometheus-Scrape-Timeout-Seconds: 1e308',
  'X-Prometheus-Scrape-Timeout-Seconds: -1',
  'Origin: https://evil.example',
  'Origin: null',
  'Sec-Fetch-Site: cross-site',
  'If-None-Match: *',
  'Range: bytes=0-',
  'Cookie: '.padEnd(15_000, 'c'),
  'X: '.padEnd(40_000, 'x'),
  'bad header',
  ': no name',
  'X\u0000: y',
  'X: \u0000',
  ' folded',
  'é: ü',
  ...Array.from({ length: 3 }, () => Array.from({ length: 150 }, (_, index) => `X-${index}: y`).join('\r\n')),
];
const BODIES = [
  '',
  'hello',
  '5\r\nhello\r\n0\r\n\r\n',
  '0\r\n\r\n',
  'fffffffff\r\n',
  '-1\r\n',
  '5;ext="\r\n"\r\nhello\r\n0\r\nX: y\r\n\r\n',
  'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n',
];
const ENDS = ['\r\n', '\r\n', '\r\n', '\n', '\r'];
const VERSIONS = [
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/2.0',
  'HTTP/0.9',
  'HTTP/1.2',
  'http/1.1',
  'HTTP/1.1 ',
  '',
];

const PLAIN = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n';
/** What a server in front may understand otherwise, with the statuses that end it. */
const TRICKS: readonly (readonly [string, RegExp])[] = [
  [PLAIN, /^200$/],
  ['GET /-/healthy HTTP/1.0\r\n\r\n', /^200$/],
  ['GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n', /^400$/],
  ['GET /metrics HTTP/1.1\r\n\r\n', /^400$/],
  ['GET /metrics HTTP/2.0\r\nHost: localhost\r\n\r\n', /^(400|505)$/],
  [
    'POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    /^400$/,
  ],
  ['POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello', /^400$/],
  ['POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n', /^400$/],
  ['POST /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n', /^400$/],
  ['GET /metrics HTTP/1.1\r\nHost : localhost\r\n\r\n', /^400$/],
  ['GET /metrics HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n', /^(200|400)$/],
  ['GET /metrics HTTP/1.1\nHost: localhost\n\n', /^400$/],
  [`GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, /^431$/],
];
/** A status of 500 would be a fault of the program; 501 and 505 are about the request, 503 says why. */
const STATUSES = /^(1\d\d|2\d\d|3\d\d|4\d\d|501|503|505)$/;

function createRequest(choices: Choices): string {
  const end = choices.once(5) ? choices.of(ENDS) : '\r\n';
  const target = choices.once(3) ? choices.of(TARGETS) : choices.of(PATHS);
  const method = choices.once(3) ? choices.of(METHODS) : 'GET';
  const headers = [...(choices.once(8) ? [] : ['Host: localhost']), ...choices.list(3, () => choices.of(HEADERS))];
  return [`${method} ${target} ${choices.of(VERSIONS)}`, ...headers, '', choices.of(BODIES)].join(end);
}

/** Sends bytes in a few pieces, ends, and gives all that comes back until the server has ended as well. */
async function exchange(port: number, pieces: readonly Uint8Array[]): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let answer = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    answer += text;
  });
  // The server may reset a connection of which it has read enough.
  socket.on('error', () => {});
  const closed = Promise.withResolvers<void>();
  socket.on('close', () => closed.resolve());
  socket.setTimeout(CASE_MS_MAX, () => {
    closed.reject(new RangeError('The server left the connection open'));
    socket.destroy();
  });
  for (const piece of pieces) socket.write(piece);
  socket.end();
  await closed.promise;
  return answer;
}

test(`any bytes are answered with a status that fits or not at all, and the server goes on: ${describeCases(SHARE)}`, {
  timeout: limitMs(SHARE, 60),
}, async () => {
  const failures: unknown[] = [];
  await using bench = await openBench(
    { onFailed: (cause) => void failures.push(cause) },
    { isLifecycleEnabled: true, onFailed: (cause) => void failures.push(cause) },
  );
  const port = Number(new URL(bench.url).port);
  const seen = new Map<string, number>();
  for (const [request, expected] of TRICKS) {
    const [, status = ''] = /^HTTP\/1\.1 (\d{3}) /.exec(await exchange(port, [Buffer.from(request, 'latin1')])) ?? [];
    expect(status, JSON.stringify(request)).toMatch(expected);
  }
  for (let number = 0; number < countCases(SHARE); number++) {
    const choices = new Choices('requests', number);
    const requests = Array.from({ length: choices.once(4) ? 1 + choices.below(4) : 1 }, () => createRequest(choices));
    const text = Buffer.from(requests.join(''), 'latin1');
    const bytes = choices.once(3) ? choices.mutate(text) : text;
    const at = choices.once(4) ? choices.below(bytes.length + 1) : 0;
    const about = `case ${number}: ${JSON.stringify(bytes.toString('latin1').slice(0, 3000))}`;
    const answer = await exchange(port, [bytes.subarray(0, at), bytes.subarray(at)]).catch((cause: unknown) => {
      throw new RangeError(about, { cause });
    });
    expect(failures, about).toEqual([]);
    expect(answer === '' || answer.startsWith('HTTP/1.1 '), about).toBe(true);
    for (const [, status = ''] of answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
      seen.set(status, (seen.get(status) ?? 0) + 1);
      expect(status, about).toMatch(STATUSES);
    }
  }
  expect(await exchange(port, [Buffer.from(PLAIN)])).toMatch(/^HTTP\/1\.1 200 /);
  expect([...seen.keys()]).toEqual(expect.arrayContaining(['200', '400', '404']));
});
