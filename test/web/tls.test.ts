import { once } from 'node:events';
import { Agent, type RequestOptions } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { describe, expect, test, vi } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import { type WebContent, WebError, type WebSecurity, type WebTls } from '../../src/web/index.ts';
import { parseAlternativeNames } from '../../src/web/server/listener.ts';
import { measureProcessorMs } from '../support/processor-time.ts';
import { type Bench, fetchRaw, openBench } from './bench.ts';
import { type Certificate, createTestAuthority } from './certificates.ts';

const servers = createTestAuthority('servers');
const clients = createTestAuthority('clients');
const strangers = createTestAuthority('strangers');
const SERVER = servers.issue('server', '127.0.0.1', 'localhost');
const FRIEND = clients.issue('client', 'prometheus.example', '192.0.2.7', 'ops@example.com', 'spiffe://example/prom');
const STRANGER = strangers.issue('client', 'prometheus.example');
/** Signed by the right authority, for another purpose. */
const MISUSED = clients.issue('server', 'prometheus.example');

function toSecurity(tls: Partial<WebTls> = {}): WebSecurity {
  const own: WebTls = { certPem: SERVER.cert, keyPem: new Secret(SERVER.key), clientAuth: 'none', ...tls };
  return { tls: own, headers: {}, users: new Map() };
}

const openTlsBench = (tls: Partial<WebTls> = {}, content: Partial<WebContent> = {}) =>
  openBench(content, { security: toSecurity(tls) });

type SecureOptions = RequestOptions & Pick<ConnectionOptions, 'session'>;

/** The status of `/-/healthy` for a client with that certificate, or `refused` when the connection was ended. */
async function knock(bench: Bench, certificate?: Certificate, options: SecureOptions = {}) {
  const credentials: SecureOptions = { ca: servers.caPem, ...certificate, ...options };
  try {
    return (await bench.get('/-/healthy', credentials)).status;
  } catch (error) {
    const { code = '' } = error as { code?: string };
    // With TLS 1.3 the client has its handshake behind it when the server makes up its mind.
    expect(code).toMatch(/^(ECONNRESET|EPIPE|ERR_SSL_)/);
    return 'refused';
  }
}

