import { dirname, resolve } from 'node:path';
import { checkSettings } from './check-settings.ts';
import type { Config } from './config.ts';
import {
  CONFIG_FILE_BYTES_MAX,
  LISTEN_PORT_DEFAULT,
  SPOOL_BYTES_MAX_DEFAULT,
  STORAGE_PATH_DEFAULT,
} from './defaults.ts';
import { type Environment, fillIn } from './environment.ts';
import type { ConfigFault, KeyPath } from './fault.ts';
import { FaultList } from './fault-list.ts';
import { type PlacedLayer, readNamedFiles } from './named-files.ts';
import { parseSource } from './parse-source.ts';
import { checkPassword, resolveRouter } from './router-settings.ts';
import type { Settings } from './schema.ts';
import type { ConfigSource } from './source.ts';
import { readTextFile } from './text-file.ts';

/** A configuration to run with, or everything that is wrong with the file in the order of its lines. */
export type LoadedConfig =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] };

/**
 * Reads and checks the configuration file at `path` and every file that it names, with `${NAME}` filled in from `env`.
 * Never rejects. Relative paths inside the file start at its folder.
 */
export async function loadConfig(path: string, env: Environment): Promise<LoadedConfig> {
  const file = await readTextFile(path, CONFIG_FILE_BYTES_MAX);
  if (!file.ok) {
    const message = `The configuration file ${file.reason}`;
    return { ok: false, faults: [{ file: path, line: 1, column: 1, keyPath: '', message }] };
  }
  const { source, faults: parseFaults } = parseSource(path, file.text);
  if (!source) return { ok: false, faults: parseFaults };

  const faults = new FaultList(path, source, parseFaults);
  const settings = checkSettings(fillIn(source.value, env, faults), source, faults);
  checkUnique(settings.routers ?? [], 'routers', source, faults);
  checkUnique(settings.sinks ?? [], 'sinks', source, faults);
  const config = await resolveConfig(settings, dirname(resolve(path)), source, faults);
  return faults.size === 0 ? { ok: true, config } : { ok: false, faults: faults.toSorted() };
}

async function resolveConfig(
  settings: Settings,
  folder: string,
  source: ConfigSource,
  faults: FaultList,
): Promise<Config> {
  const listed = settings.routers ?? [];
  const layers: PlacedLayer[] = [
    { path: ['defaults'], layer: settings.defaults ?? {} },
    ...listed.map((layer, index) => ({ path: ['routers', index], layer })),
  ];
  for (const layer of layers) checkPassword(layer, source, faults);
  const files = await readNamedFiles(layers, folder, source, faults);
  const [defaults, ...own] = layers.map((layer, index) => ({ ...layer, files: files[index] ?? {} }));
  const routers = listed.flatMap((router, index) => {
    const layer = own[index];
    if (!layer || !defaults) return [];
    return resolveRouter(router, layer, defaults, source, faults) ?? [];
  });
  return {
    web: {
      listen: settings.web?.listen ?? [{ host: undefined, port: LISTEN_PORT_DEFAULT }],
    },
    storage: {
      path: resolve(folder, settings.storage?.path ?? STORAGE_PATH_DEFAULT),
      spoolBytesMax: settings.storage?.spool_max ?? SPOOL_BYTES_MAX_DEFAULT,
    },
    routers,
    sinks: (settings.sinks ?? []).flatMap(({ name, type }) => (name && type ? [{ name, type }] : [])),
  };
}

/** Refuses a name that an earlier item of the list has, at the later one. */
function checkUnique(
  items: readonly { name?: string | undefined }[],
  list: 'routers' | 'sinks',
  source: ConfigSource,
  faults: FaultList,
): void {
  const first = new Map<string, KeyPath>();
  for (const [index, { name }] of items.entries()) {
    if (name === undefined) continue;
    const path = [list, index, 'name'];
    const earlier = first.get(name);
    if (earlier) {
      const { line } = source.locate(earlier, 'value');
      faults.add(
        path,
        `The name "${name}" is already taken on line ${line}; each of the ${list} needs a name of its own`,
      );
    } else first.set(name, path);
  }
}
