import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createSeededRandom, renderErrorChain, Secret } from '../../src/base/index.ts';
import { type RouterClient, RouterError } from '../../src/client/index.ts';
import { createCertificateAuthority } from '../../src/simulator/tls.ts';
import { advanceUntilSettled, cut, hang, never, ok, readAll, refuse, thrownBy } from './client-calls.ts';
import { answerJson, type Handler, inSequence, openRouter, REQUEST_TIMEOUT_MS } from './http-router.ts';

describe('JSON calls', () => {
  test('RouterClient logs in before its first call and sends the token with each', async () => {
    await using bench = await openRouter(ok);
    await bench.client.readProfiles(never);
    await bench.client.readStatus('device_info', never);
    expect(bench.arrived.map(({ line, token }) => [line, token])).toEqual([
      ['POST /auth/login', undefined],
      ['GET /profiles', 'access-1'],
      ['GET /status/device_info', 'access-1'],
    ]);
    expect(JSON.parse(bench.arrived[0]?.body ?? '')).toEqual({ username: 'monitor', password: 'simulated' });
  });

  test('RouterClient says what to do about a connection that is closed during the login, as TLS ports close plain ones', async () => {
    const server = createServer((socket) => socket.once('data', () => socket.destroy())).listen(0, '127.0.0.1');
    await once(server, 'listening');
    await using bench = await openRouter(ok, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    const error = await thrownBy(bench.client.readProfiles(never));
    server.close();
    expect(renderErrorChain(error)).toMatch(
      /^POST \/auth\/login lost its connection: .*\. The router may expect TLS on this port: see scheme and port in the url/,
    );
  });

  test('RouterClient keeps one connection for all its calls', async () => {
    await using bench = await openRouter(ok);
    for (let count = 0; count < 5; count++) await bench.client.readProfiles(never);
    expect(new Set(bench.arrived.map(({ connection }) => connection))).toEqual(new Set([1]));
  });

  test('RouterClient sends one request at a time, in the order of asking', async () => {
    let open = 0;
    let openMost = 0;
    await using bench = await openRouter((_request, response) => {
      openMost = Math.max(openMost, ++open);
      setImmediate(() => {
        open--;
        answerJson(response, {});
      });
    });
    const resources = ['a', 'b', 'c', 'd'];
    await Promise.all(resources.map((resource) => bench.client.readStatus(resource, never)));
    expect(bench.lines().slice(1)).toEqual(resources.map((resource) => `GET /status/${resource}`));
    expect(openMost).toBe(1);
  });

  test('RouterClient keeps the path prefix of its url and encodes what it puts behind it', async () => {
    await using outer = await openRouter((_request, response) => {
      answerJson(response, { access: 'a', refresh: 'r' });
    });
    await using bench = await openRouter(ok, { url: `${outer.url}/plant/7//` });
    await bench.client.readStatus('lte 2/cell?x', never);
    expect(outer.lines()).toEqual(['POST /plant/7/auth/login', 'GET /plant/7/status/lte%202/cell%3Fx']);
  });

  test('RouterClient encodes blanks and plus signs of a query as every decoder of URLs understands them', async () => {
    await using bench = await openRouter((_request, response) => response.end('x'));
    await bench.client.downloadProfile('my profile+1', {}, readAll);
    expect(bench.lines().at(-1)).toBe('GET /download/profiles?profile=my%20profile%2B1');
  });

  test.each([
    ['HTML', '<html>Login</html>'],
    ['nothing', ''],
    ['half of a JSON text', '{"profiles": ['],
  ])(
    'RouterClient.readProfiles() throws parse, with the router well, when it is answered with %s',
    async (_what, body) => {
      await using bench = await openRouter((_request, response) => response.end(body));
      const error = await thrownBy(bench.client.readProfiles(never));
      expect(error).toMatchObject({ code: 'parse', disposition: 'skip', isAnswered: true, status: 200 });
    },
  );

  test('RouterClient.readProfiles() reads no more than 4 MiB of an answer, and the router counts as well', async () => {
    let sentBytes = 0;
    const closed = Promise.withResolvers<void>();
    await using bench = await openRouter((_request, response) => {
      const chunk = Buffer.alloc(256 * 1024, ' ');
      const write = () => {
        sentBytes += chunk.length;
        if (sentBytes < 256 * 1024 * 1024) response.write(chunk, write);
      };
      response.on('error', () => {}).on('close', () => closed.resolve());
      write();
    });
    const error = await thrownBy(bench.client.readProfiles(never));
    expect(error).toMatchObject({ code: 'parse', disposition: 'skip', isAnswered: true });
    await closed.promise;
    expect(sentBytes).toBeLessThan(64 * 1024 * 1024);
  });

  test.each([
    ['readDocument', 512, (client: RouterClient) => client.readDocument('device_info', never)],
    ['configuration.read', 1024, (client: RouterClient) => client.configuration.read('wan/wans', {}, never)],
    ['configuration.countEntries', 64, (client: RouterClient) => client.configuration.countEntries('a/b', {}, never)],
  ])('RouterClient.%s() decodes no more than %d KiB: what a router answers holds up no others', async (...given) => {
    const [, kib, read] = given;
    const answers = [kib * 1024, kib * 1024 + 1].map((length) => {
      const [begin, end] = ['{"config":{"list_size":1,"unique":{"a":"', '"}}}'];
      return `${begin}${'x'.repeat(length - begin.length - end.length)}${end}`;
    });
    await using bench = await openRouter((_request, response) => {
      const answer = answers.shift() ?? '';
      response.write(answer.slice(0, 1000));
      response.end(answer.slice(1000));
    });
    await read(bench.client);
    const error = await thrownBy(read(bench.client));
    expect(error).toMatchObject({ code: 'parse', disposition: 'skip', isAnswered: true, status: 200 });
    expect(String(error)).toContain(`more than ${kib * 1024} bytes`);
  });

  test('RouterClient.readProfiles() ends an answer that announces more than 4 MiB at its head, and the router counts as well', async () => {
    const closed = Promise.withResolvers<void>();
    await using bench = await openRouter((_request, response) => {
      response.setHeader('content-length', 4 * 1024 * 1024 + 1);
      response.on('error', () => {}).on('close', () => closed.resolve());
      response.write(Buffer.alloc(2 * 1024 * 1024, ' '));
    });
    const error = await thrownBy(bench.client.readProfiles(never));
    expect(error).toMatchObject({ code: 'parse', disposition: 'skip', isAnswered: true, status: 200 });
    await closed.promise;
    expect(bench.client.wireBytes.received).toBeLessThan(512 * 1024);
  });

  test.each([
    [403, { code: 'auth', disposition: 'operator', isAnswered: true }],
    [404, { code: 'http', disposition: 'skip', isAnswered: true }],
    [500, { code: 'http', disposition: 'retry', isAnswered: true }],
    [204, { code: 'http', disposition: 'retry', isAnswered: true }],
    [302, { code: 'http', disposition: 'retry', isAnswered: true }],
  ])('RouterClient.readProfiles() takes status %d as an answer of a router that is well', async (status, expected) => {
    await using bench = await openRouter(refuse(status));
    const error = await thrownBy(bench.client.readProfiles(never));
    expect(error).toMatchObject({ ...expected, status });
    expect(bench.lines()).toEqual(['POST /auth/login', 'GET /profiles']);
  });

  test('RouterClient reads refused basic credentials again, and sends the request once more if they have changed', async () => {
    const values = ['first', 'second'];
    const password: Secret = new Secret('first', {
      id: 'x',
      renew: async () => password.replace(values.shift() ?? 'second'),
    });
    const good = `Basic ${Buffer.from('monitor:second').toString('base64')}`;
    await using bench = await openRouter(
      (request, response) => answerJson(response, {}, request.headers.authorization === good ? 200 : 401),
      { auth: 'basic', password },
    );
    await expect(bench.client.readStatus('device_info')).rejects.toMatchObject({ status: 401 });
    expect(bench.lines()).toHaveLength(1);
    expect(await bench.client.readStatus('device_info')).toEqual({});
    expect(bench.lines()).toHaveLength(3);
  });

  test('RouterClient reads basic credentials again after several that were refused in one request: they cost no login', async () => {
    const values = ['second', 'third'];
    const password: Secret = new Secret('first', {
      id: 'x',
      renew: async () => password.replace(values.shift() ?? 'good'),
    });
    const good = `Basic ${Buffer.from('monitor:good').toString('base64')}`;
    await using bench = await openRouter(
      (request, response) => answerJson(response, {}, request.headers.authorization === good ? 200 : 401),
      { auth: 'basic', password },
    );
    await expect(bench.client.readStatus('device_info')).rejects.toMatchObject({ status: 401 });
    expect(bench.lines()).toHaveLength(3);
    expect(await bench.client.readStatus('device_info')).toEqual({});
  });

  test.each([
    ['itself with its version', undefined, /^router-exporter\/\d+\.\d+\.\d+/],
    ['what the configuration says', { 'User-Agent': new Secret('plants') }, /^plants$/],
  ])('RouterClient names %s in every request', async (_what, headers, agent) => {
    const agents: unknown[] = [];
    await using bench = await openRouter(
      (request, response) => {
        agents.push(request.headers['user-agent']);
        answerJson(response, {});
      },
      { ...(headers && { headers }) },
    );
    await bench.client.readStatus('device_info');
    await bench.client.readLog(
      'a/current',
      new AbortController().signal,
      async (body) => void (await Array.fromAsync(body)),
    );
    expect(agents).toEqual([expect.stringMatching(agent), expect.stringMatching(agent)]);
  });

  test.each(['token', 'basic'] as const)(
    'RouterClient keeps its credentials out of everything that a router quotes, with auth: %s',
    async (auth) => {
      // In base64, it has a slash, which some encoders escape.
      const password = 'canary?~?';
      await using bench = await openRouter(
        (request, response) => {
          const quoted = request.headers.authorization ?? '';
          const list = [quoted, password, `/login?p=${encodeURIComponent(password)}`];
          const text = JSON.stringify({
            error: [{ [quoted]: `you sent ${quoted} of ${password}`, [password]: '' }],
            list,
          });
          response.writeHead(request.url?.includes('device_info') === true ? 200 : 400);
          response.end(request.url?.includes('escaped') === true ? text.replaceAll('/', String.raw`\/`) : text);
        },
        { auth, password },
      );
      const base64 = Buffer.from(`monitor:${password}`).toString('base64');
      expect(base64).toContain('/');
      const shown = [JSON.stringify(await bench.client.readStatus('device_info'))];
      for (const resource of ['plain', 'escaped']) {
        const error: unknown = await bench.client.readStatus(resource).catch((cause: unknown) => cause);
        shown.push(renderErrorChain(error));
      }
      for (const text of shown) {
        expect(text).toContain('[secret]');
        expect(text).not.toMatch(/access-1|canary/);
        expect(text).not.toContain(base64);
      }
    },
  );

  test('RouterClient keeps headers of the configuration out of what a router quotes, with and without their schemes', async () => {
    const [token, key] = ['canary-token-1', 'canary"key\\2'];
    await using bench = await openRouter(
      (request, response) => {
        const { authorization = '', 'x-key': sent } = request.headers;
        answerJson(
          response,
          { error: [{ token: `no ${authorization.split(' ')[1]}`, key: `no ${String(sent)}` }] },
          400,
        );
      },
      { auth: 'none', headers: { Authorization: new Secret(`Bearer ${token}`), 'X-Key': new Secret(key) } },
    );
    const error: unknown = await bench.client.readStatus('plain').catch((cause: unknown) => cause);
    expect(renderErrorChain(error)).toContain('no [secret]');
    expect(renderErrorChain(error)).not.toContain('canary');
  });

  test('RouterClient masks texts of an answer, in whatever form, and leaves numbers that equal a header', async () => {
    await using bench = await openRouter(
      (_request, response) => response.end(String.raw`{"uptime": 12345678, "12345678": ["no \u00312345678"]}`),
      { auth: 'none', headers: { 'X-Site': new Secret('12345678') } },
    );
    expect(await bench.client.readStatus('device_info')).toEqual({ uptime: 12345678, '[secret]': ['no [secret]'] });
  });

  test.each([
    ['is masked from six characters on', 'icom-1', { status: { unique: { note: 'a icom-1 b' } } }, 'a [secret] b'],
    ['is left where it is shorter', 'icom', { status: { unique: { note: 'icom OS' } } }, 'icom OS'],
    [
      'is masked in values alone where it could be the name of a field',
      'status',
      { status: { unique: { note: 'status' } } },
      '[secret]',
    ],
  ])('RouterClient reads on when a router quotes its password, which %s', async (_what, password, body, note) => {
    await using bench = await openRouter((_request, response) => answerJson(response, body), { password });
    expect(await bench.client.readStatus('device_info')).toEqual({ status: { unique: { note } } });
  });

  test('RouterClient keeps an answer as it is when its own credentials are short enough to be parts of words', async () => {
    await using bench = await openRouter((_request, response) => response.end('{"quoted": "YTo= is short"}'), {
      auth: 'basic',
      username: 'a',
      password: '',
    });
    expect(await bench.client.readStatus('device_info')).toEqual({ quoted: 'YTo= is short' });
  });

  test('RouterClient puts the words of the router into its error, bounded and without control characters', async () => {
    await using bench = await openRouter(
      refuse(404, { error: [{ 'log\u001b[31m_file': `no\r\nsuch ${'x'.repeat(9999)}` }] }),
    );
    const { message } = await thrownBy(bench.client.readProfiles(never));
    expect(message).toContain('GET /profiles was answered with 404 (log [31m_file: no such xxx');
    expect(message.length).toBeLessThan(300);
    expect(message).not.toMatch(/\p{Cc}/u);
  });

  test.each([
    [{ error: 'text' }],
    [{ error: [] }],
    [{ error: [{}] }],
    [{ error: [{ a: 1 }] }],
    [[1]],
    [null],
    ['text'],
  ])('RouterClient makes nothing of the error body %j', async (body) => {
    await using bench = await openRouter(refuse(404, body));
    expect((await thrownBy(bench.client.readProfiles(never))).message).toBe('GET /profiles was answered with 404');
  });

  test('RouterClient.listLogs() gives the names as they are, without what is no name', async () => {
    const names = ['network/current', 'network/log-2026-11-21-08:35:58.bz2', '../x', 7, null, 'x'.repeat(513), ''];
    await using bench = await openRouter((_request, response) => answerJson(response, { log_files: names }));
    expect(await bench.client.listLogs(never)).toEqual([names[0], names[1], '../x', '']);
    expect(bench.lines().at(-1)).toBe('GET /download/log?list_files=1');
  });

  test.each([
    ['no list', {}],
    ['another type', { log_files: 'network/current' }],
    ['a list at the top', ['network/current']],
    ['an absurd number of names', { log_files: Array.from({ length: 20_001 }, () => 'a/current') }],
  ])('RouterClient.listLogs() throws parse when it is answered with %s', async (_what, body) => {
    await using bench = await openRouter((_request, response) => answerJson(response, body));
    expect(await thrownBy(bench.client.listLogs(never))).toMatchObject({
      code: 'parse',
      disposition: 'skip',
      isAnswered: true,
    });
  });
});

describe('RouterClient.readPath()', () => {
  test.each([
    '/profiles',
    '/configuration/network/networks?return_size=1',
    '/status/lte%202/a..b?x=../y&z=%2e%2e',
    '/a/...//b;c=1/~%5c',
    `/${'x'.repeat(2047)}`,
  ])('asks for %s as it stands', async (path) => {
    await using bench = await openRouter(ok);
    expect(await bench.client.readPath(path, never)).toEqual({ profiles: [] });
    expect(bench.lines()).toEqual(['POST /auth/login', `GET ${path}`]);
  });

  test.each([
    ['no slash at its beginning', 'profiles'],
    ['nothing', ''],
    ['a way up', '/status/../auth/logout'],
    ['a way up at its end', '/status/..'],
    ['an encoded way up', '/status/%2E%2e/auth'],
    ['a half encoded way up', '/status/.%2e?x'],
    ['a way that leads nowhere', '/status/./a'],
    ['an encoded way that leads nowhere', '/%2e/a'],
    ['a way up with another slash', '/status\\..\\auth'],
    ['a fragment', '/status#a'],
    ['a space', '/status a'],
    ['a line end', '/status\r\nX: y'],
    ['a letter that is not ASCII', '/stätus'],
    ['too many characters', `/${'x'.repeat(2048)}`],
  ])('refuses a path with %s, and asks nothing', async (_what, path) => {
    await using bench = await openRouter(ok);
    const error = await thrownBy(bench.client.readPath(path, never));
    expect(error).toMatchObject({ code: 'http', disposition: 'skip', isUnsent: true, isAnswered: false });
    expect(error.message.length).toBeLessThan(300);
    expect(bench.lines()).toEqual([]);
  });

  test('throws parse when the answer is no JSON, and http when the status is not 200', async () => {
    await using html = await openRouter((_request, response) => response.end('<html>'));
    expect(await thrownBy(html.client.readPath('/profiles'))).toMatchObject({ code: 'parse', isAnswered: true });
    await using bench = await openRouter(refuse(404));
    expect(await thrownBy(bench.client.readPath('/profiles'))).toMatchObject({ code: 'http', status: 404 });
  });
});

describe('session', () => {
  test('RouterClient refreshes the session and repeats a call that was answered with 401', async () => {
    const fresh: Handler = (_request, response) => answerJson(response, { access: 'access-x', refresh: 'refresh-x' });
    await using bench = await openRouter(inSequence(ok, refuse(401), fresh, ok));
    await bench.client.readProfiles(never);
    expect(await bench.client.readProfiles(never)).toEqual({ profiles: [] });
    expect(bench.arrived.map(({ line, token }) => [line, token]).slice(2)).toEqual([
      ['GET /profiles', 'access-1'],
      ['POST /auth/refresh', 'refresh-1'],
      ['GET /profiles', 'access-x'],
    ]);
    expect(bench.events.map(({ type }) => type)).toEqual(['session-opened', 'session-refreshed']);
  });

  test('RouterClient logs in again when the refresh after a 401 is refused', async () => {
    await using bench = await openRouter(inSequence(ok, refuse(401), refuse(401), ok));
    await bench.client.readProfiles(never);
    expect(await bench.client.readProfiles(never)).toEqual({ profiles: [] });
    expect(bench.arrived.map(({ line, token }) => [line, token]).slice(3)).toEqual([
      ['POST /auth/refresh', 'refresh-1'],
      ['POST /auth/login', undefined],
      ['GET /profiles', 'access-2'],
    ]);
    expect(bench.events.map(({ type }) => type)).toEqual(['session-opened', 'session-lost', 'session-opened']);
  });

  test('RouterClient ends a call that is always answered with 401 after one refresh and one login', async () => {
    const fresh: Handler = (_request, response) => answerJson(response, { access: 'access-x', refresh: 'refresh-x' });
    await using bench = await openRouter((request, response, arrived) =>
      (arrived.line === 'POST /auth/refresh' ? fresh : refuse(401))(request, response, arrived),
    );
    const error = await thrownBy(bench.client.readProfiles(never));
    expect(error).toMatchObject({ code: 'auth', disposition: 'operator', status: 401, isAnswered: true });
    expect(error).toMatchObject({
      isForbidden: true,
      message: expect.stringMatching(/answered with 401 .*, even after a new login$/),
    });
    const calls = ['POST /auth/login', 'GET /profiles', 'POST /auth/refresh', 'GET /profiles'];
    expect(bench.lines()).toEqual([...calls, 'POST /auth/login', 'GET /profiles']);
  });

  test('RouterClient logs in for a call that is answered with 401 whatever the login once an hour', async () => {
    const fresh: Handler = (_request, response) => answerJson(response, { access: 'access-x', refresh: 'refresh-x' });
    const answers: Record<string, Handler> = { 'GET /status/a': ok, 'POST /auth/refresh': fresh };
    await using bench = await openRouter((request, response, arrived) =>
      (answers[arrived.line] ?? refuse(401))(request, response, arrived),
    );
    const ask = () => Promise.all([thrownBy(bench.client.readProfiles(never)), bench.client.readStatus('a', never)]);
    const countLogins = () => bench.lines().filter((line) => line === 'POST /auth/login').length;
    await ask();
    const atFirst = countLogins();
    for (let minute = 1; minute < 4; minute++) {
      await bench.clock.advance(55_000);
      expect((await ask())[0]).toMatchObject({ status: 401, isForbidden: true });
    }
    expect(countLogins()).toBe(atFirst);
    await bench.clock.advance(60 * 60_000);
    await ask();
    expect(countLogins()).toBe(atFirst + 1);
  });

  test('RouterClient does not log in for each call while a router answers all of them with 401', async () => {
    await using bench = await openRouter(refuse(401));
    for (const resource of ['a', 'b', 'c', 'a']) {
      expect(await thrownBy(bench.client.readStatus(resource, never))).toMatchObject({ status: 401 });
    }
    expect(bench.lines().filter((line) => line === 'POST /auth/login')).toHaveLength(2);
  });

  test('RouterClient.close() logs out, and no call works after it', async () => {
    await using bench = await openRouter(ok);
    await bench.client.readProfiles(never);
    await bench.client.close(never);
    expect(bench.arrived.at(-1)).toMatchObject({ line: 'POST /auth/logout', token: 'access-1' });
    expect(await thrownBy(bench.client.readProfiles(never))).toMatchObject({
      name: 'RouterError',
      disposition: 'skip',
    });
    expect(bench.arrived).toHaveLength(3);
  });

  test('RouterClient.close() waits for the call under way, and cuts it when its signal aborts', async () => {
    const began = Promise.withResolvers<void>();
    await using bench = await openRouter(() => began.resolve());
    const reading = thrownBy(bench.client.readProfiles(never));
    await began.promise;
    const abort = new AbortController();
    const closing = bench.client.close(abort.signal);
    const reason = new RangeError('time is over');
    abort.abort(reason);
    await expect(closing).rejects.toBe(reason);
    expect(await reading).toBeInstanceOf(RouterError);
  });
});

describe('transport failures', () => {
  test('RouterClient repeats a call once on a new connection when the router has closed the kept one', async () => {
    await using bench = await openRouter(inSequence(ok, cut, ok));
    await bench.client.readProfiles(never);
    expect(await bench.client.readProfiles(never)).toEqual({ profiles: [] });
    expect(bench.arrived.map(({ line, connection }) => `${line} ${connection}`)).toEqual([
      'POST /auth/login 1',
      'GET /profiles 1',
      'GET /profiles 1',
      'GET /profiles 2',
    ]);
  });

  test('RouterClient throws connect when the repeated call loses its connection too', async () => {
    await using bench = await openRouter(inSequence(ok, cut));
    await bench.client.readProfiles(never);
    const error = await thrownBy(bench.client.readProfiles(never));
    expect(error).toMatchObject({ code: 'connect', disposition: 'retry', isAnswered: false, isUnsent: false });
    expect(bench.lines().filter((line) => line === 'GET /profiles')).toHaveLength(3);
  });

  test('RouterClient throws connect, certain that nothing was sent, when the port is closed', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    await using bench = await openRouter(ok, { url: `http://127.0.0.1:${port}` });
    const error = await thrownBy(bench.client.readProfiles(never));
    expect(error).toMatchObject({ code: 'connect', isUnsent: true, isAnswered: false });
    expect(renderErrorChain(error)).toContain('ECONNREFUSED');
  });

  test('RouterClient throws http when the other side speaks no HTTP', async () => {
    const server = createServer((socket) =>
      socket
        .on('error', () => {})
        .resume()
        .end('SSH-2.0-dropbear\r\n'),
    );
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    await using bench = await openRouter(ok, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    expect(await thrownBy(bench.client.readProfiles(never))).toMatchObject({ code: 'http', isAnswered: false });
    await new Promise((resolve) => server.close(resolve));
  });

  test('RouterClient throws timeout when it gets no answer, and repeats nothing', async () => {
    await using bench = await openRouter(hang);
    const error = await advanceUntilSettled(bench, thrownBy(bench.client.readProfiles(never)));
    expect(error).toMatchObject({ code: 'timeout', disposition: 'retry', isUnsent: false, isAnswered: false });
    expect(error.message).toContain(`${REQUEST_TIMEOUT_MS / 1000} s`);
    expect(bench.lines()).toEqual(['POST /auth/login', 'GET /profiles']);
  });

  test('RouterClient throws timeout when an answer begins and never ends', async () => {
    await using bench = await openRouter((_request, response) => response.write('{"profiles":'));
    const error = await advanceUntilSettled(bench, thrownBy(bench.client.readProfiles(never)));
    expect(error).toMatchObject({ code: 'timeout' });
  });

  test('RouterClient is of use again after a timeout', async () => {
    await using bench = await openRouter(inSequence(hang, ok));
    await advanceUntilSettled(bench, thrownBy(bench.client.readProfiles(never)));
    expect(await bench.client.readProfiles(never)).toEqual({ profiles: [] });
  });

  test('RouterClient passes on the reason of an abort, while a call waits, runs or has not begun', async () => {
    const began = Promise.withResolvers<void>();
    await using bench = await openRouter(() => began.resolve());
    const reason = new RangeError('stop');
    const abort = new AbortController();
    const running = bench.client.readProfiles(abort.signal);
    const waiting = bench.client.readProfiles(abort.signal);
    await began.promise;
    abort.abort(reason);
    await expect(running).rejects.toBe(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(bench.client.readProfiles(abort.signal)).rejects.toBe(reason);
    expect(bench.lines()).toEqual(['POST /auth/login', 'GET /profiles']);
  });
});

describe('TLS', async () => {
  const authority = await createCertificateAuthority('test authority', createSeededRandom(7));
  const certificate = authority.issue(['127.0.0.1']);

  test('RouterClient trusts a router whose authority it was given', async () => {
    await using bench = await openRouter(ok, { certificate, tls: { caPem: authority.caPem } });
    expect(await bench.client.readProfiles(never)).toEqual({ profiles: [] });
  });

  test('RouterClient throws tls for a certificate of an unknown authority, and sends nothing', async () => {
    await using bench = await openRouter(ok, { certificate });
    const error = await thrownBy(bench.client.readProfiles(never));
    expect(error).toMatchObject({ code: 'tls', disposition: 'operator', isUnsent: true, isAnswered: false });
    expect(bench.arrived).toEqual([]);
  });

  test('RouterClient throws tls for a certificate of another host, unless that name is configured', async () => {
    const other = authority.issue(['plant-7.example']);
    const { caPem } = authority;
    await using bench = await openRouter(ok, { certificate: other, tls: { caPem } });
    expect(await thrownBy(bench.client.readProfiles(never))).toMatchObject({ code: 'tls' });
    await using named = await openRouter(ok, { certificate: other, tls: { caPem, serverName: 'plant-7.example' } });
    expect(await named.client.readProfiles(never)).toEqual({ profiles: [] });
  });

  test('RouterClient trusts any certificate with insecureSkipVerify', async () => {
    await using bench = await openRouter(ok, { certificate, tls: { insecureSkipVerify: true } });
    expect(await bench.client.readProfiles(never)).toEqual({ profiles: [] });
  });
});