test('the server speaks TLS with the given certificate, and says so in its address', async () => {
  await using bench = await openTlsBench();
  expect(bench.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  const { status, body } = await bench.get('/metrics', { ca: servers.caPem });
  expect([status, body.toString()]).toEqual([200, 'router_up 1\n']);
  await expect(bench.get('/metrics', { ca: strangers.caPem })).rejects.toMatchObject({
    code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  });
  await expect(fetchRaw(bench.url.replace('https', 'http'))).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test('service discovery over TLS gives the scheme', async () => {
  await using bench = await openTlsBench();
  const { body } = await bench.get('/sd', {
    ca: servers.caPem,
    servername: 'localhost',
    headers: { host: 'exporter' },
  });
  expect(JSON.parse(body.toString())).toMatchObject([{ targets: ['exporter:443'], labels: { __scheme__: 'https' } }]);
});

test.for([{}, { 'accept-encoding': 'gzip' }])(
  'a scrape over TLS that fails midway breaks the connection (%j)',
  async (headers) => {
    function* renderMetrics() {
      for (let line = 0; line < 100_000; line++) yield `router_up{router="r${(line * 7919) % 99_991}"} 1\n`;
      throw new RangeError('midway');
    }
    const onFailed = vi.fn<WebContent['onFailed']>();
    await using bench = await openTlsBench({}, { renderMetrics, onFailed });
    await expect(bench.get('/metrics', { ca: servers.caPem, headers })).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(onFailed).toHaveBeenCalledTimes(1);
  },
);

describe('the certificate of a client', () => {
  const clientCaPem = clients.caPem;
  const NAMED = ['prometheus.example'];

  test.for([
    ['none', {}, [200, 200, 200, 200]],
    ['request', {}, [200, 200, 200, 200]],
    ['require-any', {}, ['refused', 200, 200, 200]],
    ['verify-if-given', { clientCaPem }, [200, 200, 'refused', 'refused']],
    ['require-and-verify', { clientCaPem }, ['refused', 200, 'refused', 'refused']],
    ['require-any', { clientAllowedSans: NAMED }, ['refused', 200, 200, 200]],
    ['require-any', { clientAllowedSans: ['192.0.2.7'] }, ['refused', 200, 'refused', 'refused']],
    ['require-and-verify', { clientCaPem, clientAllowedSans: NAMED }, ['refused', 200, 'refused', 'refused']],
  ] as const)(
    'mode %s with %j accepts the right clients',
    async ([clientAuth, tls, [none, friend, stranger, misused]]) => {
      await using bench = await openTlsBench({ clientAuth, ...tls });
      expect(await knock(bench)).toBe(none);
      expect(await knock(bench, FRIEND)).toBe(friend);
      expect(await knock(bench, STRANGER)).toBe(stranger);
      expect(await knock(bench, MISUSED)).toBe(misused);
      // TLS 1.2 takes another way through the handshake.
      expect(await knock(bench, undefined, { maxVersion: 'TLSv1.2' })).toBe(none);
      expect(await knock(bench, FRIEND, { maxVersion: 'TLSv1.2' })).toBe(friend);
      expect(await knock(bench, STRANGER, { maxVersion: 'TLSv1.2' })).toBe(stranger);
    },
  );

  test.for([
    ['prometheus.example', 200],
    ['192.0.2.7', 200],
    ['ops@example.com', 200],
    ['spiffe://example/prom', 200],
    ['Prometheus.example', 'refused'],
    ['example', 'refused'],
    ['*.example', 'refused'],
    ['192.0.2.8', 'refused'],
    ['DNS:prometheus.example', 'refused'],
    ['', 'refused'],
  ] as const)('with the allowed name %j is answered with %s', async ([name, expected]) => {
    await using bench = await openTlsBench({ clientAuth: 'require-any', clientAllowedSans: ['other', name] });
    expect(await knock(bench, FRIEND)).toBe(expected);
  });

  test('without an alternative name is refused where one is required', async () => {
    await using bench = await openTlsBench({ clientAuth: 'require-any', clientAllowedSans: [] });
    expect(await knock(bench, FRIEND)).toBe('refused');
  });

  test('gives no entrance by names that look like several', async () => {
    const sly = clients.issue('client', 'a, DNS:prometheus.example', 'b", "DNS:prometheus.example', 'c\\", DNS:x');
    await using bench = await openTlsBench({ clientAuth: 'require-any', clientAllowedSans: NAMED });
    expect(await knock(bench, sly)).toBe('refused');
    await using exact = await openTlsBench({
      clientAuth: 'require-any',
      clientAllowedSans: ['a, DNS:prometheus.example'],
    });
    expect(await knock(exact, sly)).toBe(200);
  });
});

test.for([
  ['', []],
  ['DNS:a', ['a']],
  ['DNS:a, IP Address:192.0.2.1, email:b@c, URI:d://e', ['a', 'b@c', 'd://e']],
  ['DNS:"a, DNS:b", DNS:c', ['a, DNS:b', 'c']],
  [String.raw`DNS:"a\", DNS:b", DNS:c`, ['a", DNS:b', 'c']],
  ['DirName:"CN=a, DNS:b", DNS:c', ['c']],
  ['othername:<unsupported>, Registered ID:1.2.3, DNS: a ', [' a ']],
] as const)('parseAlternativeNames() reads %j', ([text, names]) => {
  expect(parseAlternativeNames(text)).toEqual(names);
});

test('parseAlternativeNames() reads a long hostile text in no time', () => {
  const text = `${'DNS:a, "'.repeat(20_000)}${'\\"'.repeat(20_000)}`;
  const workedMs = measureProcessorMs(() => {
    parseAlternativeNames('DNS:x'.repeat(50_000));
    parseAlternativeNames(text.replaceAll('"', String.raw`\"`));
  });
  expect(workedMs).toBeLessThan(1000);
});

describe('versions and suites', () => {
  /** What version and suite a client that offers these gets. */
  async function negotiate(bench: Bench, options: ConnectionOptions = {}): Promise<string> {
    const { port } = new URL(bench.url);
    const socket = connect({ port: Number(port), host: '127.0.0.1', ca: servers.caPem, ...options });
    try {
      await once(socket, 'secureConnect');
      return `${socket.getProtocol()} ${socket.getCipher().name}`;
    } catch (error) {
      return String((error as { code?: string }).code);
    } finally {
      socket.destroy();
    }
  }

  test('are 1.2 and 1.3 unless said otherwise', async () => {
    await using bench = await openTlsBench();
    expect(await negotiate(bench)).toMatch(/^TLSv1\.3 /);
    expect(await negotiate(bench, { maxVersion: 'TLSv1.2' })).toMatch(/^TLSv1\.2 /);
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    expect(await negotiate(bench, old)).toMatch(/PROTOCOL_VERSION/);
  });

  test('are those that were configured', async () => {
    await using newer = await openTlsBench({ minVersion: 'TLS13' });
    expect(await negotiate(newer, { maxVersion: 'TLSv1.2' })).toMatch(/PROTOCOL_VERSION/);
    await using older = await openTlsBench({ maxVersion: 'TLS12' });
    expect(await negotiate(older)).toMatch(/^TLSv1\.2 /);
    await using picky = await openTlsBench({
      cipherSuites: ['TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384', 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'],
    });
    expect(await negotiate(picky)).toMatch(/^TLSv1\.3 /);
    const older12 = { maxVersion: 'TLSv1.2' } as const;
    const both = 'ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384';
    // The server's order decides.
    expect(await negotiate(picky, { ...older12, ciphers: both })).toBe('TLSv1.2 ECDHE-RSA-AES256-GCM-SHA384');
    expect(await negotiate(picky, { ...older12, ciphers: 'ECDHE-RSA-CHACHA20-POLY1305' })).toMatch(/HANDSHAKE_FAILURE/);
    await using newest = await openTlsBench({ cipherSuites: ['TLS_AES_128_GCM_SHA256'] });
    expect(await negotiate(newest)).toMatch(/^TLSv1\.3 /);
    expect(await negotiate(newest, older12)).toMatch(/PROTOCOL_VERSION/);
  });
});

test.for([
  ['a key that is none', { keyPem: new Secret('nonsense') }],
  ['a certificate that is none', { certPem: 'nonsense' }],
] as const)('openWebServer() refuses %s', async ([, tls]) => {
  const error: unknown = await openTlsBench(tls).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WebError);
  expect(error).toMatchObject({ code: 'settings', disposition: 'operator' });
});

describe('WebServer.prepare()', () => {
  const withClients = (tls: Partial<WebTls> = {}) =>
    toSecurity({ clientAuth: 'require-and-verify', clientCaPem: clients.caPem, ...tls });

  test('shows another certificate to new connections', async () => {
    const next = strangers.issue('server', '127.0.0.1');
    await using bench = await openTlsBench();
    bench.server.prepare({ security: toSecurity({ certPem: next.cert, keyPem: new Secret(next.key) }) })();
    expect(await knock(bench, undefined, { ca: strangers.caPem })).toBe(200);
    await expect(bench.get('/-/healthy', { ca: servers.caPem })).rejects.toMatchObject({
      code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    });
  });

  test('leaves connections alone when nothing about TLS changed', async () => {
    await using bench = await openTlsBench();
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: servers.caPem });
    const connected = vi.spyOn(agent, 'createConnection');
    await bench.get('/-/healthy', { agent });
    bench.server.prepare({ security: { ...toSecurity(), headers: { 'X-Frame-Options': 'deny' } } })();
    const { headers } = await bench.get('/-/healthy', { agent });
    expect(headers['x-frame-options']).toBe('deny');
    expect(connected).toHaveBeenCalledTimes(1);
    agent.destroy();
  });

  test('asks clients again that were let in by the authority before, idle, busy or resuming', async () => {
    const begun = Promise.withResolvers<void>();
    const open = Promise.withResolvers<void>();
    async function* renderMetrics() {
      begun.resolve();
      await open.promise;
      yield 'router_up 1\n';
    }
    await using bench = await openBench({ renderMetrics }, { security: withClients() });
    const credentials = { ca: servers.caPem, ...FRIEND };
    const { port } = new URL(bench.url);
    // A session that could be resumed.
    const first = connect({ port: Number(port), host: '127.0.0.1', ...credentials });
    const sessions: Buffer[] = [];
    first.on('session', (session: Buffer) => sessions.push(session));
    await once(first, 'secureConnect');
    expect(await sendRequest(first)).toMatch(/^HTTP\/1\.1 200/);
    const [session] = sessions;
    const resumed = connect({ port: Number(port), host: '127.0.0.1', ...credentials, session });
    await once(resumed, 'secureConnect');
    expect(resumed.isSessionReused()).toBe(true);
    // An open scrape.
    const busy = connect({ port: Number(port), host: '127.0.0.1', ...credentials });
    busy.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n');
    await begun.promise;

    const idleEnded = once(first, 'close');
    bench.server.prepare({ security: withClients({ clientCaPem: strangers.caPem }) })();
    await idleEnded;
    open.resolve();
    let answer = '';
    while (!answer.endsWith('0\r\n\r\n')) answer += String(await once(busy, 'data'));
    expect(answer).toMatch(/^HTTP\/1\.1 200/);
    expect(await sendRequest(busy)).toBe('');
    expect(await knock(bench, FRIEND)).toBe('refused');
    expect(await knock(bench, undefined, { ...credentials, session })).toBe('refused');
    expect(await knock(bench, STRANGER)).toBe(200);
  });

  test('changes how strictly certificates are asked for', async () => {
    await using bench = await openBench({}, { security: withClients() });
    expect(await knock(bench)).toBe('refused');
    bench.server.prepare({ security: withClients({ clientAuth: 'verify-if-given' }) })();
    expect([await knock(bench), await knock(bench, STRANGER)]).toEqual([200, 'refused']);
    bench.server.prepare({ security: withClients({ clientAuth: 'require-any' }) })();
    expect([await knock(bench), await knock(bench, STRANGER)]).toEqual(['refused', 200]);
  });

  test.for([
    ['TLS on', undefined, toSecurity()],
    ['TLS off', toSecurity(), undefined],
    ['certificates of clients on', toSecurity(), withClients()],
    ['certificates of clients off', withClients(), toSecurity()],
  ] as const)('says that a restart is needed to switch %s, and changes nothing', async ([, before, next]) => {
    await using bench = await openBench({}, { security: before });
    const update = () => bench.server.prepare({ security: next });
    expect(update).toThrow(expect.objectContaining({ code: 'restart', disposition: 'operator' }));
    const credentials = before?.tls ? { ca: servers.caPem, ...FRIEND } : {};
    expect((await bench.get('/-/healthy', credentials)).status).toBe(200);
  });

  test('refuses a faulty certificate and goes on with the one before', async () => {
    await using bench = await openTlsBench();
    const update = () => bench.server.prepare({ security: toSecurity({ certPem: 'nonsense' }) });
    expect(update).toThrow(expect.objectContaining({ code: 'settings' }));
    expect(await knock(bench)).toBe(200);
  });
});

/** Sends one request and gives the beginning of what comes back; nothing when the connection is ended instead. */
async function sendRequest(socket: TLSSocket): Promise<string> {
  let text = '';
  const over = Promise.withResolvers<void>();
  const onData = (chunk: Buffer) => {
    text += chunk.toString();
    over.resolve();
  };
  socket.on('data', onData).once('close', over.resolve).on('error', over.resolve);
  socket.write('GET /-/healthy HTTP/1.1\r\nHost: a\r\n\r\n');
  await over.promise;
  socket.off('data', onData);
  return text;
}

test('WebServer.close() does not wait for a client that never begins its handshake', async () => {
  const bench = await openTlsBench();
  const { port } = new URL(bench.url);
  const silent = connectTcp(Number(port), '127.0.0.1');
  await once(silent, 'connect');
  expect(await knock(bench)).toBe(200);
  const closed = new Promise((resolve) => silent.once('close', resolve));
  await bench.server.close();
  await closed;
});
