import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { ClientTls } from '../settings/index.ts';

/** Whether the TLS library itself ends a connection whose certificate no authority vouches for. */
export function isAuthorityNeeded({ caPem, fingerprintSha256, insecureSkipVerify }: ClientTls): boolean {
  const isPinnedOnly = fingerprintSha256 !== undefined && caPem === undefined;
  return insecureSkipVerify !== true && !isPinnedOnly;
}

/**
 * What is wrong with the certificate of a full handshake beyond what {@link isAuthorityNeeded} covers: its fingerprint,
 * `none` without a certificate, when another one is asked for.
 */
export function findOtherFingerprint(
  { fingerprintSha256 }: ClientTls,
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
