import { Secret } from '../base/index.ts';

/** All secrets that settings hold, however deep. */
export function findSecrets(settings: unknown): readonly Secret[] {
  if (settings instanceof Secret) return [settings];
  return typeof settings === 'object' && settings !== null ? Object.values(settings).flatMap(findSecrets) : [];
}
