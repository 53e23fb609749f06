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

interface Keys {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** Makes a pair of keys, which takes a while. */
export function createKeys(): Keys {
  return generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}

// One pair for all certificates: making keys takes most of the time, and nothing here guards a secret.
const KEYS = createKeys();

/** `keys` are those of the authority and of all that it issues; by default the same for all authorities. */
export function createTestAuthority(name: string, keys: Keys = KEYS): TestAuthority {
  return {
    caPem: issue(keys, name, name, [{ name: 'basicConstraints', critical: true, cA: true }]).cert,
    issue: (usage, ...names) =>
      issue(keys, name, names[0] ?? usage, [
        { name: 'basicConstraints', critical: true, cA: false },
        { name: 'extKeyUsage', serverAuth: usage === 'server', clientAuth: usage === 'client' },
        { name: 'subjectAltName', altNames: names.map(toAltName) },
      ]),
  };
}

function issue(keys: Keys, issuer: string, subject: string, extensions: object[]): Certificate {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(keys.publicKey);
  certificate.serialNumber = `4${randomBytes(15).toString('hex').slice(1)}`;
  certificate.validity.notBefore = new Date('2020-01-01T00:00:00Z');
  certificate.validity.notAfter = new Date('2049-12-31T23:59:59Z');
  certificate.setSubject([{ name: 'commonName', value: subject }]);
  certificate.setIssuer([{ name: 'commonName', value: issuer }]);
  certificate.setExtensions(extensions);
  certificate.sign(forge.pki.privateKeyFromPem(keys.privateKey), forge.md.sha256.create());
  return { cert: forge.pki.certificateToPem(certificate), key: keys.privateKey };
}

function toAltName(name: string): object {
  if (isIP(name)) return { type: 7, ip: name };
  return { type: name.includes('://') ? 6 : name.includes('@') ? 1 : 2, value: name };
}
