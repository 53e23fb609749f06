import type { Config } from '../config/index.ts';
import { renderSettingsHash } from './settings-hash.ts';

/** Lists the keys that differ and that a reload cannot apply. */
export function listRestartKeys(before: Config, next: Config): readonly string[] {
  // Secrets in it have a hash of their own.
  const isSameCluster = (a: unknown, b: unknown) => renderSettingsHash({ of: a }) === renderSettingsHash({ of: b });
  const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  return [
    ...(isSame(before.web.listen, next.web.listen) ? [] : ['web.listen']),
    ...(isSame(before.storage, next.storage) ? [] : ['storage']),
    ...(isSameCluster(before.cluster, next.cluster) ? [] : ['cluster']),
    ...(isSame(before.deadLetters, next.deadLetters) ? [] : ['dead_letters']),
  ];
}
