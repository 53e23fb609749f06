import { Secret } from '../base/index.ts';

/** A copy with `[secret]` for secrets, and without what is `undefined`. */
export function blankSecrets(value: unknown): unknown {
  if (value instanceof Secret) return value.toString();
  if (Array.isArray(value)) return value.map(blankSecrets);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, blankSecrets(item)]));
}
