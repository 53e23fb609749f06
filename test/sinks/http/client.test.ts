import { getEventListeners, once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createSteppedClock, renderErrorChain, Secret } from '../../../src/base/index.ts';
import { SinkHttpClient } from '../../../src/sinks/http/client.ts';
import { DeliveryError } from '../../../src/sinks/index.ts';
import { openConnectProxy, openSocksProxy } from '../../support/proxies.ts';
import {
  type MisbehavingServerOptions,
  openMisbehavingServer,
  type Reply,
} from '../../support/sinks/misbehaving-server.ts';
import { createTestAuthority } from '../../web/certificates.ts';

type Settings = ConstructorParameters<typeof SinkHttpClient>[0];

const signal = new AbortController().signal;
const clock = createSteppedClock(Date.UTC(2025, 9, 26));

function openClient(url: string, change: Partial<Settings> = {}): SinkHttpClient {
  const client = new SinkHttpClient({ name: 'web', url, ...change }, { clock });
  onTestFinished(() => client.close());
  return client;
}

async function openServer(reply: Reply = { status: 200, body: 'ok' }, options: MisbehavingServerOptions = {}) {
  const server = await openMisbehavingServer(() => reply, options);
  onTestFinished(() => server.close());
  return server;
}

const post = (client: SinkHttpClient, body = 'records', options = {}) =>
  client.post({ contentType: 'text/plain', body, ...options }, signal);

/** The error with which a request fails. */
async function failureOf(work: Promise<unknown>): Promise<DeliveryError> {
  const error = await work.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(DeliveryError);
  return error as DeliveryError;
}

