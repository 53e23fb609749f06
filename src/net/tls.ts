import { createHash, type X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import {
  type ConnectionOptions,
  createSecureContext,
  getCACertificates,
  type SecureContext,
  type SecureContextOptions,
  setDefaultCACertificates,
} from 'node:tls';
import type { ClientTls } from '../settings/index.ts';

/** Returns true if the TLS library must verify the certificate against the authorities. */
export function isAuthorityNeeded({ caPem, fingerprintSha256, insecureSkipVerify }: ClientTls): boolean {
  const isPinnedOnly = fingerprintSha256 !== undefined && caPem === undefined;
  return insecureSkipVerify !== true && !isPinnedOnly;
}

/**
 * Returns the fingerprint of the certificate of a full handshake if it differs from the pinned one; `none` without a
 * certificate.
 */
export function findOtherFingerprint(
  { fingerprintSha256 }: ClientTls,
  certificate: X509Certificate | undefined,
): string | undefined {
  const found = certificate?.fingerprint256 ?? 'none';
  return fingerprintSha256 === undefined || toHex(found) === toHex(fingerprintSha256) ? undefined : found;
}

/** Returns the TLS options for a server name, used for SNI and verification. */
export function toNameOptions(name: string): { readonly host: string; readonly servername: string } {
  // A certificate may contain an address; SNI may not.
  return { host: name, servername: isIP(name) ? '' : name };
}

/**
 * Converts settings to TLS options. `host` is the host of the address, for SNI and verification. With a pinned certificate,
 * the caller must check {@link findOtherFingerprint} before it sends anything.
 */
export function toTlsOptions(tls: ClientTls, host?: string): ConnectionOptions {
  const name = tls.serverName ?? host;
  return {
    ...(name !== undefined && toNameOptions(name)),
    ...toContextOptions(tls),
    rejectUnauthorized: isAuthorityNeeded(tls),
  };
}

/**
 * Key exchanges of the TLS library without the post-quantum one, best first. That one makes the ClientHello 1,583 bytes long,
 * and some devices and firewalls accept only 1,024.
 */
export const CLASSICAL_GROUPS = 'X25519:P-256:X448:P-384:P-521';

function toContextOptions(tls: ClientTls): SecureContextOptions {
  const { caPem, certPem, keyPem } = tls;
  if (isSystemNeeded(tls)) trustSystem();
  return {
    // The file may contain the signing authority without the one above it.
    ...(caPem !== undefined && { ca: caPem, allowPartialTrustChain: true }),
    ...(certPem !== undefined && { cert: certPem }),
    ...(keyPem !== undefined && { key: keyPem }),
  };
}

function isSystemNeeded(tls: ClientTls): boolean {
  return tls.caPem === undefined && isAuthorityNeeded(tls);
}

let isSystemTrusted = false;

/**
 * Trusts the system's authorities in addition to those of Node.js and NODE_EXTRA_CA_CERTS, for this thread. Reading them
 * takes some 40 ms and 6 MB, so it waits for the first connection that needs them.
 */
function trustSystem(): void {
  if (isSystemTrusted) return;
  isSystemTrusted = true;
  setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system')]);
}

/**
 * TLS contexts of the process by settings. A fleet mostly shares one authority, which a context per router would hold a
 * thousand times. Unused contexts are garbage collected, with their keys.
 */
const contexts = new Map<string, WeakRef<SecureContext>>();

/**
 * Returns the context for these settings, shared by all callers that trust the same. `groups`: key exchanges to offer, best
 * first. Throws the TLS library's error for an invalid certificate or key.
 */
export function openSecureContext(tls: ClientTls, groups = CLASSICAL_GROUPS): SecureContext {
  const { caPem, certPem, keyPem } = tls;
  const parts = [caPem, certPem, keyPem, groups].map((part) => part ?? null);
  const key = createHash('sha256')
    .update(JSON.stringify([...parts, isSystemNeeded(tls)]))
    .digest('base64');
  const known = contexts.get(key)?.deref();
  if (known) return known;
  for (const [other, context] of contexts) {
    if (!context.deref()) contexts.delete(other);
  }
  const context = createSecureContext({ ...toContextOptions(tls), ecdhCurve: groups });
  contexts.set(key, new WeakRef(context));
  return context;
}

function toHex(fingerprint: string): string {
  return fingerprint.replaceAll(':', '').toLowerCase();
}
