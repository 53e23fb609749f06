import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { decodeCertificate } from '../../src/client/connection/tls.ts';
import { certificate } from './wire-bench.ts';

/** A certificate whose end the TLS library reports as `text`. */
function createCertificate(text: string): X509Certificate {
  return Object.defineProperty(new X509Certificate(certificate.cert), 'validTo', { value: text });
}

describe('decodeCertificate()', () => {
  test.each([
    ['Dec 31 23:59:59 2049 GMT', '2049-12-31T23:59:59Z'],
    ['Jan  1 00:00:00 2020 GMT', '2020-01-01T00:00:00Z'],
    ['Feb 29 12:00:00 2028 GMT', '2028-02-29T12:00:00Z'],
    ['Mar  5 06:07:08.25 2051 GMT', '2051-03-05T06:07:08Z'],
    ['Nov 30 01:02:03 2026', '2026-11-30T01:02:03Z'],
    ['Dec 31 23:59:59 9999 GMT', '9999-12-31T23:59:59Z'],
  ])('takes the time %s', (text, expected) => {
    expect(decodeCertificate(createCertificate(text))?.notAfterMs).toBe(Date.parse(expected));
  });

  test.each([
    '',
    'Bad time value',
    'Dez 31 23:59:59 2049 GMT',
    'Dec 31 23:59:59 2049 CET',
    'Dec 31 23:59:59 0049 GMT',
    'Dec 31 23:59:59 49 GMT',
    '2049-12-31T23:59:59Z',
    'toString 1 00:00:00 2020 GMT',
    ' Dec 31 23:59:59 2049 GMT',
    `Dec 31 23:59:59.${'0'.repeat(99)} 2049 GMT`,
  ])('makes nothing of the time %j', (text) => {
    expect(decodeCertificate(createCertificate(text))).toBeUndefined();
  });

  test('reports validity and fingerprint', () => {
    const x509 = new X509Certificate(certificate.cert);
    expect(decodeCertificate(x509)).toEqual({
      notBeforeMs: Date.UTC(2020, 0, 1),
      notAfterMs: Date.UTC(2049, 11, 31, 23, 59, 59),
      fingerprintSha256: x509.fingerprint256,
    });
  });

  test.each(['validFrom', 'validTo'])('makes nothing of a certificate whose %s cannot be read', (name) => {
    const x509 = new X509Certificate(certificate.cert);
    Object.defineProperty(x509, name, { value: 'Bad time value' });
    expect(decodeCertificate(x509)).toBeUndefined();
    expect(decodeCertificate(undefined)).toBeUndefined();
  });
});
