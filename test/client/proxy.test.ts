import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import { ConnectionCheck } from '../../src/client/index.ts';
import type { ForwardProxy } from '../../src/net/index.ts';
import { createSelfSigned } from '../cli/doctor-bench.ts';
import { openConnectProxy, openSocksProxy, type TestProxyOptions } from '../support/proxies.ts';
import { answerJson, type BenchOptions, type Handler, openRouter } from './http-router.ts';

const ACCOUNT = 'agent:p/äss';
const WITH_ACCOUNT = { username: 'agent', password: new Secret('p/äss') };
const certificate = createSelfSigned('localhost', 100);
const answer: Handler = (_request, response) => answerJson(response, { status: {} });

/** A router with TLS, whose certificate is for `localhost`, and a client that reaches it through a proxy. */
function openBehind(proxy: ForwardProxy, options: BenchOptions = {}) {
  const tls = { caPem: certificate.cert, serverName: 'localhost' };
  return openRouter(answer, { certificate, tls, proxy, ...options });
}

async function fail(
  work: Promise<unknown>,
): Promise<{ code: string; message: string; hint: string; isUnsent: boolean }> {
  return await work.then(
    () => {
      throw new RangeError('It did not fail');
    },
    (error: { code: string; message: string; hint: string; isUnsent: boolean }) => error,
  );
}

