/** Maximum length of a quoted error text. Characters. */
const ERROR_TEXT_CHARS_MAX = 500;

/** Prepares the error text of another side for a message: truncated, on one line, without control characters. */
export function sanitizeErrorText(text: string): string {
  return (
    text
      // Runs of white space become one space, so read twice the bound.
      .slice(0, 2 * ERROR_TEXT_CHARS_MAX)
      // Control, format and private-use characters, lone surrogates and line separators.
      .replaceAll(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
      .trim()
      .slice(0, ERROR_TEXT_CHARS_MAX)
      .replace(/[\ud800-\udbff]$/, '')
  );
}
/**
 * Reason why a connection failed. `no-address`: the name is not known. `unreachable`: nothing could be sent.
 * `untrusted`: TLS ended it.
 */
export type NetworkFault = 'no-address' | 'unreachable' | 'untrusted';

const FAULTS: ReadonlyMap<string, NetworkFault> = new Map([
  ...['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME'].map((code) => [code, 'no-address'] as const),
  ...['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'EADDRNOTAVAIL', 'UND_ERR_CONNECT_TIMEOUT'].map(
    (code) => [code, 'unreachable'] as const,
  ),
]);
/** `UNSPECIFIED`: a certificate that OpenSSL refuses for a reason that Node.js has no code for, such as a weak key. */
const TLS_CODE =
  /^(UNSPECIFIED$|ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|EPROTO)/;

/** Classifies an error code of Node.js, its TLS library or undici; `undefined` if it is not about the connection. */
export function classifyCode(code: string): NetworkFault | undefined {
  return FAULTS.get(code) ?? (TLS_CODE.test(code) ? 'untrusted' : undefined);
}

/** Returns the code of an error, as in `ECONNREFUSED`; empty without one. */
export function readErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
