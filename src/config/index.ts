/**
 * config: configuration file and environment in, checked settings out.
 *
 * Owns: the list of files, the environment, merging of routers over `defaults`, checks across modules (names that several of them use), the
 * JSON Schema, and the running configuration as text.
 * Does not own: kinds of values and faults (settings), the settings of a module (it has their schema), command line flags (cli).
 * Start reading at: schema.ts for the keys, load-config.ts for the steps.
 */

export { listChangedKeys } from './changed-keys.ts';
export { listRequestSecrets, toClientOptions } from './client-options.ts';
export { type Config, type RouterSettings, toLifecycleWish } from './config.ts';
export { renderJsonSchema } from './json-schema.ts';
export {
  type LoadedConfig,
  type LoadOptions,
  loadConfig,
  readEnvironment,
  type WatchedFiles,
  watchAlso,
} from './load-config.ts';
export { renderEffectiveConfig, renderEffectiveRouter } from './render-effective.ts';
export { findRouterFaults } from './router-faults.ts';
export { findShard, type Shard } from './shards.ts';
export { type WatchOptions, watchRouterFiles } from './watch-files.ts';
