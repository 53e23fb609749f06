import { createPrivateKey, X509Certificate } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { createSecureContext, type SecureContextOptions, type SecureVersion } from 'node:tls';
import type { Secret } from '../base/index.ts';
import { WebError } from './errors.ts';
import type { RateLimitSettings } from './rate-limit.ts';

/** TLS versions, named as in the web configuration file of the Prometheus exporter-toolkit. Older ones are insecure. */
type WebTlsVersion = 'TLS12' | 'TLS13';

/**
 * Client certificate policy. `request`: asked for, not checked. `require-any`: required, whoever signed it.
 * `verify-if-given`: optional, but must be signed by the client CA. `require-and-verify`: required, signed by the client CA.
 */
export type WebClientAuth = 'none' | 'request' | 'require-any' | 'verify-if-given' | 'require-and-verify';

/** Certificate and client authentication of the web server. */
export interface WebTls {
  /** The server's certificate followed by its intermediates, PEM. */
  readonly certPem: string;
  /** Private key of the certificate, PEM, without a passphrase. */
  readonly keyPem: string;
  /** CA certificates that client certificates are verified against, PEM. Required where clients are verified. */
  readonly clientCaPem?: string | undefined;
  /** Client certificate policy. */
  readonly clientAuth: WebClientAuth;
  /** Minimum TLS version. Default `TLS12`. */
  readonly minVersion?: WebTlsVersion | undefined;
  /** Maximum TLS version. Default `TLS13`. */
  readonly maxVersion?: WebTlsVersion | undefined;
  /** TLS 1.2 cipher suites by IANA name, preferred first; those of TLS 1.3 are always on. Default: those of Node.js. */
  readonly cipherSuites?: readonly string[] | undefined;
  /** Allowed subject alternative names: a client certificate must contain one of them exactly. Only where one is required. */
  readonly clientAllowedSans?: readonly string[] | undefined;
}

/** The web configuration file of the Prometheus exporter-toolkit, with the content of the files it refers to. */
export interface WebSecurity {
  /** TLS settings; absent = plain HTTP. */
  readonly tls?: WebTls | undefined;
  /** Headers added to every response; they replace headers of the same name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Bcrypt hashes of passwords by user. Empty = open access. */
  readonly users: ReadonlyMap<string, string>;
  /** Limit of all requests together but `/-/healthy`; absent = none. */
  readonly rateLimit?: RateLimitSettings | undefined;
}

/** {@link WebSecurity} with the private key as a {@link Secret}. */
export interface WebSecuritySettings extends Omit<WebSecurity, 'tls'> {
  /** TLS settings; absent = plain HTTP. */
  readonly tls?: WebTlsSettings | undefined;
}

/** TLS of the web server with the files that its parts come from. */
export interface WebTlsSettings extends Omit<WebTls, 'keyPem'> {
  /** Private key of the certificate, PEM. */
  readonly keyPem: Secret;
}

/** Converts settings to the form that the server takes, with the key in clear text. */
export function revealSecurity(security: WebSecuritySettings | undefined): WebSecurity | undefined {
  if (!security) return undefined;
  const { tls, ...rest } = security;
  return tls ? { ...rest, tls: { ...tls, keyPem: tls.keyPem.reveal() } } : rest;
}

/** Neither TLS nor users nor headers. */
export const NO_SECURITY: WebSecurity = { headers: {}, users: new Map() };

const VERSIONS: Readonly<Record<WebTlsVersion, SecureVersion>> = {
  TLS12: 'TLSv1.2',
  TLS13: 'TLSv1.3',
};
const SUITES_TLS13 = ['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'];
/** OpenSSL names of the cipher suites with forward secrecy, by IANA name. */
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
/** All supported cipher suites. */
export const CIPHER_SUITES: readonly string[] = [...Object.keys(SUITES_TLS12), ...SUITES_TLS13];

const BCRYPT_HASH = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
/** A comparison at this cost takes 30 s; each further step doubles that. */
export const BCRYPT_COST_MAX = 18;

/** Throws {@link WebError} `settings` when a server cannot use these settings. */
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
  // Without its own CA, Node.js would trust any certificate of a public CA.
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
    // OpenSSL reports no error when the two are of different key types.
    isKeyOfCertificate = new X509Certificate(tls.certPem).checkPrivateKey(createPrivateKey(tls.keyPem));
  } catch (cause) {
    throw refuse('The TLS settings of the web server cannot be used', cause);
  }
  if (!isKeyOfCertificate) throw refuse("The web server's key is not the one of its certificate");
}

/** Converts the settings to Node.js options. Throws {@link WebError} `settings` when a cipher suite is unknown. */
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
