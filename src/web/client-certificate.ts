import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { WebTls } from './security.ts';

/** One entry of the text form of subject alternative names; values with special characters are JSON strings. */
const ENTRY = /(?:[^",]|"(?:[^"\\]|\\.)*")+/g;
/** The types that name a client; IP addresses are compared separately. */
const NAME = /^ ?(?:DNS|email|URI):(.*)$/s;

/** Checks the certificate that a client presented, or did not present, in the handshake. */
export function isClientAllowed(socket: TLSSocket, { clientAuth, clientAllowedSans }: WebTls): boolean {
  const certificate = clientAuth === 'none' ? undefined : socket.getPeerX509Certificate();
  const isVerified = certificate !== undefined && socket.authorized;
  switch (clientAuth) {
    case 'none':
    case 'request':
      return true;
    case 'verify-if-given':
      return certificate === undefined || isVerified;
    case 'require-any':
      return certificate !== undefined && hasAllowedName(certificate, clientAllowedSans);
    case 'require-and-verify':
      return isVerified && hasAllowedName(certificate, clientAllowedSans);
  }
}

function hasAllowedName(certificate: X509Certificate, allowed: readonly string[] | undefined): boolean {
  if (allowed === undefined) return true;
  const names = parseAlternativeNames(certificate.subjectAltName ?? '');
  // IP addresses have several spellings.
  return allowed.some((name) => (isIP(name) ? certificate.checkIP(name) !== undefined : names.includes(name)));
}

/** Parses the DNS names, mail addresses and URIs from the text form of subject alternative names. */
export function parseAlternativeNames(text: string): readonly string[] {
  return (text.match(ENTRY) ?? []).flatMap((entry) => {
    const value = NAME.exec(entry)?.[1];
    if (value === undefined) return [];
    return [value.startsWith('"') ? (JSON.parse(value) as string) : value];
  });
}
