import { describe, expect, test } from 'vitest';
import { explainError } from '../../src/base/index.ts';
import { toTransportError } from '../../src/sinks/connections.ts';

const failWith = (code: string | undefined, cause?: unknown, message = 'x') =>
  Object.assign(new Error(message, { cause }), code === undefined ? {} : { code });

describe('toTransportError()', () => {
  test.for([
    ['ECONNREFUSED', 'unreachable', 'could not connect to', 'Check host and port'],
    ['EHOSTUNREACH', 'unreachable', 'could not connect to', 'Check host and port'],
    ['EAI_AGAIN', 'unreachable', 'could not resolve the host name of', 'Check the host name'],
    ['ECONNRESET', 'unreachable', 'lost its connection to', undefined],
    ['EPIPE', 'unreachable', 'lost its connection to', undefined],
    ['UND_ERR_SOCKET', 'unreachable', 'lost its connection to', undefined],
    [undefined, 'unreachable', 'lost its connection to', undefined],
    ['UND_ERR_HEADERS_OVERFLOW', 'protocol_error', 'cannot read the answer of', 'Check host, port and scheme'],
    ['HPE_INVALID_CONSTANT', 'protocol_error', 'cannot read the answer of', 'Check host.*breaks the rules of HTTP'],
    ['CERT_HAS_EXPIRED', 'misconfigured', 'does not trust the certificate of', 'Renew'],
    ['CERT_NOT_YET_VALID', 'misconfigured', 'does not trust the certificate of', 'Check the clock'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'misconfigured', 'does not trust the certificate of', 'Set tls.ca_file'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'misconfigured', 'could not establish TLS', 'Check tls.cert_file'],
    ['ERR_OSSL_PEM_NO_START_LINE', 'misconfigured', 'could not establish TLS with', 'Check tls.ca_file'],
  ] as const)('calls %s %s', ([code, expected, words, hint]) => {
    const error = toTransportError(failWith(code), 'web', 'http://sink/');
    expect([error.code, error.disposition]).toEqual([expected, expected === 'misconfigured' ? 'operator' : 'retry']);
    expect(error.message).toContain(words);
    expect(error.message).toContain('http://sink/');
    expect(error.hint ?? '').toMatch(hint === undefined ? /^$/ : new RegExp(`^${hint}`));
  });

  test('looks behind an error that only says that something went wrong', () => {
    const inner = failWith('ENOTFOUND');
    expect(toTransportError(failWith('UND_ERR_SOCKET', inner), 'web', 'x').message).toContain(
      'could not resolve the host name',
    );
    expect(toTransportError(failWith(undefined, inner), 'web', 'x').message).toContain(
      'could not resolve the host name',
    );
    expect(toTransportError(failWith('ECONNREFUSED', failWith(undefined)), 'web', 'x').message).toContain(
      'could not connect',
    );
  });

  test('knows a port without TLS by what OpenSSL says', () => {
    const error = failWith('EPROTO', undefined, 'write EPROTO 80:error:0A00010B:SSL routines::wrong version number');
    expect(toTransportError(error, 'web', 'x').hint).toBe('Check scheme and port of this sink');
  });

  test.for([
    [
      'EPROTO',
      '405D27D4D27F0000:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../deps/openssl/openssl/ssl/record/methods/tlsany_meth.c:77:\n',
      'could not establish TLS with x: this port does not speak TLS',
      'Check scheme and port of this sink',
    ],
    [
      'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
      '408DE281D57F0000:error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:../deps/openssl/openssl/ssl/record/rec_layer_s3.c:918:SSL alert number 116\n',
      'could not establish TLS with x: a certificate of the agent is required',
      'Check tls.cert_file and tls.key_file of this sink: it requires a client certificate',
    ],
    [
      'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED',
      '80:error:0A000415:SSL routines:ssl3_read_bytes:ssl/tls alert certificate expired:../deps/x.c:918:SSL alert number 45\n',
      'could not establish TLS with x: the certificate of the agent has expired, the other side says',
      'Renew the client certificate in tls.cert_file of this sink',
    ],
    [
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'unable to verify the first certificate; if the root CA is installed locally, try running Node.js with --use-system-ca',
      'does not trust the certificate of x: its authority is not a trusted one',
      'Set tls.ca_file of this sink to a file with the certificate of the authority, or tls.fingerprint_sha256 to the fingerprint of this certificate',
    ],
  ] as const)('says %s of the TLS library in plain words', ([code, message, reason, hint]) => {
    const error = toTransportError(failWith(code, undefined, message), 'web', 'x');
    expect(explainError(error)).toEqual({ reason: `Sink web ${reason}`, hint });
  });
});
