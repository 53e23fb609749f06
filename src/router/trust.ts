import type { X509Certificate } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import { findOtherFingerprint, openSecureContext } from '../net/index.ts';
import type { ClientTls } from '../settings/index.ts';
import { RouterError } from './errors.ts';

/** TLS settings of a router: how its certificate is verified, and the client certificate. */
export type RouterTls = ClientTls;

/** Checks the certificate of a full handshake beyond what the TLS library has checked; returns the error, if any. */
export function findTrustFault(tls: RouterTls, certificate: X509Certificate | undefined): RouterError | undefined {
  const found = findOtherFingerprint(tls, certificate);
  if (found === undefined) return undefined;
  return new RouterError('tls', `The router's certificate has another fingerprint: ${found}`, {
    disposition: 'operator',
    hint: 'If the certificate was renewed, put this fingerprint into tls.fingerprint_sha256 of this router',
    isUnsent: true,
  });
}

/** Returns the TLS context of a router's settings. Throws {@link RouterError} if its certificates cannot be used. */
export function openTrustedContext(tls: RouterTls, groups?: string): SecureContext {
  try {
    return openSecureContext(tls, groups);
  } catch (cause) {
    throw new RouterError('tls', 'The certificates that are configured for this router cannot be used', {
      disposition: 'operator',
      hint: 'Check tls.ca_file, tls.cert_file and tls.key_file of this router',
      cause,
      isUnsent: true,
    });
  }
}
