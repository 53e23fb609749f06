import { createHash, type X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { type ConnectionOptions, createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import type { ClientTls } from '../settings/index.ts';

/** Returns true if the TLS library itself must verify the certificate against the authorities. */
export function isAuthorityNeeded({ caPem, fingerprintSha256, insecureSkipVerify }: ClientTls): boolean {
  const isPinnedOnly = fingerprintSha256 !== undefined && caPem === undefined;
  return insecureSkipVerify !== true && !isPinnedOnly;
}

/**
 * Returns the fingerprint of the certificate of a full handshake if it is not the pinned one;
 * `none` without a certificate.
 */
export function findOtherFingerprint(
  { fingerprintSha256 }: ClientTls,
  certificate: X509Certificate | undefined,
): string | undefined {
  const found = certificate?.fingerprint256 ?? 'none';
  return fingerprintSha256 === undefined || toHex(found) === toHex(fingerprintSha256) ? undefined : found;
}

/** Returns the TLS options for the server name `name` and its check against the certificate. */
export function toNameOptions(name: string): { readonly host: string; readonly servername: string } {
  // An address may be in a certificate, but never in SNI.
  return { host: name, servername: isIP(name) ? '' : name };
}

/**
 * Converts settings to the options of the TLS library. With `host`, the host of the address, they include the name
 * for SNI and verification. A caller with a pinned certificate must check {@link findOtherFingerprint} before it sends anything.
 */
export function toTlsOptions(tls: ClientTls, host?: string): ConnectionOptions {
  const name = tls.serverName ?? host;
  return {
    ...(name !== undefined && toNameOptions(name)),
    ...toContextOptions(tls),
    rejectUnauthorized: isAuthorityNeeded(tls),
  };
}

type TrustSettings = Pick<ClientTls, 'caPem' | 'certPem' | 'keyPem'>;

function toContextOptions({ caPem, certPem, keyPem }: TrustSettings): SecureContextOptions {
  return {
    ...(caPem !== undefined && { ca: caPem }),
    ...(certPem !== undefined && { cert: certPem }),
    ...(keyPem !== undefined && { key: keyPem }),
  };
}

function toHex(fingerprint: string): string {
  return fingerprint.replaceAll(':', '').toLowerCase();
}

/**
 * Contexts of the whole process by their settings. A fleet mostly shares one authority, which a context for each of a
 * thousand routers would hold a thousand times. Unused contexts are garbage collected, with their keys.
 */
const contexts = new Map<string, WeakRef<SecureContext>>();

/**
 * Returns the context of these trust settings, shared by all callers with the same settings. `groups` are the key exchanges to offer, best
 * first; absent = those of the TLS library. Throws what the TLS library throws for an invalid certificate or key.
 */
export function openSecureContext({ caPem, certPem, keyPem }: TrustSettings, groups?: string): SecureContext {
  const parts = [caPem, certPem, keyPem, groups].map((part) => part ?? null);
  const key = createHash('sha256').update(JSON.stringify(parts)).digest('base64');
  const known = contexts.get(key)?.deref();
  if (known) return known;
  for (const [other, context] of contexts) {
    if (!context.deref()) contexts.delete(other);
  }
  const context = createSecureContext({
    ...toContextOptions({ caPem, certPem, keyPem }),
    ...(groups !== undefined && { ecdhCurve: groups }),
  });
  contexts.set(key, new WeakRef(context));
  return context;
}
