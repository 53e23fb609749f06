import type { ConfigFile, ConfigFiles, Environment, MatchedFiles, RootExpected } from '../../settings/index.ts';
import { checkSettings, readPatternFiles } from '../../settings/index.ts';
import { MODULE_FILES_BYTES_MAX, MODULE_FILES_MAX } from './bounds.ts';
import type { ListedModule } from './module-definition.ts';
import { type ModuleSettings, modulesSchema } from './module-schema.ts';

const MODULES_ROOT: RootExpected = {
  kind: 'map',
  expected: 'a map of modules such as "modem:" with "resources:" below',
  ifEmpty: 'write "{}" where there is no module',
  schema: modulesSchema,
};

/** Keys of the main file that name modules. */
interface ModuleKeys {
  readonly modules?: Readonly<Record<string, ModuleSettings>> | undefined;
  readonly module_files?: readonly string[] | undefined;
}

/** The user's modules, and the files that they came from. */
export interface ListedModules {
  readonly modules: readonly ListedModule[];
  /** Paths and globs of their files, and the digest of each file. */
  readonly read: Pick<MatchedFiles, 'patterns' | 'digests'>;
}

/** Lists the user's modules: those of the main file, then those of each file that `module_files` leads to. */
export async function readListedModules(
  main: ConfigFile,
  settings: ModuleKeys,
  env: Environment,
  files: ConfigFiles,
): Promise<ListedModules> {
  const bounds = { filesMax: MODULE_FILES_MAX, bytesMax: MODULE_FILES_BYTES_MAX };
  const matched = await readPatternFiles(main, 'module_files', settings.module_files ?? [], bounds);
  const modules = place(settings.modules ?? {}, main, ['modules']);
  for (const matchedFile of matched.files) {
    const file = await files.parse(matchedFile.name, matchedFile.path, matchedFile, MODULES_ROOT);
    if (file) modules.push(...place((await checkSettings(file, env, modulesSchema)) ?? {}, file, []));
  }
  return { modules, read: { patterns: matched.patterns, digests: matched.digests } };
}

function place(
  modules: Readonly<Record<string, ModuleSettings>>,
  file: ConfigFile,
  path: readonly string[],
): ListedModule[] {
  return Object.entries(modules).map(([name, settings]) => ({
    name,
    settings,
    place: { file, path: [...path, name] },
    isShipped: false,
  }));
}
