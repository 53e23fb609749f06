import { resolve } from 'node:path';
import { AGENT_FAMILIES } from '../agent/index.ts';
import { Secret } from '../base/index.ts';
import { type LoadedConfig, type LoadOptions, loadConfig, readEnvironment } from '../config/index.ts';
import { SHIPPED_RULES } from '../logs/index.ts';
import { renderFault } from '../settings/index.ts';
import { SHIPPED_MODULES_FOLDER } from '../status/index.ts';
import { describeOpenLifecycle } from '../web/index.ts';
import { type CommandIo, EXIT, type ExitCode } from './terminal/io.ts';

/** Options of a command for reading the configuration. */
type ReadOptions = Pick<
  LoadOptions,
  'checkedState' | 'secrets' | 'shownRouter' | 'shard' | 'inventory' | 'readsSourceFiles' | 'storagePath' | 'isBeside'
>;

/** Options of commands that work with what the agent has stored. */
export interface ConfigFlags {
  /** Path of the configuration file. */
  readonly configFile: string;
  /** Replaces `storage.path`; relative to the working directory. Default: that of the file. */
  readonly storagePath?: string | undefined;
}

/**
 * Loads a configuration file with the environment of this process and the built-in modules. `storagePath` replaces that of the
 * file; it is relative to the working directory.
 */
export async function readConfig(path: string, options: ReadOptions = {}): Promise<LoadedConfig> {
  return await loadConfig(path, readEnvironment(), {
    ...options,
    storagePath: options.storagePath === undefined ? undefined : resolve(options.storagePath),
    shippedModules: SHIPPED_MODULES_FOLDER,
    agentFamilies: AGENT_FAMILIES,
    shippedRules: SHIPPED_RULES,
  });
}

/** Writes the faults of a configuration to stderr. Returns the exit code of the command, which cannot go on without it. */
export function refuseConfig({ faults }: LoadedConfig & { readonly ok: false }, io: CommandIo): ExitCode {
  for (const fault of faults) io.stderr.write(`${renderFault(fault)}\n`);
  return EXIT.usage;
}

/** Finds all secrets in settings, at any depth. */
export function findSecrets(settings: unknown): readonly Secret[] {
  if (settings instanceof Secret) return [settings];
  return typeof settings === 'object' && settings !== null ? Object.values(settings).flatMap(findSecrets) : [];
}

/** Adds the warning of an agent that is started with `--web.enable-lifecycle` and open to everybody. */
export function warnOfLifecycle(loaded: LoadedConfig, file: string, isLifecycleEnabled: boolean): LoadedConfig {
  const message = loaded.ok && isLifecycleEnabled ? describeOpenLifecycle(loaded.config.web) : undefined;
  if (!loaded.ok || message === undefined) return loaded;
  return { ...loaded, warnings: [...(loaded.warnings ?? []), { file, line: 1, column: 1, keyPath: '', message }] };
}
