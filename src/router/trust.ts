import type { X509Certificate } from 'node:crypto';
import type { ClientTls } from '../settings/index.ts';
import { RouterError } from './errors.ts';

/** How a router's certificate is checked, and which one is shown to it. */
export type RouterTls = ClientTls;

/** Whether the TLS library itself ends a connection whose certificate no authority vouches for. */
export function isAuthorityNeeded({ caPem, fingerprintSha256, insecureSkipVerify }: RouterTls): boolean {
  const isPinnedOnly = fingerprintSha256 !== undefined && caPem === undefined;
  return insecureSkipVerify !== true && !isPinnedOnly;
}

/** What is wrong with the certificate of a full handshake beyond what {@link isAuthorityNeeded} covers. */
export function findTrustFault(tls: RouterTls, certificate: X509Certificate | undefined): RouterError | undefined {
  if (tls.fingerprintSha256 === undefined) return undefined;
  const found = certificate?.fingerprint256;
  if (found !== undefined && toHex(found) === toHex(tls.fingerprintSha256)) return undefined;
  return new RouterError('tls', `The router's certificate has another fingerprint: ${found ?? 'none'}`, {
    disposition: 'operator',
    hint: 'If the certificate was renewed, put this fingerprint into tls.fingerprint_sha256 of this router',
    isUnsent: true,
  });
}

function toHex(fingerprint: string): string {
  return fingerprint.replaceAll(':', '').toLowerCase();
}
