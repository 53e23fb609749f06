import { createPrivateKey, X509Certificate } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { createSecureContext, type SecureContextOptions, type SecureVersion } from 'node:tls';
import type { Secret } from '../base/index.ts';
import { WebError } from './errors.ts';

/** TLS versions as the web configuration file of the Prometheus exporter-toolkit names them. Older ones are broken. */
export type WebTlsVersion = 'TLS12' | 'TLS13';

/**
 * Whether clients are asked for a certificate, and what becomes of those without a good one. `request`: asked and
 * nothing more. `require-any`: one is needed, whoever signed it. `verify-if-given`: one that is given must be signed by
 * the client authority. `require-and-verify`: such a one is needed.
 */
export type WebClientAuth = 'none' | 'request' | 'require-any' | 'verify-if-given' | 'require-and-verify';

export interface WebTls {
  /** The server's certificate, with those between it and its root. */
  readonly certPem: string;
  readonly keyPem: string;
  /** Authorities that sign clients' certificates. Needed where those are verified. */
  readonly clientCaPem?: string | undefined;
  readonly clientAuth: WebClientAuth;
  /** Default `TLS12`. */
  readonly minVersion?: WebTlsVersion | undefined;
  /** Default `TLS13`. */
  readonly maxVersion?: WebTlsVersion | undefined;
  /** Suites of TLS 1.2 by their IANA names, the best first; those of TLS 1.3 are always on. Absent = Node's own. */
  readonly cipherSuites?: readonly string[] | undefined;
  /** Subject alternative names of which a client's certificate must hold one, exactly. Only where one is required. */
  readonly clientAllowedSans?: readonly string[] | undefined;
}

/** What the web configuration file of the Prometheus exporter-toolkit says, read and with its files' contents. */
export interface WebSecurity {
  /** Absent = plain HTTP. */
  readonly tls?: WebTls | undefined;
  /** Added to every answer; they replace headers of the same name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Users and bcrypt hashes of their passwords. Empty = everybody may read everything. */
  readonly users: ReadonlyMap<string, string>;
}

/** What a file of the server says, with its key as a secret. */
export interface WebSecuritySettings extends Omit<WebSecurity, 'tls'> {
  readonly tls?: WebTlsSettings | undefined;
}

export interface WebTlsSettings extends Omit<WebTls, 'keyPem'> {
  readonly keyPem: Secret;
}

/** The form in which the server takes its protection: the key in clear text. */
export function revealSecurity(security: WebSecuritySettings | undefined): WebSecurity | undefined {
  if (!security) return undefined;
  const { tls, ...rest } = security;
  return tls ? { ...rest, tls: { ...tls, keyPem: tls.keyPem.reveal() } } : rest;
}

export const NO_SECURITY: WebSecurity = { headers: {}, users: new Map() };

const VERSIONS: Readonly<Record<WebTlsVersion, SecureVersion>> = {
  TLS12: 'TLSv1.2',
  TLS13: 'TLSv1.3',
};
const SUITES_TLS13 = ['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'];
/** Suites with forward secrecy by their IANA names, and as OpenSSL calls them. */
const SUITES_TLS12: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
};
/** Every suite that can be named. */
export const CIPHER_SUITES: readonly string[] = [...Object.keys(SUITES_TLS12), ...SUITES_TLS13];

const BCRYPT_HASH = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
/** One comparison at this cost takes half a minute; each step more doubles that. */
export const BCRYPT_COST_MAX = 18;

/** Throws {@link WebError} `settings` when a server could not work with this. */
export function checkSecurity({ tls, headers, users }: WebSecurity): void {
  if (tls) checkTls(tls);
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch (cause) {
      throw refuse('One of the headers to be added to answers is none', cause);
    }
  }
  for (const [user, hash] of users) {
    const cost = Number(BCRYPT_HASH.exec(hash)?.[1] ?? Number.NaN);
    if (!(cost <= BCRYPT_COST_MAX)) {
      throw refuse(`The password of the web user ${user} is no bcrypt hash of a cost up to ${BCRYPT_COST_MAX}`);
    }
  }
}

function checkTls(tls: WebTls): void {
  const { clientAuth, clientCaPem, clientAllowedSans } = tls;
  const isVerified = clientAuth === 'verify-if-given' || clientAuth === 'require-and-verify';
  const isRequired = clientAuth === 'require-any' || clientAuth === 'require-and-verify';
  // Without an authority of its own, Node would trust everybody who has a certificate of a public one.
  if (isVerified && clientCaPem === undefined) {
    throw refuse("Clients' certificates are to be verified, and no client authority is given");
  }
  if (!isRequired && clientAllowedSans !== undefined) {
    throw refuse("Names are asked of clients' certificates, which are not required");
  }
  const { minVersion, maxVersion } = toSecureContextOptions(tls);
  if (minVersion && maxVersion && minVersion > maxVersion) {
    throw refuse(`The web server is to speak TLS from ${minVersion} up to ${maxVersion}, which is no version`);
  }
  let isKeyOfCertificate: boolean;
  try {
    createSecureContext(toSecureContextOptions(tls));
    // OpenSSL says nothing when the two are of different kinds.
    isKeyOfCertificate = new X509Certificate(tls.certPem).checkPrivateKey(createPrivateKey(tls.keyPem));
  } catch (cause) {
    throw refuse('The TLS settings of the web server cannot be used', cause);
  }
  if (!isKeyOfCertificate) throw refuse("The web server's key is not the one of its certificate");
}

/** The settings as Node takes them. Throws {@link WebError} `settings` when a cipher suite is unknown. */
export function toSecureContextOptions(tls: WebTls): SecureContextOptions {
  const { certPem, keyPem, clientCaPem, minVersion = 'TLS12', maxVersion = 'TLS13', cipherSuites = [] } = tls;
  const suites = cipherSuites.filter((name) => !SUITES_TLS13.includes(name)).map(toOpenSslName);
  return {
    cert: certPem,
    key: keyPem,
    minVersion: VERSIONS[minVersion],
    maxVersion: VERSIONS[maxVersion],
    ...(clientCaPem !== undefined && { ca: clientCaPem }),
    ...(cipherSuites.length > 0 && { ciphers: [...SUITES_TLS13, ...suites].join(':') }),
  };
}

function toOpenSslName(name: string): string {
  const known = SUITES_TLS12[name];
  if (known === undefined) throw refuse(`There is no cipher suite ${name}`);
  return known;
}

function refuse(message: string, cause?: unknown): WebError {
  return new WebError('settings', message, { disposition: 'operator', cause });
}
