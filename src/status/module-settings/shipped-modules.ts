import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ConfigFault, RootExpected } from '../../settings/index.ts';
import {
  CONFIG_FILE_BYTES_MAX,
  ConfigFiles,
  checkSettings,
  describeFailure,
  readTextFile,
} from '../../settings/index.ts';
import type { ListedModule, ModuleDefinition } from './module-definition.ts';
import { ModuleRegistry } from './module-registry.ts';
import { modulesSchema, shippedModuleSchema } from './module-schema.ts';

/** Folder of the shipped modules: one YAML file each, named after the module. In a package it is beside the bundle. */
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

/** A module of the product. */
interface ShippedModule {
  readonly definition: ModuleDefinition;
  /** True if it is part of `default`. */
  readonly isDefault: boolean;
}

/** The shipped modules in the order of their names, or everything that is wrong with their files. */
export type LoadedModules =
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
    // Nothing of the environment belongs into what is shipped.
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
