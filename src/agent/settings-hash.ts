import { createHash } from 'node:crypto';
import { Secret } from '../base/index.ts';

/** Returns a digest of settings, secrets included: equal settings have equal digests. */
export function renderSettingsHash(settings: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(toPlain(settings)))
    .digest('base64');
}

/** Copies a value with secrets in clear text, for the digest only. */
function toPlain(value: unknown): unknown {
  // One that can be read again is the same secret, whatever its value is now.
  if (value instanceof Secret) return value.source ? { source: value.source.id } : { secret: value.reveal() };
  if (value instanceof Map || value instanceof Set) return [...value].map(toPlain);
  if (Array.isArray(value)) return value.map(toPlain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toPlain(item)]));
}