describe('SinkHttpClient', () => {
  test('reads refused secrets again, and sends the request once more if one has changed', async () => {
    const server = await openMisbehavingServer(({ headers }) => ({
      status: headers['authorization'] === 'Bearer second' ? 200 : 401,
      body: `you sent ${headers['authorization']}`,
    }));
    onTestFinished(() => server.close());
    const values = ['first', 'second'];
    const token: Secret = new Secret('first', { id: 'x', renew: async () => token.replace(values.shift() ?? 'third') });
    const client = openClient(server.url, { bearer_token: token });
    expect(await post(client)).toMatchObject({ status: 401, body: 'you sent Bearer [secret]' });
    expect(server.requests).toHaveLength(1);
    expect((await post(client)).status).toBe(200);
    expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer first',
      'Bearer first',
      'Bearer second',
    ]);
  });

  test('posts over one kept connection and gives the whole answer', async () => {
    const server = await openServer({ status: 202, body: 'grüße', headers: { 'X-Thing': 'a' } });
    const client = openClient(`${server.url}/in`);
    const answer = await post(client, 'ä');
    await post(client);
    expect(answer).toMatchObject({ status: 202, body: 'grüße', sentBytes: 2 });
    expect([answer.header('x-thing'), answer.header('x-other')]).toEqual(['a', undefined]);
    expect(
      server.requests.map(({ method, path, body, connection }) => [method, path, body.toString(), connection]),
    ).toEqual([
      ['POST', '/in', 'ä', 1],
      ['POST', '/in', 'records', 1],
    ]);
    expect(server.requests[0]?.headers).toMatchObject({
      'content-type': 'text/plain',
      'content-length': '2',
      'accept-encoding': 'identity',
    });
    expect(server.violations).toEqual([]);
  });

  test('compresses bodies when asked to, the same ones to the same bytes', async () => {
    const server = await openServer();
    const client = openClient(server.url, { compress: 'gzip' });
    const body = 'the same line again\n'.repeat(1000);
    const answers = [await post(client, body), await post(client, body)];
    expect(
      server.requests.map(({ headers, body: arrived }) => [headers['content-encoding'], arrived.toString()]),
    ).toEqual([
      ['gzip', body],
      ['gzip', body],
    ]);
    const [first] = server.requests;
    expect(answers.map(({ sentBytes }) => sentBytes)).toEqual([first?.wireBytes, first?.wireBytes]);
    expect(first?.wireBytes).toBeLessThan(500);
  });

  test.for([
    ['/base/', '/v1/logs', '/base/v1/logs'],
    ['', '/v1/logs', '/v1/logs'],
    ['/base/', undefined, '/base/'],
    ['/base?key=1', '/logs?b=2', '/base/logs?key=1&b=2'],
    ['/base?key=1', undefined, '/base?key=1'],
  ] as const)('puts paths behind that of the url: %s and %s', async ([base, path, expected]) => {
    const server = await openServer();
    const client = openClient(`${server.url}${base}`);
    await client.get(path, signal);
    expect(server.requests.map((request) => request.path)).toEqual([expected]);
  });

  test('authorises and sends the configured headers', async () => {
    const server = await openServer({ status: 200 }, { authorization: 'Basic bWU6cMOkc3M=' });
    const client = openClient(server.url, {
      headers: { 'X-Tenant': new Secret('plant'), authorization: new Secret('other') },
      username: 'me',
      password: new Secret('päss'),
    });
    expect((await post(client)).status).toBe(200);
    expect(server.requests[0]?.headers['x-tenant']).toBe('plant');
  });

  test.for([
    [{ bearer_token: new Secret('t0ken') }, 'Bearer t0ken'],
    [{ api_key: new Secret('k3y==') }, 'ApiKey k3y=='],
  ] as const)('authorises: %s', async ([account, expected]) => {
    const server = await openServer();
    await post(openClient(server.url, account));
    expect(server.requests[0]?.headers.authorization).toBe(expected);
  });

  test.for([
    ['Content-Type', 'text/html'],
    ['content-length', '7'],
    ['HOST', 'elsewhere'],
    ['Transfer-Encoding', 'chunked'],
    ['Content-Encoding', 'br'],
    ['Idempotency-Key', 'mine'],
    ['a b', 'x'],
    ['X-Key', 'secret\r\nX-Other: 1'],
    ['X-Key', 'secret 🎉'],
  ])('refuses the header %s when it is created', ([name, value]) => {
    const create = () =>
      new SinkHttpClient(
        { name: 'web', url: 'http://localhost', headers: { [`${name}`]: new Secret(`${value}`) } },
        { clock },
      );
    expect(create).toThrow(expect.objectContaining({ code: 'misconfigured', disposition: 'operator' }));
    expect(create).toThrow(expect.objectContaining({ message: expect.not.stringContaining('secret') }));
  });

  test('refuses a token that no header can carry when it is created', () => {
    const settings = { name: 'web', url: 'http://x', bearer_token: new Secret('two\nlines') };
    expect(() => new SinkHttpClient(settings, { clock })).toThrow(
      'Sink web cannot send its credentials: they contain a character that is not allowed in a header',
    );
  });

  test('follows no redirect', async () => {
    const server = await openServer({ status: 307, headers: { location: 'http://127.0.0.1:1/' } });
    expect((await post(openClient(server.url))).status).toBe(307);
    expect(server.requests).toHaveLength(1);
  });

  test.for([
    ['17', 17_000],
    ['Sun, 26 Oct 2025 00:02:00 GMT', 120_000],
    ['Sat, 25 Oct 2025 00:00:00 GMT', 0],
    ['999999999', 86_400_000],
    ['-1', undefined],
    ['1.5', undefined],
    ['soon', undefined],
  ] as const)('reads Retry-After: %s', async ([header, expected]) => {
    const server = await openServer({ status: 429, headers: { 'retry-after': header } });
    expect((await post(openClient(server.url))).retryAfterMs).toBe(expected);
  });

  test('blanks its secrets in failures, and in what is quoted of other answers', async () => {
    const options: Partial<Settings> = {
      headers: { 'x-short': new Secret('y'), 'x-key': new Secret('key-of-header') },
      username: 'me',
      password: new Secret('pass-key-of-header'),
    };
    const encoded = Buffer.from('me:pass-key-of-header').toString('base64');
    const body = `you sent ${encoded}, pass-key-of-header and key-of-header`;
    const refusing = await openServer({ status: 400, body, headers: { location: '/?key-of-header' } });
    const answer = await post(openClient(refusing.url, options));
    expect(answer.body).toBe('you sent [secret], [secret] and [secret]');
    expect(answer.header('location')).toBe('/?[secret]');
    const taking = await openServer({ status: 200, body });
    const taken = await post(openClient(taking.url, options));
    expect(taken.body).toBe(body);
    expect(taken.quote(`${body}\n`)).toBe('you sent [secret], [secret] and [secret]');
    // A secret at the end of what is quoted is not cut before it is blanked.
    expect(taken.quote(`${'x'.repeat(490)}pass-key-of-header`)).toBe(`${'x'.repeat(490)}[secret]`);
  });

  test('gives the body as it came, too', async () => {
    const server = await openServer({ status: 200, body: 'ü' });
    expect([...(await post(openClient(server.url), '')).bytes]).toEqual([0xc3, 0xbc]);
  });

  test('fails when the answer is too long', async () => {
    const server = await openServer();
    server.misbehave({ kind: 'flood', bytes: 64 * 1024 }, 1);
    const client = openClient(server.url);
    expect((await post(client)).body).toHaveLength(64 * 1024);
    server.misbehave({ kind: 'flood', bytes: 64 * 1024 + 1 }, 2);
    expect(await failureOf(post(client))).toMatchObject({
      code: 'protocol_error',
      disposition: 'retry',
      message: `Sink web could not use ${server.url}/: The response has more than 65536 bytes`,
    });
    expect((await post(client, '', { isAnswerCut: true })).body).toHaveLength(64 * 1024);
    server.misbehave({ kind: 'status', status: 500, body: 'x'.repeat(1_000_000) });
    expect(await post(client)).toMatchObject({ status: 500, body: 'x'.repeat(64 * 1024) });
    server.misbehave({ kind: 'flood', bytes: 1_000_000 });
    expect((await post(client, '', { answerBytesMax: 1_000_000 })).body).toHaveLength(1_000_000);
  });

  test('decodes an answer with a coding that it did not ask for, and names one that it cannot decode', async () => {
    const server = await openServer({ status: 200, body: 'plain', headers: { 'content-encoding': 'gzip' } });
    const client = openClient(server.url);
    const error = await failureOf(post(client));
    expect(error).toMatchObject({ code: 'protocol_error', disposition: 'retry' });
    expect(renderErrorChain(error)).toContain('Content-Encoding "gzip", but its body is not encoded so');
    // Where the status is enough, the body may be anything.
    expect(await post(client, '', { isAnswerCut: true })).toMatchObject({ status: 200, body: '' });
    server.misbehave({ kind: 'status', status: 500, headers: { 'content-encoding': 'x' }, body: 'plain' });
    expect(await post(client)).toMatchObject({ status: 500, body: '' });
    expect(server.requests.every(({ headers }) => headers['accept-encoding'] === 'identity')).toBe(true);
  });

  test.for(['hang', 'stall'] as const)(
    'throws the reason of the signal when the sink does not answer: %s',
    async (kind) => {
      const server = await openServer();
      server.misbehave({ kind });
      const client = openClient(server.url);
      const controller = new AbortController();
      const arrival = server.nextArrival();
      const failure = client.post({ contentType: 'text/plain', body: '' }, controller.signal).catch((cause) => cause);
      await arrival;
      controller.abort(new RangeError('enough'));
      expect(await failure).toEqual(new RangeError('enough'));
      // The connection that hangs is not used again.
      expect((await post(client)).status).toBe(200);
      expect(server.requests.map(({ connection }) => connection)).toEqual([1, 2]);
    },
  );

  test('removes its listeners from a signal that remains in use', async () => {
    const server = await openServer();
    const { signal: long } = new AbortController();
    const client = openClient(server.url);
    await client.get('/', long);
    await client.post({ contentType: 'a/b', body: '' }, long);
    expect(getEventListeners(long, 'abort')).toEqual([]);
  });

  test('throws the reason of a signal that is aborted already, and asks nothing', async () => {
    const server = await openServer();
    const aborted = AbortSignal.abort(new RangeError('no'));
    await expect(openClient(server.url).get('/', aborted)).rejects.toThrow('no');
    await expect(openClient(server.url).post({ contentType: 'a/b', body: '' }, aborted)).rejects.toThrow('no');
    expect(server.requests).toEqual([]);
  });

  test('aborts a handshake that hangs with the signal; the next request opens another connection', async () => {
    const silent = createServer();
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as AddressInfo;
    const client = openClient(`https://127.0.0.1:${port}`);
    const greetings = [];
    for (const reason of ['first', 'second']) {
      const controller = new AbortController();
      const connected = once(silent, 'connection') as Promise<[Socket]>;
      const failure = client.get('/', controller.signal).catch((cause: unknown) => cause);
      const [socket] = await connected;
      greetings.push(socket);
      const ended = once(socket.resume(), 'close');
      controller.abort(reason);
      expect(await failure).toBe(reason);
      await ended;
    }
    expect(greetings).toHaveLength(2);
  });

  test.for([
    ['vanish', 'unreachable', 'lost its connection to'],
    ['cut', 'unreachable', 'lost its connection to'],
    ['garbage', 'protocol_error', 'cannot read the answer of'],
  ] as const)('names what happened when the sink misbehaves: %s', async ([kind, code, words]) => {
    const server = await openServer();
    server.misbehave({ kind });
    const error = await failureOf(post(openClient(`${server.url}/in?token=hidden`)));
    expect(error).toMatchObject({ code, disposition: 'retry' });
    expect(error.message).toContain(words);
    expect(renderErrorChain(error)).toContain(`${server.url}/in`);
    expect(renderErrorChain(error)).not.toContain('hidden');
  });

  test('reports a closed port, and a name without an address', async () => {
    const server = await openServer();
    await server.close();
    expect(await failureOf(post(openClient(server.url)))).toMatchObject({
      code: 'unreachable',
      disposition: 'retry',
      message: `Sink web could not connect to ${server.url}/`,
      hint: 'Check host and port in the address of this sink, and that it is running',
    });
    expect(await failureOf(post(openClient('http://me:hidden@nowhere.invalid:9')))).toMatchObject({
      code: 'unreachable',
      message: 'Sink web could not resolve the host name of http://nowhere.invalid:9/',
    });
  });

  test('reaches a sink by its IPv6 address', async () => {
    const server = createServer((socket) => socket.resume().end('HTTP/1.1 204 No Content\r\n\r\n'));
    server.listen(0, '::1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect((await openClient(`http://[::1]:${port}`).get('/', signal)).status).toBe(204);
  });
});

