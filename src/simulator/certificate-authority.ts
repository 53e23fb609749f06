import { generateKeyPair, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import forge from 'node-forge';
import type { Random } from '../base/index.ts';
import { randomHex } from './seeded.ts';

/** What a TLS server needs. */
export interface ServerCertificate {
  readonly key: string;
  readonly cert: string;
}

/** The simulator's own certificate authority. */
export interface CertificateAuthority {
  /** The certificate that a client has to trust. */
  readonly caPem: string;
  /** Issues a certificate for a server that is reached under any of these names and addresses. */
  issue(hosts: readonly string[]): ServerCertificate;
}

/**
 * Fixed, so that metrics of the end of validity can be compared in tests, and wide, because a simulated clock and the
 * clock of the verifying TLS library are two things.
 */
const NOT_BEFORE = new Date('2020-01-01T00:00:00Z');
const NOT_AFTER = new Date('2049-12-31T23:59:59Z');
const DNS_NAME_TYPE = 2;
const IP_ADDRESS_TYPE = 7;

interface KeyPair {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** Creates an authority of that name with fresh keys: one for itself and one that all servers share. Nothing here guards a secret. */
export async function createCertificateAuthority(name: string, random: Random): Promise<CertificateAuthority> {
  const [caKeys, serverKeys] = await Promise.all([createKeyPair(), createKeyPair()]);
  const caPem = issueCertificate(caKeys, { ...caKeys, name }, name, randomHex(random, 16), [
    { name: 'basicConstraints', critical: true, cA: true },
    { name: 'keyUsage', critical: true, keyCertSign: true, cRLSign: true },
    { name: 'subjectKeyIdentifier' },
  ]);
  return {
    caPem,
    issue: (hosts) => ({
      key: serverKeys.privateKey,
      cert: issueCertificate(serverKeys, { ...caKeys, name }, hosts[0] ?? name, randomHex(random, 16), [
        { name: 'basicConstraints', critical: true, cA: false },
        { name: 'keyUsage', critical: true, digitalSignature: true, keyEncipherment: true },
        { name: 'extKeyUsage', serverAuth: true },
        { name: 'subjectAltName', altNames: hosts.map(toAltName) },
      ]),
    }),
  };
}

function issueCertificate(
  subject: KeyPair,
  issuer: KeyPair & { readonly name: string },
  commonName: string,
  serialHex: string,
  extensions: readonly object[],
): string {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(subject.publicKey);
  // Certificates demand a positive number in its shortest form: the first byte is neither 0 nor above 0x7f.
  certificate.serialNumber = `4${serialHex.slice(1)}`;
  certificate.validity.notBefore = NOT_BEFORE;
  certificate.validity.notAfter = NOT_AFTER;
  certificate.setSubject([{ name: 'commonName', value: commonName }]);
  certificate.setIssuer([{ name: 'commonName', value: issuer.name }]);
  certificate.setExtensions([...extensions]);
  certificate.sign(createNativeSigner(certificate, issuer.privateKey), forge.md.sha256.create());
  return forge.pki.certificateToPem(certificate);
}

/**
 * Forge encodes the certificate and then asks the key to sign it. Its own arithmetic takes 30 ms for that, which makes a
 * fleet of a thousand start half a minute later; the native signature takes one.
 */
function createNativeSigner(certificate: forge.pki.Certificate, privateKey: string): forge.pki.rsa.PrivateKey {
  const signer = {
    sign: () => {
      const encoded = forge.asn1.toDer(certificate.tbsCertificate).getBytes();
      return sign('sha256', Buffer.from(encoded, 'binary'), privateKey).toString('binary');
    },
  };
  return signer as unknown as forge.pki.rsa.PrivateKey;
}

function toAltName(host: string): object {
  return isIP(host) ? { type: IP_ADDRESS_TYPE, ip: host } : { type: DNS_NAME_TYPE, value: host };
}

function createKeyPair(): Promise<KeyPair> {
  return promisify(generateKeyPair)('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}
