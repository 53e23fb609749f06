import { createHash, generateKeyPair, type KeyObject, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import type { Random } from '../base/index.ts';
import { deriveRandom, randomHex } from './seeded.ts';

/** DER encodings (ITU-T X.690) needed for a certificate. */

const TAGS = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  generalizedTime: 0x18,
} as const;

function derSequence(...parts: readonly Buffer[]): Buffer {
  return encode(TAGS.sequence, Buffer.concat(parts));
}

function derSet(...parts: readonly Buffer[]): Buffer {
  return encode(TAGS.set, Buffer.concat(parts));
}

function derBoolean(value: boolean): Buffer {
  return encode(TAGS.boolean, Buffer.of(value ? 0xff : 0));
}

/** A positive number of any size, highest byte first. */
function derInteger(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const shortest = first < 0 ? Uint8Array.of(0) : bytes.subarray(first);
  return encode(TAGS.integer, (shortest[0] ?? 0) > 0x7f ? Buffer.concat([Buffer.of(0), shortest]) : shortest);
}

/** `unusedBits`: at the end of the last byte. */
function derBitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return encode(TAGS.bitString, Buffer.concat([Buffer.of(unusedBits), bytes]));
}

function derOctetString(bytes: Uint8Array): Buffer {
  return encode(TAGS.octetString, bytes);
}

/** Dotted form, as in `2.5.29.17`. */
function derObjectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return encode(TAGS.objectIdentifier, Buffer.from([first * 40 + second, ...rest].flatMap(toBase128)));
}

function derUtf8String(text: string): Buffer {
  return encode(TAGS.utf8String, Buffer.from(text));
}

/** Years up to 2049 as UTCTime, later ones as GeneralizedTime (RFC 5280). */
function derTime(date: Date): Buffer {
  const text = date.toISOString().replace(/\.\d+/u, '').replace(/[-:T]/gu, '');
  return date.getUTCFullYear() < 2050
    ? encode(TAGS.utcTime, Buffer.from(text.slice(2)))
    : encode(TAGS.generalizedTime, Buffer.from(text));
}

/** A context-specific value `[number]`, primitive or constructed. */
function derContext(number: number, form: 'primitive' | 'constructed', bytes: Uint8Array): Buffer {
  return encode((form === 'constructed' ? 0xa0 : 0x80) | number, bytes);
}

function encode(tag: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(tag), encodeLength(bytes.length), bytes]);
}

function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function toBase128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}

/** Certificate and key of a TLS server. */
export interface ServerCertificate {
  readonly key: string;
  readonly cert: string;
}

interface CertificateAuthority {
  /** The certificate that clients must trust. */
  readonly caPem: string;
  /** Issues a certificate for a server with these names and addresses. */
  issue(hosts: readonly string[]): ServerCertificate;
}

/** Fixed, so that tests can compare metrics of the expiry, and wide, because the simulated clock and the TLS library's clock differ. */
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

/** `serverKeys` are shared by all servers of the authority. */
interface AuthorityKeys {
  readonly caKeys: KeyPair;
  readonly serverKeys: KeyPair;
}

/** Takes a tenth of a second. The keys protect no secret. */
async function createAuthorityKeys(): Promise<AuthorityKeys> {
  const [caKeys, serverKeys] = await Promise.all([createKeyPair(), createKeyPair()]);
  return { caKeys, serverKeys };
}

/** Creates a certificate authority. `keys`: default new ones. */
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

/** Creates a certificate by RFC 5280 section 4.1, as PEM. Node.js reads and verifies certificates but cannot create them. */
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

/** Authorities whose keys this process keeps. */
const KEYS_MAX = 16;
/** By seed and name of an authority: fleets with the same seed share keys, because generating them takes time. */
const knownKeys = new Map<string, Promise<AuthorityKeys>>();

function openKeys(id: string): Promise<AuthorityKeys> {
  const known = knownKeys.get(id);
  if (known) return known;
  const [oldest] = knownKeys.keys();
  if (oldest !== undefined && knownKeys.size >= KEYS_MAX) knownKeys.delete(oldest);
  const created = createAuthorityKeys();
  knownKeys.set(id, created);
  return created;
}

/** The certificates of a fleet. Authorities are created on first use, because generating keys takes time. */
export class Certificates {
  readonly #seed: number;
  readonly #authorities = new Map<string, Promise<CertificateAuthority>>();
  #caPem = '';

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Certificate of the trusted authority; empty until it has signed a certificate. */
  get caPem(): string {
    return this.#caPem;
  }

  /** Issues a certificate that clients of the fleet can verify. */
  async issue(hosts: readonly string[]): Promise<ServerCertificate> {
    const authority = await this.#open('router-exporter simulator');
    this.#caPem = authority.caPem;
    return authority.issue(hosts);
  }

  /** Issues a certificate from an untrusted authority. */
  async issueBad(hosts: readonly string[]): Promise<ServerCertificate> {
    return (await this.#open('router-exporter stranger')).issue(hosts);
  }

  #open(name: string): Promise<CertificateAuthority> {
    const known = this.#authorities.get(name);
    if (known) return known;
    const keys = openKeys(`${this.#seed} ${name}`);
    const authority = createCertificateAuthority(name, deriveRandom(this.#seed, name), keys);
    this.#authorities.set(name, authority);
    return authority;
  }
}
