import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { deriveRandom } from '../../src/simulator/seeded.ts';
import { createCertificateAuthority } from '../../src/simulator/tls.ts';

const openAuthority = (name: string) => createCertificateAuthority(name, deriveRandom(1, name));

test('issue() writes a certificate of the authority for every name and address', async () => {
  const authority = await openAuthority('simulator');
  const ca = new X509Certificate(authority.caPem);
  const { cert } = authority.issue(['sim-1', 'localhost', '127.0.0.1', '::1', '2001:db8::a:0:1', '::ffff:192.0.2.1']);
  const certificate = new X509Certificate(cert);
  expect(ca.ca).toBe(true);
  expect(certificate.ca).toBe(false);
  expect(certificate.checkIssued(ca)).toBe(true);
  expect(certificate.verify(ca.publicKey)).toBe(true);
  expect(certificate.subject).toBe('CN=sim-1');
  expect(certificate.subjectAltName).toBe(
    'DNS:sim-1, DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, ' +
      'IP Address:2001:DB8:0:0:0:A:0:1, IP Address:0:0:0:0:0:FFFF:C000:201',
  );
  expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  expect([certificate.validFrom, certificate.validTo]).toEqual([
    'Jan  1 00:00:00 2020 GMT',
    'Dec 31 23:59:59 2049 GMT',
  ]);
});

test('a certificate of another authority does not verify', async () => {
  const [ours, other] = [await openAuthority('simulator'), await openAuthority('stranger')];
  const certificate = new X509Certificate(other.issue(['sim-1']).cert);
  expect(certificate.verify(new X509Certificate(ours.caPem).publicKey)).toBe(false);
});

test('issue() numbers certificates with serials of their own', async () => {
  const authority = await openAuthority('simulator');
  const serials = Array.from({ length: 20 }, () => new X509Certificate(authority.issue(['a']).cert).serialNumber);
  expect(new Set(serials).size).toBe(20);
});
