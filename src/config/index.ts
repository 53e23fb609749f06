/**
 * config: configuration file and environment in, checked settings out.
 *
 * Owns: the schema with its descriptions and defaults, positions of faults, the environment, reading the files that the
 * configuration names, secrets until a room asks for them.
 * Does not own: command line flags (cli), what a setting does (the room that receives it as a plain option).
 * Start reading at: schema.ts for the keys, load-config.ts for the steps.
 */
export type {
  Config,
  LogSettings,
  PollSettings,
  RouterSettings,
} from './config.ts';
export { readEnvironment } from './environment.ts';
export { renderJsonSchema } from './json-schema.ts';
export { type LoadedConfig, type LoadOptions, loadConfig, type WatchedFiles } from './load-config.ts';
export { renderConfigReference } from './reference.ts';
export { renderEffectiveConfig, renderEffectiveRouter } from './render-effective.ts';
export { type WatchOptions, watchRouterFiles } from './watch-files.ts';
