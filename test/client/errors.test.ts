import { expect, test } from 'vitest';
import { DeadlineExceeded, renderErrorChain } from '../../src/base/index.ts';
import { RouterError, toRouterError } from '../../src/client/errors.ts';
import { ROUTER_FAILURES } from '../../src/model/index.ts';

function coded(code: string, syscall?: string): Error {
  return Object.assign(new Error(`It was ${code}`), { code, ...(syscall !== undefined && { syscall }) });
}

test.each<[string, unknown, Partial<RouterError>]>([
  ['an unknown name', coded('ENOTFOUND', 'getaddrinfo'), { code: 'dns', isUnsent: true }],
  ['a name server that is away', coded('EAI_AGAIN', 'getaddrinfo'), { code: 'dns', isUnsent: true }],
  ['a refused connection', coded('ECONNREFUSED', 'connect'), { code: 'connect', isUnsent: true }],
  ['no route', coded('EHOSTUNREACH', 'connect'), { code: 'connect', isUnsent: true }],
  ['a connection that takes too long', coded('UND_ERR_CONNECT_TIMEOUT'), { code: 'connect', isUnsent: true }],
  ['a route that broke under way', coded('EHOSTUNREACH', 'read'), { code: 'connect', isUnsent: false }],
  ['a network that broke under way', coded('ENETUNREACH', 'write'), { code: 'connect', isUnsent: false }],
  ['a reset', coded('ECONNRESET', 'read'), { code: 'connect', isUnsent: false }],
  ['a socket that the other side closed', coded('UND_ERR_SOCKET'), { code: 'connect', isUnsent: false }],
  ['a self-signed certificate', coded('DEPTH_ZERO_SELF_SIGNED_CERT'), { code: 'tls', disposition: 'operator' }],
  ['a certificate of another host', coded('ERR_TLS_CERT_ALTNAME_INVALID'), { code: 'tls', isUnsent: true }],
  ['an expired certificate', coded('CERT_HAS_EXPIRED'), { code: 'tls', isUnsent: true }],
  [
    'an alert about our certificate',
    coded('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'),
    { code: 'tls', hint: expect.stringContaining('tls.cert_file') as string },
  ],
  [
    'an authority that it does not know',
    coded('ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'),
    { code: 'tls', hint: expect.stringContaining('tls.cert_file') as string },
  ],
  [
    'a certificate that we do not trust',
    coded('SELF_SIGNED_CERT_IN_CHAIN'),
    { code: 'tls', hint: expect.stringContaining('tls.ca_file') as string },
  ],
  ['our deadline', new DeadlineExceeded(10_000), { code: 'timeout', isUnsent: false }],
  ['a parser', coded('HPE_INVALID_CONSTANT'), { code: 'http', isUnsent: false }],
  ['no error at all', 'text', { code: 'http', isUnsent: false }],
])('toRouterError() tells what stood in the way: %s', (_what, cause, expected) => {
  const error = toRouterError(cause, 'GET /profiles');
  expect(error).toMatchObject({ name: 'RouterError', isAnswered: false, ...expected });
  expect(error.message).toMatch(/^(GET \/profiles |The router's certificate is not trusted: )/);
  expect(ROUTER_FAILURES).toContain(error.code);
});

test('toRouterError() looks into causes and into the attempts on several addresses', () => {
  const attempts = new AggregateError([coded('ECONNREFUSED', 'connect'), coded('ENETUNREACH', 'connect')], '');
  expect(toRouterError(attempts, 'X')).toMatchObject({ code: 'connect', isUnsent: true });
  const wrapped = new TypeError('fetch failed', { cause: coded('ENOTFOUND', 'getaddrinfo') });
  expect(toRouterError(wrapped, 'X')).toMatchObject({ code: 'dns' });
});

test('toRouterError() leaves a RouterError as it is', () => {
  const error = new RouterError('auth', 'No', { disposition: 'operator' });
  expect(toRouterError(error, 'X')).toBe(error);
});

test('toRouterError() keeps the cause, which the message does not repeat', () => {
  const error = toRouterError(coded('ECONNRESET', 'read'), 'GET /profiles');
  expect(renderErrorChain(error)).toBe('GET /profiles lost its connection: It was ECONNRESET');
});

test('ROUTER_FAILURES are the reasons that dashboards and rules know', () => {
  expect(ROUTER_FAILURES).toEqual(['dns', 'connect', 'tls', 'auth', 'http', 'timeout', 'parse', 'budget']);
});
