import { createSecureContext, type SecureContextOptions, type SecureVersion } from 'node:tls';
import type { Secret } from '../../base/index.ts';
import { WebError } from '../errors.ts';
import type { RateLimitSettings } from './limits.ts';

/** TLS versions, named as in the exporter-toolkit's web configuration file. Older ones are insecure. */
type WebTlsVersion = 'TLS12' | 'TLS13';

/**
 * Client certificate policy. `request`: requested, not checked. `require-any`: required, from any issuer. `verify-if-given`: optional,
 * but must be signed by the client CA. `require-and-verify`: required, signed by the client CA.
 */
export type WebClientAuth = 'none' | 'request' | 'require-any' | 'verify-if-given' | 'require-and-verify';

/** Certificate and client authentication of the web server. */
export interface WebTls {
  /** PEM: the server's certificate followed by its intermediates. */
  readonly certPem: string;
  /** PEM, without a passphrase. */
  readonly keyPem: Secret;
  /** PEM: CA certificates that sign client certificates. Required where clients are verified. */
  readonly clientCaPem?: string | undefined;
  readonly clientAuth: WebClientAuth;
  /** Default `TLS12`. */
  readonly minVersion?: WebTlsVersion | undefined;
  /** Default `TLS13`. */
  readonly maxVersion?: WebTlsVersion | undefined;
  /** TLS 1.2 cipher suites by IANA name, preferred first; those of TLS 1.3 are always on. Default: those of Node.js. */
  readonly cipherSuites?: readonly string[] | undefined;
  /** A client certificate must contain one of these subject alternative names exactly. Only where a certificate is required. */
  readonly clientAllowedSans?: readonly string[] | undefined;
}

/** The exporter-toolkit's web configuration file, with the content of the files it refers to. */
export interface WebSecurity {
  /** Absent: plain HTTP. */
  readonly tls?: WebTls | undefined;
  /** Added to every response; replace headers of the same name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Bcrypt hashes by user. Empty: open access. */
  readonly users: ReadonlyMap<string, string>;
  /** Limit of all requests together except `/-/healthy`; absent: none. */
  readonly rateLimit?: RateLimitSettings | undefined;
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
/** All supported cipher suites by IANA name. */
export const CIPHER_SUITES: readonly string[] = [...Object.keys(SUITES_TLS12), ...SUITES_TLS13];

/** Throws {@link WebError} `settings` if OpenSSL refuses the certificate or key. The rest is checked when the file is read. */
export function checkTls(tls: WebTls): void {
  try {
    createSecureContext(toSecureContextOptions(tls));
  } catch (cause) {
    const message = 'The TLS settings of the web server cannot be used';
    throw new WebError('settings', message, { disposition: 'operator', cause });
  }
}

/** Converts the settings to Node.js options. */
export function toSecureContextOptions(tls: WebTls): SecureContextOptions {
  const { certPem, keyPem, clientCaPem, minVersion = 'TLS12', maxVersion = 'TLS13', cipherSuites = [] } = tls;
  const suites = cipherSuites.filter((name) => !SUITES_TLS13.includes(name)).map((name) => SUITES_TLS12[name] ?? name);
  return {
    cert: certPem,
    key: keyPem.reveal(),
    minVersion: VERSIONS[minVersion],
    maxVersion: VERSIONS[maxVersion],
    ...(clientCaPem !== undefined && { ca: clientCaPem }),
    ...(cipherSuites.length > 0 && { ciphers: [...SUITES_TLS13, ...suites].join(':') }),
  };
}
