import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { classifyCode, findOtherFingerprint, isAuthorityNeeded, readErrorCode, toNameOptions } from '../net/index.ts';
import type { ClientTls } from '../settings/index.ts';

/**
 * Converts settings to the options of the TLS library. With `host`, the host of the sink's address, they include the name
 * for SNI and verification. The caller must check {@link findTlsFault} before it sends anything.
 */
export function toTlsOptions(tls: ClientTls, host?: string): ConnectionOptions {
  const { caPem, certPem, keyPem } = tls;
  const name = tls.serverName ?? host;
  return {
    // An IP address may be in a certificate, but never in SNI.
    ...(name !== undefined && toNameOptions(name)),
    ...(caPem !== undefined && { ca: caPem }),
    ...(certPem !== undefined && { cert: certPem }),
    ...(keyPem !== undefined && { key: keyPem }),
    rejectUnauthorized: isAuthorityNeeded(tls),
  };
}

/** Returns what is wrong with the certificate of a full handshake beyond the checks of the TLS library; `undefined` if nothing. */
export function findTlsFault(tls: ClientTls, socket: TLSSocket): string | undefined {
  const found = findOtherFingerprint(tls, socket.getPeerX509Certificate());
  return found === undefined ? undefined : `Its certificate has a different fingerprint: ${found}`;
}

/** Hint for a fault found by {@link findTlsFault}. */
export const FINGERPRINT_HINT =
  'If the certificate was renewed, set tls.fingerprint_sha256 of this sink to this fingerprint';

const HINTS: readonly (readonly [RegExp, string])[] = [
  [/^(ERR_TLS_CERT_ALTNAME|HOSTNAME_MISMATCH)/, 'Set tls.server_name of this sink to a name in the certificate'],
  [
    /^CERT_HAS_EXPIRED/,
    "Renew the sink's certificate, or the one in tls.ca_file if that has expired, and check the clock of this machine",
  ],
  [/^CERT_NOT_YET_VALID/, 'Check the clock of this machine'],
  [/WRONG_VERSION_NUMBER|HTTP_REQUEST|PACKET_LENGTH_TOO_LONG/, 'Check that this port of the sink uses TLS'],
  [/ALERT_CERTIFICATE_EXPIRED/, 'Renew the client certificate in tls.cert_file of this sink'],
  [
    /CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE|ALERT_BAD_CERTIFICATE|ALERT_UNKNOWN_CA|CERTIFICATE_UNKNOWN|ALERT_CERTIFICATE/,
    'Check tls.cert_file and tls.key_file of this sink: it may require a client certificate',
  ],
  [/^ERR_OSSL_|PEM|KEY_VALUES_MISMATCH/, 'Check tls.ca_file, tls.cert_file and tls.key_file of this sink'],
];

/** A failure of the TLS library in words for people. */
export interface TlsFailure {
  /** Reason without the library's own prefixes. */
  readonly reason: string;
  /** Advice for the operator. */
  readonly hint: string;
}

/** Describes an error of the TLS library; `undefined` for errors unrelated to TLS. */
export function findTlsFailure(cause: unknown): TlsFailure | undefined {
  const code = readErrorCode(cause);
  if (classifyCode(code) !== 'untrusted') return undefined;
  const message = cause instanceof Error ? cause.message : '';
  // Node.js reports OpenSSL's error of a failed handshake only in the message.
  const text = code === 'EPROTO' ? message.toUpperCase().replaceAll(' ', '_') : code;
  const hint =
    HINTS.find(([pattern]) => pattern.test(text))?.[1] ??
    'Check tls.ca_file, tls.server_name and tls.fingerprint_sha256 of this sink';
  return { reason: cleanReason(message) || code, hint };
}

/** `thread:error:code:library:function:reason:file:line:data`, as OpenSSL prints its errors. */
const OPENSSL_LINE = /[0-9A-F]+:error:[0-9A-F]+:[^:]*:[^:]*:([^:\n]+)/;

/** Keeps the reason of an error of OpenSSL, and drops advice that concerns the start of Node.js. */
function cleanReason(message: string): string {
  const reason = OPENSSL_LINE.exec(message)?.[1] ?? message;
  const alert = /^(?:tlsv1\d*|sslv3|ssl\/tls) alert (.+)$/.exec(reason.trim())?.[1];
  return alert === undefined ? reason.replace(/; if the root CA is .*$/s, '').trim() : `the receiver reports: ${alert}`;
}
