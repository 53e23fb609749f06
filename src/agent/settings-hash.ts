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
  if (value instanceof Secret) return { secret: value.reveal() };
  if (Array.isArray(value)) return value.map(toPlain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toPlain(item)]));
}
