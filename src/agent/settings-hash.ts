import { createHash } from 'node:crypto';
import { toComparable } from '../settings/index.ts';

/** Returns a digest of settings, secrets included: equal settings have equal digests. */
export function renderSettingsHash(settings: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(toComparable(settings)))
    .digest('base64');
}