describe('SinkHttpClient.close()', () => {
  test('ends a request under way, and one that still connects', async () => {
    const server = await openServer();
    server.misbehave({ kind: 'hang' });
    const asking = new SinkHttpClient({ name: 'web', url: server.url }, { clock });
    const arrival = server.nextArrival();
    const failure = failureOf(post(asking));
    await arrival;
    await asking.close();
    expect(await failure).toMatchObject({ code: 'unreachable', disposition: 'retry' });

    const silent = createServer();
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as AddressInfo;
    const url = `https://127.0.0.1:${port}`;
    const connecting = new SinkHttpClient({ name: 'web', url }, { clock });
    const connected = once(silent, 'connection') as Promise<[Socket]>;
    const other = failureOf(post(connecting));
    const [socket] = await connected;
    const ended = once(socket.resume(), 'close');
    await connecting.close();
    expect(await other).toMatchObject({ code: 'unreachable', disposition: 'retry' });
    await ended;
  });
});

describe('SinkHttpClient over TLS', () => {
  const authority = createTestAuthority('test');
  const stranger = createTestAuthority('stranger');
  const openTls = (hosts: readonly string[] = ['127.0.0.1', 'localhost'], extra = {}) =>
    openServer({ status: 200, body: 'ok' }, { certificate: { ...authority.issue('server', ...hosts), ...extra } });
  const fingerprintOf = async (url: string) => {
    const error = await failureOf(post(openClient(url, { tls: { fingerprint_sha256: '00' } })));
    return /fingerprint: ([0-9A-F:]{95})$/.exec(error.message)?.[1] ?? '';
  };

  test('trusts the configured authority, and the name of the host', async () => {
    const server = await openTls();
    expect((await post(openClient(server.url, { tls: { ca_file: authority.caPem } }))).status).toBe(200);
    const byName = server.url.replace('127.0.0.1', 'localhost');
    expect((await post(openClient(byName, { tls: { ca_file: authority.caPem } }))).status).toBe(200);
  });

  test.for([
    ['no authority', () => ({}), /tls\.ca_file/],
    ['another authority', () => ({ ca_file: stranger.caPem }), /tls\.ca_file/],
    [
      'an authority that is none',
      () => ({ ca_file: '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n' }),
      /tls\.ca_file/,
    ],
    ['another name', () => ({ ca_file: authority.caPem, server_name: 'sink.example' }), /tls\.server_name/],
    ['another fingerprint', () => ({ fingerprint_sha256: 'ab'.repeat(32) }), /tls\.fingerprint_sha256/],
    [
      'another fingerprint in spite of insecure_skip_verify',
      () => ({ fingerprint_sha256: 'ab'.repeat(32), insecure_skip_verify: true }),
      /tls\.fingerprint_sha256/,
    ],
  ] as const)('sends nothing to whom it does not trust: %s', async ([, toTls, hint]) => {
    const server = await openTls();
    const error = await failureOf(post(openClient(server.url, { tls: toTls() })));
    expect(error).toMatchObject({ code: 'misconfigured', disposition: 'operator', hint: expect.stringMatching(hint) });
    expect(error).toMatchObject({ message: expect.stringMatching(/ does not trust the certificate of | TLS /) });
    expect(server.requests).toEqual([]);
  });

  test('takes the address of the url for the name, and greets with a name only', async () => {
    const greeted: string[] = [];
    const SNICallback = (name: string, done: (error: null) => void) => {
      greeted.push(name);
      done(null);
    };
    const byAddress = await openTls(['127.0.0.1'], { SNICallback });
    const tls = { ca_file: authority.caPem };
    expect((await post(openClient(byAddress.url, { tls }))).status).toBe(200);
    expect(greeted).toEqual([]);
    const named = openClient(byAddress.url, { tls: { server_name: 'sink.example', insecure_skip_verify: true } });
    expect((await post(named)).status).toBe(200);
    expect(greeted).toEqual(['sink.example']);
  });

  test('says so for every request when the name is another one', async () => {
    const server = await openTls(['127.0.0.1']);
    const client = openClient(server.url.replace('127.0.0.1', 'localhost'), { tls: { ca_file: authority.caPem } });
    for (const _ of [1, 2]) {
      expect(await failureOf(post(client))).toMatchObject({
        code: 'misconfigured',
        hint: 'Set tls.server_name of this sink to a name in the certificate, or, without tls.ca_file, tls.fingerprint_sha256 to its fingerprint',
      });
    }
  });

  test('fails when the connection ends during the handshake', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.once('data', () => socket.end()).on('error', () => {});
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect(await failureOf(post(openClient(`https://127.0.0.1:${port}`)))).toMatchObject({ code: 'unreachable' });
    // The second time with a shorter first message of TLS.
    expect(connections).toBe(2);
  });

  test('asks for the configured name instead of the host', async () => {
    const server = await openTls(['sink.example']);
    const tls = { ca_file: authority.caPem, server_name: 'sink.example' };
    expect((await post(openClient(server.url, { tls }))).status).toBe(200);
    expect(await failureOf(post(openClient(server.url, { tls: { ca_file: authority.caPem } })))).toMatchObject({
      code: 'misconfigured',
    });
  });

  test('trusts a fingerprint alone, in every spelling, and together with an authority', async () => {
    const server = await openTls();
    const fingerprint_sha256 = await fingerprintOf(server.url);
    const spellings = [fingerprint_sha256, fingerprint_sha256.replaceAll(':', '').toLowerCase()];
    for (const spelling of spellings) {
      expect((await post(openClient(server.url, { tls: { fingerprint_sha256: spelling } }))).status).toBe(200);
    }
    const almost = `${fingerprint_sha256.slice(0, -1)}${fingerprint_sha256.endsWith('0') ? '1' : '0'}`;
    expect(await failureOf(post(openClient(server.url, { tls: { fingerprint_sha256: almost } })))).toMatchObject({
      code: 'misconfigured',
    });
    const pinned = { fingerprint_sha256, ca_file: authority.caPem };
    expect((await post(openClient(server.url, { tls: pinned }))).status).toBe(200);
    const strange = { fingerprint_sha256, ca_file: stranger.caPem };
    expect(await failureOf(post(openClient(server.url, { tls: strange })))).toMatchObject({ code: 'misconfigured' });
  });

  test('judges the fingerprint of every connection', async () => {
    const server = await openTls();
    const client = openClient(server.url, { tls: { fingerprint_sha256: await fingerprintOf(server.url) } });
    await post(client);
    server.disconnect();
    expect((await post(client).catch(() => post(client))).status).toBe(200);
  });

  test('accepts any certificate if so configured', async () => {
    const server = await openTls(['elsewhere.example']);
    expect((await post(openClient(server.url, { tls: { insecure_skip_verify: true } }))).status).toBe(200);
  });

  test('shows a certificate to a sink that asks for one', async () => {
    const { cert, key } = stranger.issue('client', 'agent');
    const server = await openTls(undefined, { requestCert: true, ca: stranger.caPem });
    const tls = { ca_file: authority.caPem };
    expect(
      (await post(openClient(server.url, { tls: { ...tls, cert_file: cert, key_file: new Secret(key) } }))).status,
    ).toBe(200);
    expect(await failureOf(post(openClient(server.url, { tls })))).toMatchObject({ disposition: 'retry' });
    const halved = { ...tls, cert_file: cert, key_file: new Secret(cert) };
    expect(await failureOf(post(openClient(server.url, { tls: halved })))).toMatchObject({
      code: 'misconfigured',
      hint: expect.stringMatching(/tls\.cert_file/),
    });
  });

  test('says that a port does not speak TLS', async () => {
    const server = await openServer();
    const error = await failureOf(post(openClient(server.url.replace('http:', 'https:'))));
    expect(error).toMatchObject({
      code: 'misconfigured',
      hint: 'Check scheme and port of this sink',
    });
  });
});

