import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import forge from 'node-forge';

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface TestAuthority {
  readonly caPem: string;
  /** Issues a certificate for these alternative names: addresses, URIs with `://`, mail addresses with `@`, DNS names. */
  issue(usage: 'server' | 'client', ...names: string[]): Certificate;
}

// One pair for all certificates: making keys takes most of the time, and nothing here guards a secret.
const KEYS = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const publicKey = forge.pki.publicKeyFromPem(KEYS.publicKey);
const privateKey = forge.pki.privateKeyFromPem(KEYS.privateKey);

export function createTestAuthority(name: string): TestAuthority {
  return {
    caPem: issue(name, name, [{ name: 'basicConstraints', critical: true, cA: true }]).cert,
    issue: (usage, ...names) =>
      issue(name, names[0] ?? usage, [
        { name: 'basicConstraints', critical: true, cA: false },
        { name: 'extKeyUsage', serverAuth: usage === 'server', clientAuth: usage === 'client' },
        { name: 'subjectAltName', altNames: names.map(toAltName) },
      ]),
  };
}

function issue(issuer: string, subject: string, extensions: object[]): Certificate {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = publicKey;
  certificate.serialNumber = `4${randomBytes(15).toString('hex').slice(1)}`;
  certificate.validity.notBefore = new Date('2020-01-01T00:00:00Z');
  certificate.validity.notAfter = new Date('2049-12-31T23:59:59Z');
  certificate.setSubject([{ name: 'commonName', value: subject }]);
  certificate.setIssuer([{ name: 'commonName', value: issuer }]);
  certificate.setExtensions(extensions);
  certificate.sign(privateKey, forge.md.sha256.create());
  return { cert: forge.pki.certificateToPem(certificate), key: KEYS.privateKey };
}

function toAltName(name: string): object {
  if (isIP(name)) return { type: 7, ip: name };
  return { type: name.includes('://') ? 6 : name.includes('@') ? 1 : 2, value: name };
}
