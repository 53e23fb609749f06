import type { Config } from '../config/index.ts';
import { areSameSettings } from '../settings/index.ts';

/** Lists the keys that differ and that a reload cannot apply. */
export function listRestartKeys(before: Config, next: Config): readonly string[] {
  return [
    ...(areSameSettings(before.web.listen, next.web.listen) ? [] : ['web.listen']),
    ...(areSameSettings(before.storage, next.storage) ? [] : ['storage']),
    ...(areSameSettings(before.cluster, next.cluster) ? [] : ['cluster']),
    ...(areSameSettings(before.dead_letters, next.dead_letters) ? [] : ['dead_letters']),
  ];
}
