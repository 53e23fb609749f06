import { createHash, generateKeyPair, type KeyObject, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import type { Random } from '../../base/index.ts';
import { randomHex } from '../seeded.ts';
import {
  derBitString,
  derBoolean,
  derContext,
  derInteger,
  derObjectIdentifier,
  derOctetString,
  derSequence,
  derSet,
  derTime,
  derUtf8String,
} from './der.ts';

/** Certificate and key of a TLS server. */
export interface ServerCertificate {
  readonly key: string;
  readonly cert: string;
}

/** The simulator's own certificate authority. */
export interface CertificateAuthority {
  /** The certificate that clients must trust. */
  readonly caPem: string;
  /** Issues a certificate for a server with these names and addresses. */
  issue(hosts: readonly string[]): ServerCertificate;
}

/**
 * Fixed, so that tests can compare metrics of the expiry, and wide, because the simulated clock and the TLS library's
 * clock differ.
 */
const NOT_BEFORE = new Date('2020-01-01T00:00:00Z');
const NOT_AFTER = new Date('2049-12-31T23:59:59Z');
const OID = {
  sha256WithRsaEncryption: '1.2.840.113549.1.1.11',
  commonName: '2.5.4.3',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  extKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const;
const CERTIFICATE_VERSION_3 = Buffer.of(2);
const DER_NULL = Buffer.of(5, 0);
const SIGNATURE_ALGORITHM = derSequence(derObjectIdentifier(OID.sha256WithRsaEncryption), DER_NULL);
/** Bits of the key usage, the first one highest. */
const SIGNS_CERTIFICATES_AND_LISTS = derBitString(Buffer.of(0b0000_0110), 1);
const SIGNS_AND_ENCIPHERS_KEYS = derBitString(Buffer.of(0b1010_0000), 5);
/** Tags of alternative names. */
const DNS_NAME = 2;
const IP_ADDRESS = 7;
const PEM_COLUMNS = 64;

interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** Signing key of an authority, and the key that all its servers share. */
export interface AuthorityKeys {
  readonly caKeys: KeyPair;
  readonly serverKeys: KeyPair;
}

/** Makes fresh keys, which takes a tenth of a second. Nothing here guards a secret. */
export async function createAuthorityKeys(): Promise<AuthorityKeys> {
  const [caKeys, serverKeys] = await Promise.all([createKeyPair(), createKeyPair()]);
  return { caKeys, serverKeys };
}

/** Creates an authority of that name. `keys`: fresh ones by default. */
export async function createCertificateAuthority(
  name: string,
  random: Random,
  keys: Promise<AuthorityKeys> = createAuthorityKeys(),
): Promise<CertificateAuthority> {
  const { caKeys, serverKeys } = await keys;
  const issuer = { ...caKeys, name };
  const key = serverKeys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return {
    caPem: issueCertificate(caKeys.publicKey, issuer, name, randomHex(random, 16), [
      extension(OID.basicConstraints, 'critical', derSequence(derBoolean(true))),
      extension(OID.keyUsage, 'critical', SIGNS_CERTIFICATES_AND_LISTS),
      extension(OID.subjectKeyIdentifier, 'optional', derOctetString(computeKeyIdentifier(caKeys.publicKey))),
    ]),
    issue: (hosts) => ({
      key,
      cert: issueCertificate(serverKeys.publicKey, issuer, hosts[0] ?? name, randomHex(random, 16), [
        extension(OID.basicConstraints, 'critical', derSequence()),
        extension(OID.keyUsage, 'critical', SIGNS_AND_ENCIPHERS_KEYS),
        extension(OID.extKeyUsage, 'optional', derSequence(derObjectIdentifier(OID.serverAuth))),
        extension(OID.subjectAltName, 'optional', derSequence(...hosts.map(toAltName))),
      ]),
    }),
  };
}

/**
 * Creates a certificate by RFC 5280 section 4.1, as PEM. Node.js reads and verifies certificates but cannot create
 * them.
 */
function issueCertificate(
  subjectKey: KeyObject,
  issuer: KeyPair & { readonly name: string },
  commonName: string,
  serialHex: string,
  extensions: readonly Buffer[],
): string {
  const content = derSequence(
    derContext(0, 'constructed', derInteger(CERTIFICATE_VERSION_3)),
    // At least 1, and no longer than 20 bytes.
    derInteger(Buffer.from(`4${serialHex.slice(1)}`, 'hex')),
    SIGNATURE_ALGORITHM,
    toName(issuer.name),
    derSequence(derTime(NOT_BEFORE), derTime(NOT_AFTER)),
    toName(commonName),
    subjectKey.export({ type: 'spki', format: 'der' }),
    derContext(3, 'constructed', derSequence(...extensions)),
  );
  const signature = sign('sha256', content, issuer.privateKey);
  const certificate = derSequence(content, SIGNATURE_ALGORITHM, derBitString(signature)).toString('base64');
  const lines = certificate.match(new RegExp(`.{1,${PEM_COLUMNS}}`, 'gu')) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function toName(commonName: string): Buffer {
  return derSequence(derSet(derSequence(derObjectIdentifier(OID.commonName), derUtf8String(commonName))));
}

function extension(identifier: string, need: 'critical' | 'optional', value: Buffer): Buffer {
  const flag = need === 'critical' ? [derBoolean(true)] : [];
  return derSequence(derObjectIdentifier(identifier), ...flag, derOctetString(value));
}

function computeKeyIdentifier(key: KeyObject): Buffer {
  return createHash('sha1')
    .update(key.export({ type: 'pkcs1', format: 'der' }))
    .digest();
}

function toAltName(host: string): Buffer {
  return isIP(host)
    ? derContext(IP_ADDRESS, 'primitive', parseAddress(host))
    : derContext(DNS_NAME, 'primitive', Buffer.from(host));
}

/** Returns the bytes of an IPv4 or IPv6 address. */
function parseAddress(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  // The URL parser shortens every IPv6 address: eight groups, of which one run may be omitted.
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const before = head.split(':').filter(Boolean);
  const after = tail.split(':').filter(Boolean);
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

function createKeyPair(): Promise<KeyPair> {
  return promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
}