describe('SinkHttpClient through a proxy', () => {
  const authority = createTestAuthority('test');
  /** A name that only the proxy resolves. */
  const nameOf = (url: string) => url.replace('127.0.0.1', 'logs.example');
  const tls = { ca_file: authority.caPem };
  const openTls = (...names: string[]) =>
    openServer({ status: 200, body: 'ok' }, { certificate: authority.issue('server', ...names) });
  const password = new Secret('pw-of-proxy');

  test.for([
    ['CONNECT', openConnectProxy, 'http'],
    ['SOCKS 5', openSocksProxy, 'socks5'],
  ] as const)('%s: checks the certificate of the sink, and keeps the connection', async ([, open, scheme]) => {
    const server = await openTls('logs.example');
    await using proxy = await open({ account: 'agent:pw-of-proxy' });
    const settings = { url: `${scheme}://127.0.0.1:${proxy.port}`, username: 'agent', password };
    const client = openClient(nameOf(server.url), { tls, proxy: settings });
    expect((await post(client)).status).toBe(200);
    expect((await post(client)).status).toBe(200);
    const { host } = new URL(nameOf(server.url));
    expect(proxy.asked).toEqual([{ target: host, account: 'agent:pw-of-proxy', from: '127.0.0.1' }]);
    expect(client.place).toBe(`${nameOf(server.url)}/ through the proxy ${scheme}://127.0.0.1:${proxy.port}`);

    const untrusting = openClient(nameOf(server.url), { proxy: settings });
    expect(await failureOf(post(untrusting))).toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining(`certificate of ${untrusting.place}`),
    });
  });

  test('asks an https proxy, with an authority of its own', async () => {
    const server = await openTls('logs.example');
    const elsewhere = createTestAuthority('elsewhere');
    const { cert, key } = elsewhere.issue('server', '127.0.0.1');
    await using proxy = await openConnectProxy({ certificate: { cert, key } });
    const url = `https://127.0.0.1:${proxy.port}`;
    const trusting = openClient(nameOf(server.url), { tls, proxy: { url, ca_file: elsewhere.caPem } });
    expect((await post(trusting)).status).toBe(200);
    const error = await failureOf(post(openClient(nameOf(server.url), { tls, proxy: { url } })));
    expect(error).toMatchObject({ code: 'misconfigured', disposition: 'operator' });
    expect(renderErrorChain(error)).toContain(`The proxy ${url} is not trusted`);
  });

  test('asks the proxy to connect also for http, and a sink behind no proxy directly', async () => {
    const server = await openServer();
    await using proxy = await openConnectProxy();
    const settings = { url: `http://127.0.0.1:${proxy.port}` };
    expect((await post(openClient(nameOf(server.url), { proxy: settings }))).status).toBe(200);
    expect((await post(openClient(server.url, { proxy: 'none' }))).status).toBe(200);
    expect([proxy.asked.length, proxy.others]).toEqual([1, []]);
  });

  test('names the sink and the proxy that is dead, refuses, or answers something else; never its password', async () => {
    const closed = await openConnectProxy();
    await closed[Symbol.asyncDispose]();
    await using strict = await openConnectProxy({ account: 'agent:another' });
    await using broken = await openConnectProxy({ answer: 'HTTP/1.1 503 Service Unavailable\r\n\r\n' });
    await using other = await openConnectProxy({ answer: 'SSH-2.0-OpenSSH_9.6\r\n\r\n' });
    const cases = [
      [closed, 'unreachable', 'cannot be reached: connect ECONNREFUSED', 'whether the proxy runs'],
      [strict, 'misconfigured', 'requires another login: it answered with 407', 'proxy.username and proxy.password'],
      [broken, 'unreachable', 'did not connect to logs.example:443: it answered with 503', 'the proxy reaches it'],
      [
        other,
        'misconfigured',
        'cannot be used: it does not answer in HTTP',
        'scheme and port of proxy.url of this sink',
      ],
    ] as const;
    for (const [proxy, code, reason, hint] of cases) {
      const url = `http://127.0.0.1:${proxy.port}`;
      const client = openClient('https://logs.example', { proxy: { url, username: 'agent', password } });
      const error = await failureOf(post(client));
      expect(error).toMatchObject({ code, hint: expect.stringContaining(hint) });
      const text = renderErrorChain(error);
      expect(text).toContain(`Sink web could not connect to https://logs.example/ through the proxy ${url}: `);
      expect(text).toContain(`The proxy ${url} ${reason}`);
      expect(text).not.toContain('pw-of');
    }
  });

  test('ends with the message that a proxy is silent, which names the variable that it comes from', async () => {
    await using proxy = await openConnectProxy({ answer: '' });
    const url = `http://127.0.0.1:${proxy.port}`;
    const client = openClient('https://logs.example', { proxy: { url, variable: 'HTTPS_PROXY' } as object });
    const failure = failureOf(post(client));
    await vi.waitFor(() => expect(proxy.asked).toHaveLength(1));
    await clock.advance(10_000);
    const error = await failure;
    expect(error).toMatchObject({ code: 'unreachable', disposition: 'retry' });
    expect(renderErrorChain(error)).toBe(
      `Sink web could not connect to https://logs.example/ through the proxy ${url} of HTTPS_PROXY: The proxy ${url} did not connect to logs.example port 443 within 10 s. Check HTTPS_PROXY in the environment of this process, and whether the proxy reaches that address`,
    );
  });
});