describe('a router behind a proxy', () => {
  test.each([
    ['http', 'without an account', {}],
    ['http', 'with an account', { account: ACCOUNT }],
    ['https', 'with an account', { account: ACCOUNT, certificate }],
    ['socks5', 'without an account', {}],
    ['socks5', 'with an account', { account: ACCOUNT }],
  ] as const)('is reached through %s %s, from an own address', async (scheme, _name, options: TestProxyOptions) => {
    await using proxy = await (scheme === 'socks5' ? openSocksProxy(options) : openConnectProxy(options));
    const way = {
      url: `${scheme}://localhost:${proxy.port}`,
      caPem: certificate.cert,
      ...(options.account !== undefined && WITH_ACCOUNT),
    };
    await using router = await openBehind(way, { sourceAddress: '127.0.0.2' });
    const { client } = router;
    await client.readStatus('system');
    await client.readStatus('system');

    const target = `127.0.0.1:${router.port}`;
    expect(proxy.asked).toEqual([{ target, account: options.account, from: '127.0.0.2' }]);
    expect(router.lines()).toEqual(['POST /auth/login', 'GET /status/system', 'GET /status/system']);
    expect(client.certificate).toBeDefined();
    expect(client.wireBytes.sent).toBeGreaterThan(700);

    // What the proxy ends is opened again, in the same way, and resumes the session of TLS.
    proxy.cut();
    await client.readStatus('system');
    expect(proxy.asked).toHaveLength(2);
    expect(client.connections).toEqual({ opened: 2, resumed: 1 });
  });

  test.each(['http', 'socks5'])('without TLS is reached through %s as well', async (scheme) => {
    await using proxy = await (scheme === 'http' ? openConnectProxy() : openSocksProxy());
    await using router = await openRouter(answer, { proxy: { url: `${scheme}://127.0.0.1:${proxy.port}` } });
    expect(await router.client.readStatus('system')).toEqual({ status: {} });
    expect(proxy.asked).toHaveLength(1);
    expect(proxy.others).toEqual([]);
  });

  test('is reached through a proxy that sends interim answers first', async () => {
    await using proxy = await openConnectProxy({ interim: 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Wait\r\n\r\n' });
    await using router = await openRouter(answer, { proxy: { url: `http://127.0.0.1:${proxy.port}` } });
    expect(await router.client.readStatus('system')).toEqual({ status: {} });
  });

  test('gives no name to the system: the proxy resolves it', async () => {
    await using proxy = await openConnectProxy();
    await using socks = await openSocksProxy();
    await using router = await openRouter(answer);
    for (const [url, one] of [
      [`http://127.0.0.1:${proxy.port}`, proxy],
      [`socks5://127.0.0.1:${socks.port}`, socks],
    ] as const) {
      await using behind = await openRouter(answer, { url: `http://plant-7.invalid:${router.port}`, proxy: { url } });
      await behind.client.readStatus('system');
      expect(one.asked.map(({ target }) => target)).toEqual([`plant-7.invalid:${router.port}`]);
    }
  });

  test('with an IPv6 address is asked for by it', async () => {
    await using proxy = await openConnectProxy();
    await using socks = await openSocksProxy();
    await using router = await openRouter(answer);
    const url = `http://[2001:db8::7:1]:${router.port}`;
    await using behind = await openRouter(answer, { url, proxy: { url: `http://127.0.0.1:${proxy.port}` } });
    await using other = await openRouter(answer, { url, proxy: { url: `socks5://127.0.0.1:${socks.port}` } });
    await behind.client.readStatus('system');
    await other.client.readStatus('system');
    expect(proxy.asked[0]?.target).toBe(`[2001:db8::7:1]:${router.port}`);
    expect(socks.asked[0]?.target).toBe(`[20010db8000000000000000000070001]:${router.port}`);
  });
});

describe('a proxy that does not lead on', () => {
  const SECRET = 'GO-AWAY';
  test.each([
    [
      'http',
      'requires an account',
      { account: ACCOUNT },
      'requires another login: it answered with 407',
      'proxy.username',
    ],
    ['http', 'refuses', { answer: 'HTTP/1.1 403 Forbidden\r\n\r\n' }, 'it answered with 403', 'allows CONNECT'],
    ['http', 'reaches no router', { answer: 'HTTP/1.0 504\r\n\r\n' }, 'it answered with 504', 'the proxy reaches it'],
    ['http', 'is something else', { answer: 'SSH-2.0-x\r\n\r\n' }, 'it does not answer in HTTP', 'proxy.url'],
    [
      'http',
      'answers without end',
      { answer: `HTTP/1.1 200 ${'x'.repeat(20_000)}` },
      'its answer is too long',
      'proxy.url',
    ],
    ['http', 'says more', { answer: `HTTP/1.1 200 OK\r\n\r\n${SECRET}` }, 'it sent more than its answer', 'proxy.url'],
    [
      'socks5',
      'requires an account',
      { account: ACCOUNT },
      'accepts no connection without another login',
      'proxy.username',
    ],
    ['socks5', 'refuses', { answer: Buffer.from([5, 2, 0, 1]) }, 'its rules do not allow it', 'allows it'],
    ['socks5', 'reaches no router', { answer: Buffer.from([5, 4, 0, 1]) }, 'host unreachable', 'the proxy reaches it'],
    ['socks5', 'fails', { answer: Buffer.from([5, 99, 0, 1]) }, 'code 99', 'the proxy reaches it'],
    ['socks5', 'is something else', { answer: 'HTTP/1.1 400' }, 'it does not answer in SOCKS 5', 'proxy.url'],
  ] as const)('%s %s', async (scheme, _name, options, words, advice) => {
    await using proxy = await (scheme === 'socks5' ? openSocksProxy(options) : openConnectProxy(options));
    const url = `${scheme}://127.0.0.1:${proxy.port}`;
    await using router = await openBehind({ url });
    const error = await fail(router.client.readStatus('system'));
    expect(error).toMatchObject({ code: 'connect', isUnsent: true });
    expect(error.message).toContain(`The proxy ${url} `);
    expect(error.message).toContain(words);
    expect(error.hint).toContain(advice);
    expect(router.arrived).toEqual([]);
  });

  test('with another password for SOCKS is reported, without the password', async () => {
    await using proxy = await openSocksProxy({ account: ACCOUNT });
    const url = `socks5://127.0.0.1:${proxy.port}`;
    await using router = await openBehind({ url, username: 'agent', password: new Secret('other-secret') });
    const { message } = await fail(router.client.readStatus('system'));
    expect(message).toBe(`The proxy ${url} refused user and password`);
  });

  test.each([
    ['password', { password: 'p'.repeat(256) }, 'http://127.0.0.1', 'takes no user or password of more than 255 bytes'],
    ['user', { username: 'ü'.repeat(128) }, 'http://127.0.0.1', 'takes no user or password of more than 255 bytes'],
    ['router', {}, `http://${'a.'.repeat(128)}example`, 'the name of the router has more than 255 bytes'],
  ])('for SOCKS gets no part of a %s that is too long for it', async (_what, changed, base, words) => {
    const { username, password } = { username: 'agent', password: 'p/äss', ...changed };
    await using proxy = await openSocksProxy({ account: ACCOUNT });
    await using router = await openRouter(answer, {
      url: `${base}:8080`,
      proxy: { url: `socks5://127.0.0.1:${proxy.port}`, username, password: new Secret(password) },
    });
    const { message } = await fail(router.client.readStatus('system'));
    expect(message).toContain(words);
    expect(proxy.asked).toEqual([]);
  });

  test('reads its password again after a refusal', async () => {
    await using proxy = await openConnectProxy({ account: ACCOUNT });
    const password: Secret = new Secret('old', { id: 'file', renew: async () => password.replace('p/äss') });
    const url = `http://127.0.0.1:${proxy.port}`;
    await using router = await openBehind({ url, username: 'agent', password });
    await fail(router.client.readStatus('system'));
    await router.client.readStatus('system');
    expect(proxy.asked.map(({ account }) => account)).toEqual(['agent:old', ACCOUNT]);
  });

  test('has a certificate of its own to prove', async () => {
    await using proxy = await openConnectProxy({ certificate });
    await using router = await openBehind({ url: `https://localhost:${proxy.port}` });
    const error = await fail(router.client.readStatus('system'));
    expect(error).toMatchObject({ code: 'tls', hint: expect.stringContaining('proxy.ca_file') });
    expect(error.message).toBe(`The proxy https://localhost:${proxy.port} is not trusted`);
    expect(proxy.asked).toEqual([]);
  });

  test('is not there', async () => {
    await using proxy = await openConnectProxy();
    const url = `http://127.0.0.1:${proxy.port}`;
    await proxy[Symbol.asyncDispose]();
    await using router = await openBehind({ url });
    const error = await fail(router.client.readStatus('system'));
    expect(error).toMatchObject({ code: 'connect', message: `The proxy ${url} cannot be reached` });
    expect(error.hint).toContain('whether the proxy runs');
  });

  test('has an unknown name', async () => {
    await using router = await openBehind({ url: 'http://proxy.invalid:3128' });
    const error = await fail(router.client.readStatus('system'));
    expect(error).toMatchObject({ code: 'dns', message: 'The proxy http://proxy.invalid:3128 has no address' });
  });

  test('says nothing, and has the time of a connection for it', async () => {
    await using silent = await openConnectProxy({ answer: '' });
    await using router = await openBehind({ url: `http://127.0.0.1:${silent.port}` }, { connectTimeoutMs: 3000 });
    let isOver = false;
    const reading = fail(router.client.readStatus('system')).finally(() => {
      isOver = true;
    });
    await expect.poll(() => silent.asked.length).toBe(1);
    await router.clock.advance(2999);
    expect(isOver).toBe(false);
    await router.clock.advance(1);
    expect(await reading).toMatchObject({ code: 'connect', isUnsent: true });
  });
});

describe('an own address that this machine does not have', () => {
  const sourceAddress = '203.0.113.77';

  test('is reported by the client and by the probe', async () => {
    await using router = await openRouter(answer, { sourceAddress });
    const probe = new ConnectionCheck({ url: router.url, timeoutMs: 1000, clock: router.clock, sourceAddress });
    for (const error of [
      await fail(router.client.readStatus('system')),
      await fail(probe.connect(AbortSignal.timeout(2000))),
    ]) {
      expect(error.message).toBe(`No connection can come from ${sourceAddress}: EADDRNOTAVAIL`);
      expect(error.hint).toContain('source_address');
    }
  });
});
