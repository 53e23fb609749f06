import { AGENT_FAMILIES } from '../agent/index.ts';
import { Secret } from '../base/index.ts';
import { type LoadedConfig, type LoadOptions, loadConfig, readEnvironment } from '../config/index.ts';
import { SHIPPED_RULES } from '../logs/index.ts';
import { SHIPPED_MODULES_FOLDER } from '../status/index.ts';

/** What a command needs beside the configuration itself. */
export type ReadOptions = Pick<
  LoadOptions,
  'checkedState' | 'secrets' | 'shownRouter' | 'shard' | 'inventory' | 'storagePath'
>;

/** Loads a configuration file with the environment of this process and the built-in modules. */
export function readConfig(path: string, options: ReadOptions = {}): Promise<LoadedConfig> {
  return loadConfig(path, readEnvironment(), {
    ...options,
    shippedModules: SHIPPED_MODULES_FOLDER,
    agentFamilies: AGENT_FAMILIES,
    shippedRules: SHIPPED_RULES,
  });
}

/** Finds all secrets in settings, at any depth. */
export function findSecrets(settings: unknown): readonly Secret[] {
  if (settings instanceof Secret) return [settings];
  return typeof settings === 'object' && settings !== null ? Object.values(settings).flatMap(findSecrets) : [];
}
