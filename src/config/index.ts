/**
 * config: loads the configuration of this program: files and environment in, checked settings out. (`settings` is the vocabulary
 * that the schemas of all modules use; it knows no section of this program.)
 *
 * Owns: the list of files, the environment, merging of routers over groups and `defaults`, checks across modules, the JSON Schema,
 * and the running configuration as text.
 * Does not own: kinds of values and faults (settings), the settings of a module (it has their schema), command line flags (cli).
 * Start reading at: schema.ts for the keys, load-config.ts for the steps.
 *
 *   schema.ts, router-schema.ts     keys of the file, and of one router
 *   config.ts                       Config and RouterSettings, the result
 *   load-config.ts                  reads files in order; watch-files.ts watches them
 *   layers.ts, resolve-routers.ts   merges `defaults`, groups and named sets; checks and resolves each router
 *   remote-routers.ts, shards.ts    routers from sources; the routers of this process
 *   checks.ts, log-rule-list.ts     checks across sections
 *   origins.ts                      SECTIONS, the list of sections; where each key is written
 *   render-effective.ts             the running configuration as text
 */
export {
  type Config,
  listChangedKeys,
  listRequestSecrets,
  type RouterSettings,
  toClientOptions,
  toLifecycleWish,
} from './config.ts';
export {
  type LoadedConfig,
  type LoadOptions,
  loadConfig,
  readEnvironment,
  type WatchedFiles,
  watchAlso,
} from './load-config.ts';
export { SECTIONS } from './origins.ts';
export { renderEffectiveConfig, renderEffectiveRouter } from './render-effective.ts';
export { findRouterFaults } from './router-schema.ts';
export { renderJsonSchema } from './schema.ts';
export { describePortFault, findShard, placeOnHost, type Shard } from './shards.ts';
export { type WatchOptions, watchFiles } from './watch-files.ts';
