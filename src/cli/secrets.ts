import { Secret } from '../base/index.ts';

/** Finds all secrets in settings, at any depth. */
export function findSecrets(settings: unknown): readonly Secret[] {
  if (settings instanceof Secret) return [settings];
  return typeof settings === 'object' && settings !== null ? Object.values(settings).flatMap(findSecrets) : [];
}
