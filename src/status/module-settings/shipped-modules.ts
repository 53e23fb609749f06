import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  CONFIG_FILE_BYTES_MAX,
  type ConfigFault,
  type ConfigFile,
  ConfigFiles,
  checkSettings,
  describeFailure,
  type Environment,
  type MatchedFiles,
  type RootExpected,
  readPatternFiles,
  readTextFile,
} from '../../settings/index.ts';
import { MODULES_MAX } from './grammar.ts';
import { ModuleRegistry } from './module-registry.ts';
import {
  type ListedModule,
  type ModuleDefinition,
  type ModuleSettings,
  modulesSchema,
  shippedModuleSchema,
} from './module-schema.ts';

/** Limit of all module files together; useful modules are far smaller. */
const MODULE_FILES_BYTES_MAX = 16 * 1024 ** 2;

const MODULES_ROOT: RootExpected = {
  kind: 'map',
  expected: 'a map of modules such as "modem:" with "resources:" below',
  ifEmpty: 'write "{}" where there is no module',
  schema: modulesSchema,
};

interface ModuleKeys {
  readonly modules?: Readonly<Record<string, ModuleSettings>> | undefined;
  readonly module_files?: readonly string[] | undefined;
}

/** The user's modules and their files. */
interface ListedModules {
  readonly modules: readonly ListedModule[];
  /** Paths and globs of their files, and the digest of each file. */
  readonly read: Pick<MatchedFiles, 'patterns' | 'digests'>;
}

/** Lists the user's modules: those of the main file, then those of each file in `module_files`. */
export async function readListedModules(
  main: ConfigFile,
  settings: ModuleKeys,
  env: Environment,
  files: ConfigFiles,
): Promise<ListedModules> {
  const bounds = { filesMax: MODULES_MAX, bytesMax: MODULE_FILES_BYTES_MAX };
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

/** Folder of the shipped modules: one YAML file each, named after the module. In a package it is next to the bundle. */
export const SHIPPED_MODULES_FOLDER = new URL(
  import.meta.url.endsWith('.ts') ? '../modules/' : './modules/',
  import.meta.url,
);

const EXTENSION = '.yaml';

const MODULE_ROOT: RootExpected = {
  kind: 'map',
  expected: 'a map of the keys of a module such as "resources:"',
  ifEmpty: 'write the keys of a module, such as "resources:"',
  schema: shippedModuleSchema,
};

interface ShippedModule {
  readonly definition: ModuleDefinition;
  /** True if it is part of `default`. */
  readonly isDefault: boolean;
}

type LoadedModules =
  | { readonly ok: true; readonly modules: readonly ShippedModule[] }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] };

/** Reads and checks the shipped modules alone: each `NAME.yaml` in `folder` is the module `NAME`. Never rejects. */
export async function loadShippedModules(folder: URL | string): Promise<LoadedModules> {
  await using files = new ConfigFiles();
  const { modules } = new ModuleRegistry(await readShippedModules(folder, files), []);
  const { faults } = files;
  return faults.length === 0 ? { ok: true, modules } : { ok: false, faults };
}

/** Reads the files of shipped modules in the order of their names. */
export async function readShippedModules(folder: URL | string, files: ConfigFiles): Promise<ListedModule[]> {
  const path = folder instanceof URL ? fileURLToPath(folder) : folder;
  const listed: ListedModule[] = [];
  for (const fileName of await listFiles(path, files)) {
    const filePath = join(path, fileName);
    const text = await readTextFile(filePath, CONFIG_FILE_BYTES_MAX);
    if (!text.ok) {
      files.refuse(filePath, `The file of a shipped module ${text.reason}`);
      continue;
    }
    const file = files.parseOwn(filePath, filePath, text.text, MODULE_ROOT);
    if (!file) continue;
    // Shipped modules must not depend on the environment.
    const settings = (await checkSettings(file, undefined, shippedModuleSchema)) ?? {};
    const name = basename(fileName, EXTENSION);
    if (!modulesSchema.keyType.safeParse(name).success) {
      file.faults.add([], `The name of the file is the name of the module, and "${name}" cannot be one`);
    }
    listed.push({ name, settings, place: { file, path: [] }, isShipped: true });
  }
  return listed;
}

async function listFiles(folder: string, files: ConfigFiles): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith(EXTENSION)).toSorted();
  } catch (cause) {
    files.refuse(folder, `The folder of the shipped modules ${describeFailure(cause)}`);
    return [];
  }
}
