import { createHash } from 'node:crypto';
import { Secret } from '../base/index.ts';

/** A text that is equal for equal settings, secrets included, and tells none of them. */
export function renderSettingsHash(settings: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(toPlain(settings)))
    .digest('base64');
}

/** A copy in which secrets are what they hold; it never leaves the digest. */
function toPlain(value: unknown): unknown {
  if (value instanceof Secret) return { secret: value.reveal() };
  if (Array.isArray(value)) return value.map(toPlain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toPlain(item)]));
}
