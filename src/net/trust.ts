import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** How the certificate of the other side is checked, and which one is shown to it. */
export interface TlsTrust {
  /** Authorities that are trusted instead of the machine's own, as PEM. */
  readonly caPem?: string | undefined;
  /** The name that the certificate must carry, when it is not the host of the url. */
  readonly serverName?: string | undefined;
  /** Certificate and key of the client, as PEM, for who asks for one. */
  readonly certPem?: string | undefined;
  readonly keyPem?: string | undefined;
  /**
   * SHA-256 of the certificate, as hex with or without colons. The certificate must be this one; without `caPem` it needs
   * nobody else to vouch for it, as with the self-signed one of a fresh router.
   */
  readonly fingerprintSha256?: string | undefined;
  /** Accepts any certificate. Default false. */
  readonly insecureSkipVerify?: boolean | undefined;
}

/** Whether the TLS library itself ends a connection whose certificate no authority vouches for. */
export function isAuthorityNeeded({ caPem, fingerprintSha256, insecureSkipVerify }: TlsTrust): boolean {
  const isPinnedOnly = fingerprintSha256 !== undefined && caPem === undefined;
  return insecureSkipVerify !== true && !isPinnedOnly;
}

/**
 * What is wrong with the certificate of a full handshake beyond what {@link isAuthorityNeeded} covers: its fingerprint,
 * `none` without a certificate, when another one is asked for.
 */
export function findOtherFingerprint(
  { fingerprintSha256 }: TlsTrust,
  certificate: X509Certificate | undefined,
): string | undefined {
  const found = certificate?.fingerprint256 ?? 'none';
  return fingerprintSha256 === undefined || toHex(found) === toHex(fingerprintSha256) ? undefined : found;
}

/** The options of a TLS connection by which `name` is greeted and looked for in the certificate. */
export function toNameOptions(name: string): { readonly host: string; readonly servername: string } {
  // An address may stand in a certificate, but never in the greeting.
  return { host: name, servername: isIP(name) ? '' : name };
}

function toHex(fingerprint: string): string {
  return fingerprint.replaceAll(':', '').toLowerCase();
}
