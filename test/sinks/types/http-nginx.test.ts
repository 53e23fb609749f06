import { describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../../src/base/index.ts';
import { createTestSink, type SinkChange } from '../../support/sinks/create-sink.ts';
import { openHttpServer } from '../../support/sinks/http-server.ts';
import { startNginx } from '../../support/sinks/nginx.ts';
import { sampleRecords } from '../../support/sinks/sample-records.ts';
import { withPrograms } from '../../support/tools.ts';
import { createTestAuthority } from '../../web/certificates.ts';

const { signal } = new AbortController();

/** A strict receiver behind nginx, whose block `server` is `config` and a location that passes everything on. */
async function openBench(config: string, files: Readonly<Record<string, string>> = {}) {
  const server = await openHttpServer();
  const nginx = await startNginx(`${config}\nlocation / { proxy_pass http://127.0.0.1:${server.port}; }`, files);
  onTestFinished(async () => {
    await nginx[Symbol.asyncDispose]();
    await server.close();
  });
  const open = (scheme: 'http' | 'https', options: SinkChange<'http'> = {}) => {
    const url = `${scheme}://127.0.0.1:${nginx.port}/ingest`;
    const sink = createTestSink('http', { url, name: 'web' }, options);
    onTestFinished(() => sink.close());
    return sink;
  };
  return { server, open };
}

const PLAIN = 'listen 127.0.0.1:$PORT;';

withPrograms(['nginx'], describe)('a sink of type http with nginx before the receiver', () => {
  test('delivers through it, as it is and compressed', async () => {
    const { server, open } = await openBench(PLAIN);
    await open('http').deliver(sampleRecords('a', 100), signal);
    await open('http', { compress: 'gzip' }).deliver(sampleRecords('b', 100), signal);
    expect(server.records()).toHaveLength(200);
    expect(server.violations).toEqual([]);
    expect(server.requests.map(({ headers }) => headers['content-encoding'])).toEqual([undefined, 'gzip']);
  });

  test.for([100, 40_000])('delivers the halves of a batch that is refused as too large: %s records', async (count) => {
    const { server, open } = await openBench(`${PLAIN} client_max_body_size ${count * 200};`);
    const sink = open('http');
    const records = sampleRecords('a', count);
    await expect(sink.deliver(records, signal)).rejects.toMatchObject({
      code: 'too_large',
      disposition: 'dead-letter',
      answer: '413',
      message: expect.stringContaining('413 Request Entity Too Large'),
    });
    expect(server.requests).toEqual([]);
    await sink.deliver(records.slice(0, count / 2), signal);
    expect(server.records()).toHaveLength(count / 2);
  });

  test('knows wrong credentials from right ones', async () => {
    const { server, open } = await openBench(`${PLAIN} auth_basic "logs"; auth_basic_user_file $FOLDER/users;`, {
      users: 'me:{PLAIN}right one\n',
    });
    const accountOf = (password: string) => ({ username: 'me', password: new Secret(password) });
    for (const options of [{}, accountOf('wrong one')]) {
      await expect(open('http', options).deliver(sampleRecords('a', 1), signal)).rejects.toMatchObject({
        code: 'unauthorized',
        disposition: 'operator',
        message: expect.not.stringContaining('wrong one'),
      });
    }
    await open('http', accountOf('right one')).deliver(sampleRecords('a', 1), signal);
    expect(server.records()).toHaveLength(1);
  });

  test('comes again when the receiver behind it is gone, or nginx allows no more', async () => {
    const gone = await openBench(PLAIN);
    await gone.server.close();
    await expect(gone.open('http').deliver(sampleRecords('a', 1), signal)).rejects.toMatchObject({
      code: 'failed',
      disposition: 'retry',
      answer: '502',
    });
    const limited = await openBench(`${PLAIN} location /ingest { limit_except GET { deny all; } }`);
    await expect(limited.open('http').deliver(sampleRecords('a', 1), signal)).rejects.toMatchObject({
      code: 'unauthorized',
    });
  });

  test('delivers over TLS, with a certificate of its own where nginx asks for one', async () => {
    const authority = createTestAuthority('test');
    const own = authority.issue('server', '127.0.0.1');
    const { cert, key } = authority.issue('client', 'agent');
    const { server, open } = await openBench(
      `listen 127.0.0.1:$PORT ssl; ssl_certificate $FOLDER/cert; ssl_certificate_key $FOLDER/key;
      ssl_client_certificate $FOLDER/ca; ssl_verify_client on;`,
      { cert: own.cert, key: own.key, ca: authority.caPem },
    );
    const tls = { ca_file: authority.caPem };
    await open('https', { tls: { ...tls, cert_file: cert, key_file: new Secret(key) } }).deliver(
      sampleRecords('a', 1),
      signal,
    );
    expect(server.records()).toHaveLength(1);
    // What nginx answers with status 400 says nothing about the records.
    for (const sink of [open('https', { tls }), open('http')]) {
      await expect(sink.deliver(sampleRecords('a', 1), signal)).rejects.toMatchObject({
        code: 'misconfigured',
        disposition: 'operator',
        answer: '400',
      });
    }
    await expect(open('https').deliver(sampleRecords('a', 1), signal)).rejects.toMatchObject({
      code: 'misconfigured',
      disposition: 'operator',
      hint: expect.stringContaining('tls.ca_file'),
    });
  });

  test('does not follow it elsewhere', async () => {
    const { server, open } = await openBench(`${PLAIN} location /ingest { return 307 http://127.0.0.1:$PORT/other; }`);
    await expect(open('http').deliver(sampleRecords('a', 1), signal)).rejects.toMatchObject({
      code: 'misconfigured',
      hint: expect.stringMatching(/redirects to http:\/\/127\.0\.0\.1:\d+\/other,/),
    });
    expect(server.requests).toEqual([]);
  });
});
