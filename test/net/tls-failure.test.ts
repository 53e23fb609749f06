import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { adviseUnreached, explainTls, TLS_KINDS } from '../../src/net/index.ts';

const fail = (code: string, message = 'x') => Object.assign(new Error(message), { code });

test.each([
  ['CERT_HAS_EXPIRED', 'it has expired', 'Renew the certificate of this router'],
  ['CERT_NOT_YET_VALID', 'it is not valid yet; perhaps a clock is wrong', 'Check the clock'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'it is for another name', 'Set tls.server_name of this router'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'it is signed by itself, not by an authority', 'Put this certificate into'],
  [
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'its authority is not a trusted one',
    'Set tls.ca_file of this router to a file with the certificate of the authority, or tls.fingerprint_sha256',
  ],
  [
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'its authority is not a trusted one',
    'Set tls.ca_file of this router to a file with the certificate of the authority, or tls.fingerprint_sha256',
  ],
  ['INVALID_PURPOSE', 'it, or its authority, is not made for this use', 'Let the authority issue'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'this port does not speak TLS', 'Check scheme and port of this router'],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'a certificate of the agent is required', 'Check tls.cert_file'],
  [
    'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
    'the other side does not accept the certificate of the agent, or wants one',
    'Check tls.cert_file',
  ],
  ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'both sides have no TLS version in common', 'Enable TLS 1.2 or 1.3'],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'both sides have no TLS version in common', 'Enable TLS 1.2 or 1.3'],
  [
    'ERR_OSSL_X509_KEY_VALUES_MISMATCH',
    'the certificates or the key in the settings cannot be used',
    'Check tls.ca_file',
  ],
  ['ERR_SSL_EE_KEY_TOO_SMALL', 'the key or signature of the certificate of the agent is too weak', 'Renew the client'],
  ['ERR_SSL_SOMETHING_NEW', 'the TLS library reports: x', 'Check tls.ca_file, tls.server_name'],
])('explainTls() says %s in words', (code, reason, hint) => {
  const failure = explainTls(fail(code), 'router');
  expect(failure).toMatchObject({ reason, hint: expect.stringMatching(`^${hint}`) as string });
  expect(explainTls(fail(code), 'sink')?.hint).not.toContain('router');
});

test('explainTls() advises no other authority for what another authority does not help', () => {
  for (const code of ['CERT_NOT_YET_VALID', 'ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_SSL_WRONG_VERSION_NUMBER']) {
    expect(explainTls(fail(code), 'router')?.hint).not.toContain('tls.ca_file of');
  }
  // That of the file may be the one that has expired.
  expect(explainTls(fail('CERT_HAS_EXPIRED'), 'router')?.hint).toMatch(/^Renew /);
});

test('explainTls() quotes no line of OpenSSL and no advice about Node.js', () => {
  const line = '80:error:0A000102:SSL routines:tls_early:something new:../deps/x.c:77:\n';
  expect(explainTls(fail('EPROTO', line), 'sink')?.reason).toBe('the TLS library reports: something new');
  const advice = 'new trouble; if the root CA is installed locally, try running Node.js with --use-system-ca';
  expect(explainTls(fail('CERT_NEW', advice), 'sink')?.reason).toBe('the TLS library reports: new trouble');
});

test('explainTls() knows nothing of other errors', () => {
  expect([fail('ECONNRESET'), fail(''), new Error('x'), undefined].map((one) => explainTls(one, 'router'))).toEqual(
    Array.from({ length: 4 }),
  );
});

test('the troubleshooting page quotes every failure of TLS', async () => {
  const page = await readFile(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8');
  expect(TLS_KINDS.map(({ reason }) => reason).filter((reason) => !page.includes(`\`${reason}\``))).toEqual([]);
});

test('adviseUnreached() gives the same advice for routers and sinks, and none for what ended under way', () => {
  const advise = (code: string) => (['router', 'sink'] as const).map((peer) => adviseUnreached(code, peer));
  expect(advise('ENOTFOUND')).toEqual([
    'Check the host name in the address of this router, and the name server of this machine',
    'Check the host name in the address of this sink, and the name server of this machine',
  ]);
  expect(advise('ECONNREFUSED')).toEqual([
    'Check host and port in the address of this router, and that its HTTPS or HTTP access is active',
    'Check host and port in the address of this sink, and that it is running',
  ]);
  expect(advise('ECONNRESET')).toEqual([undefined, undefined]);
});
