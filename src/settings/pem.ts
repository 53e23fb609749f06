import { createPrivateKey, X509Certificate } from 'node:crypto';

const BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g;

/**
 * Parses a bundle of certificates. Returns the certificates alone, as PEM, so that comments and keys which stand in the
 * same file are not kept; `undefined` when there is none or when one of them is damaged.
 */
export function parseCertificates(text: string): string | undefined {
  const blocks = text.match(BLOCK) ?? [];
  // A block that is cut off does not match the pattern, and must not be left out in silence.
  if (blocks.length === 0 || blocks.length !== text.split('-----BEGIN CERTIFICATE-----').length - 1) return undefined;
  if (!blocks.every(isCertificate)) return undefined;
  return blocks.map((block) => `${block}\n`).join('');
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    return false;
  }
}

/** Whether a text is a private key as PEM that can be used as it is. */
export function isPrivateKey(text: string): boolean {
  try {
    return createPrivateKey(text).type === 'private';
  } catch {
    return false;
  }
}
