/** Maximum length of a quoted error text. Characters. */
const ERROR_TEXT_CHARS_MAX = 500;

/** Prepares an error text from a peer for a message: truncated, on one line, without control characters. */
export function sanitizeErrorText(text: string): string {
  return (
    text
      // Runs of white space collapse to one space, so twice the bound is enough.
      .slice(0, 2 * ERROR_TEXT_CHARS_MAX)
      // Control, format and private-use characters, lone surrogates and line separators.
      .replaceAll(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
      .trim()
      .slice(0, ERROR_TEXT_CHARS_MAX)
      .replace(/[\ud800-\udbff]$/, '')
  );
}

/** Why a connection failed. `no-address`: the name does not resolve. `unreachable`: no connection. `tls`: TLS failed. */
type NetworkFault = 'no-address' | 'unreachable' | 'tls';

const FAULTS: ReadonlyMap<string, NetworkFault> = new Map([
  ...['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME'].map((code) => [code, 'no-address'] as const),
  ...['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'EADDRNOTAVAIL', 'UND_ERR_CONNECT_TIMEOUT'].map(
    (code) => [code, 'unreachable'] as const,
  ),
]);
/** `UNSPECIFIED`: OpenSSL rejects a certificate for a reason without a Node.js code, such as a weak key. */
const TLS_CODE =
  /^(UNSPECIFIED$|ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|EPROTO)/;

/** Classifies an error code of Node.js, TLS or undici; `undefined` if it is not a connection failure. */
export function classifyCode(code: string): NetworkFault | undefined {
  return FAULTS.get(code) ?? (TLS_CODE.test(code) ? 'tls' : undefined);
}

/** Returns the code of an error, such as `ECONNREFUSED`; empty without one. */
export function readErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** The kind of peer, whose settings a hint names. */
export type Peer = 'router' | 'sink' | 'source' | 'cluster';

/** A TLS failure in words for the operator. */
export interface TlsFailure {
  /** Subject of `reason`: the certificate of the peer, or the handshake. */
  readonly subject: 'certificate' | 'handshake';
  /** Cause: `it has expired` for a certificate, otherwise a whole clause. Never raw OpenSSL text. */
  readonly reason: string;
  readonly hint: string;
  /** Remedy for a bad certificate, if known. */
  readonly cure: 'authority' | 'name' | 'renewal' | 'strength' | undefined;
}

interface Kind extends Omit<TlsFailure, 'hint' | 'cure'> {
  readonly pattern: RegExp;
  /** `{}` is replaced by the kind of peer. */
  readonly hint: string;
  readonly cure?: TlsFailure['cure'];
}

const AUTHORITY_HINT =
  'Set tls.ca_file of this {} to a file with the certificate of the authority, or tls.fingerprint_sha256 to the fingerprint of this certificate';
const UNLESS_PINNED = ', or, without tls.ca_file, set tls.fingerprint_sha256 to its fingerprint';
const CLIENT_HINT = 'Check tls.cert_file and tls.key_file of this {}';

/** The first match wins. */
export const TLS_KINDS: readonly Kind[] = [
  {
    pattern: /^CERT_HAS_EXPIRED/,
    subject: 'certificate',
    reason: 'it has expired',
    hint: 'Renew the certificate of this {}, or the one in tls.ca_file if that has expired, and check the clock of this machine',
    cure: 'renewal',
  },
  {
    pattern: /^CERT_NOT_YET_VALID/,
    subject: 'certificate',
    reason: 'it is not valid yet; perhaps a clock is wrong',
    hint: 'Check the clock of this machine, and that of the one that issued the certificate',
  },
  {
    pattern: /^(ERR_TLS_CERT_ALTNAME|HOSTNAME_MISMATCH)/,
    subject: 'certificate',
    reason: 'it is for another name',
    hint: 'Set tls.server_name of this {} to a name in the certificate, or, without tls.ca_file, tls.fingerprint_sha256 to its fingerprint',
    cure: 'name',
  },
  {
    pattern: /^DEPTH_ZERO_SELF_SIGNED_CERT/,
    subject: 'certificate',
    reason: 'it is signed by itself, not by an authority',
    hint: 'Put this certificate into the file of tls.ca_file of this {}, or its fingerprint into tls.fingerprint_sha256',
    cure: 'authority',
  },
  {
    pattern: /^CERT_SIGNATURE_FAILURE/,
    subject: 'certificate',
    reason: 'its authority is not a trusted one, although it has the same name',
    hint: AUTHORITY_HINT,
    cure: 'authority',
  },
  {
    pattern: /^(SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER|UNABLE_TO_VERIFY_LEAF|CERT_UNTRUSTED|CERT_REJECTED)/,
    subject: 'certificate',
    reason: 'its authority is not a trusted one',
    hint: AUTHORITY_HINT,
    cure: 'authority',
  },
  {
    pattern: /^(INVALID_CA|INVALID_PURPOSE|CERT_CHAIN_TOO_LONG|PATH_LENGTH_EXCEEDED)/,
    subject: 'certificate',
    reason: 'it, or its authority, is not made for this use',
    hint: 'Let the authority issue a certificate for servers to this {}',
  },
  {
    pattern: /^(CERT_REVOKED)/,
    subject: 'certificate',
    reason: 'it is revoked',
    hint: 'Renew the certificate of this {}',
  },
  {
    pattern: /WRONG_VERSION_NUMBER|HTTP_REQUEST|PACKET_LENGTH_TOO_LONG|UNKNOWN_PROTOCOL|BAD_RECORD_TYPE/,
    subject: 'handshake',
    reason: 'this port does not speak TLS',
    hint: 'Check scheme and port of this {}',
  },
  {
    pattern: /ALERT_CERTIFICATE_REQUIRED/,
    subject: 'handshake',
    reason: 'a certificate of the agent is required',
    hint: `${CLIENT_HINT}: it requires a client certificate`,
  },
  {
    pattern: /ALERT_CERTIFICATE_EXPIRED/,
    subject: 'handshake',
    reason: 'the certificate of the agent has expired, the other side says',
    hint: 'Renew the client certificate in tls.cert_file of this {}',
  },
  {
    pattern:
      /ALERT_(NO|BAD|UNSUPPORTED|REVOKED)?_?CERTIFICATE|ALERT_UNKNOWN_CA|CERTIFICATE_(UNKNOWN|REVOKED)|ALERT_ACCESS_DENIED/,
    subject: 'handshake',
    reason: 'the other side does not accept the certificate of the agent, or wants one',
    hint: CLIENT_HINT,
  },
  {
    pattern: /PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW|NO_PROTOCOLS_AVAILABLE/,
    subject: 'handshake',
    reason: 'both sides have no TLS version in common',
    hint: 'Enable TLS 1.2 or 1.3 on this {}',
  },
  {
    pattern: /HANDSHAKE_FAILURE|NO_SHARED_CIPHER|INSUFFICIENT_SECURITY/,
    subject: 'handshake',
    reason: 'the other side ended it: no cipher in common, or it requires a certificate of the agent',
    hint: `${CLIENT_HINT}, and the TLS settings of the other side`,
  },
  {
    pattern: /^EE_CERTIFICATE_KEY_TOO_WEAK/,
    subject: 'certificate',
    reason: 'its key is too weak',
    hint: `Renew the certificate of this {} with an RSA key of 2,048 bits or more${UNLESS_PINNED}`,
    cure: 'strength',
  },
  {
    pattern: /^CA_CERTIFICATE_KEY_TOO_WEAK/,
    subject: 'certificate',
    reason: 'the key of its authority is too weak',
    hint: `Renew the authority with an RSA key of 2,048 bits or more, and the certificate of this {}${UNLESS_PINNED}`,
    cure: 'strength',
  },
  {
    pattern: /^CA_SIGNATURE_DIGEST_ALGORITHM_TOO_WEAK/,
    subject: 'certificate',
    reason: 'it, or one above it, is signed with MD5 or SHA-1, which is too weak',
    hint: `Renew the certificate of this {} with a signature of SHA-256${UNLESS_PINNED}`,
    cure: 'strength',
  },
  {
    pattern: /DH_KEY_TOO_SMALL/,
    subject: 'handshake',
    reason: 'the Diffie-Hellman key of the other side is too short',
    hint: 'Let this {} use one of 2,048 bits or more, or ciphers of ECDHE',
  },
  {
    pattern: /EE_KEY_TOO_SMALL|CA_KEY_TOO_SMALL|CA_MD_TOO_WEAK/,
    subject: 'handshake',
    reason: 'the key or signature of the certificate of the agent is too weak',
    hint: 'Renew the client certificate in tls.cert_file of this {} with an RSA key of 2,048 bits or more and a signature of SHA-256',
  },
  {
    pattern: /PEM|KEY_VALUES_MISMATCH|^ERR_OSSL_|BAD_BASE64/,
    subject: 'handshake',
    reason: 'the certificates or the key in the settings cannot be used',
    hint: 'Check tls.ca_file, tls.cert_file and tls.key_file of this {}',
  },
];

const REACHED: Readonly<Record<Peer, string>> = {
  router: 'that its HTTPS or HTTP access is active',
  sink: 'that it is running',
  source: 'that it is running',
  cluster: 'that its servers are running',
};

/** Returns a hint for a connection that could not be opened (see {@link classifyCode}); `undefined` for other failures. */
export function adviseUnreached(code: string, peer: Peer): string | undefined {
  const fault = classifyCode(code);
  if (fault === 'no-address') {
    return `Check the host name in the address of this ${peer}, and the name server of this machine`;
  }
  return fault === 'unreachable'
    ? `Check host and port in the address of this ${peer}, and ${REACHED[peer]}`
    : undefined;
}

/** Explains a TLS error; `undefined` for other errors. */
export function explainTls(cause: unknown, peer: Peer): TlsFailure | undefined {
  const code = readErrorCode(cause);
  if (classifyCode(code) !== 'tls') return undefined;
  const message = cause instanceof Error ? cause.message : '';
  // Node.js reports OpenSSL's reason for a failed handshake or a weak certificate only in the message.
  const text =
    code === 'EPROTO' || code === 'UNSPECIFIED'
      ? findReason(message)
          .toUpperCase()
          .replaceAll(/[^A-Z0-9]+/g, '_')
      : code;
  const kind = TLS_KINDS.find(({ pattern }) => pattern.test(text));
  if (kind) return { ...kind, hint: kind.hint.replace('{}', peer), cure: kind.cure };
  const reason = `the TLS library reports: ${findReason(message) || code}`;
  const hint = `Check tls.ca_file, tls.server_name and tls.fingerprint_sha256 of this ${peer}`;
  return { subject: 'handshake', reason, hint, cure: undefined };
}

/** OpenSSL error line: `thread:error:code:library:function:reason:file:line:data`. */
const OPENSSL_LINE = /[0-9A-F]+:error:[0-9A-F]+:[^:]*:[^:]*:([^:\n]+)/;

function findReason(message: string): string {
  return (OPENSSL_LINE.exec(message)?.[1] ?? message.replace(/; if the root CA is .*$/s, '')).trim();
}
