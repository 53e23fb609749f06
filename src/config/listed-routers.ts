import { Steps } from '../base/index.ts';
import {
  type ConfigFile,
  type ConfigFiles,
  checkSettings,
  type Environment,
  type RootExpected,
  readPatternFiles,
} from '../settings/index.ts';
import type { PlacedLayer } from './layers.ts';
import { type ListedRouter, routerListSchema } from './router-schema.ts';
import { AT_LEAST_ONE_ROUTER, type Settings } from './schema.ts';

/** Maximum number of files of routers: one for each site or customer. Each is checked every few seconds. */
export const ROUTER_FILES_MAX = 1000;
/** Maximum size of all files of routers together: four configuration files. */
export const ROUTER_FILES_BYTES_MAX = 64 * 1024 ** 2;

const LIST_ROOT: RootExpected = {
  kind: 'list',
  expected: 'a list of routers such as "- name: plant-7" with "url: https://192.0.2.10" below',
  ifEmpty: 'write "[]" where there is no router',
  itemKey: 'name',
  schema: routerListSchema,
};

/** A router of the main file or of a file of routers. */
export interface PlacedRouter extends PlacedLayer {
  readonly name: string | undefined;
  readonly layer: ListedRouter;
}

/** Configured routers, and the files that are watched for changes. */
export interface ListedRouters {
  readonly routers: readonly PlacedRouter[];
  /** The files of routers, for the watch. */
  readonly watched: { readonly patterns: readonly string[]; readonly digests: ReadonlyMap<string, string> };
}

/** Lists the routers of the main file, then those of each file that `router_files` matches. */
export async function readListedRouters(
  main: ConfigFile,
  settings: Settings,
  env: Environment,
  files: ConfigFiles,
): Promise<ListedRouters> {
  checkPresence(main, settings);
  const bounds = { filesMax: ROUTER_FILES_MAX, bytesMax: ROUTER_FILES_BYTES_MAX };
  const matched = await readPatternFiles(main, 'router_files', settings.router_files ?? [], bounds);
  const steps = new Steps();
  const routers: PlacedRouter[] = [];
  const place = async (listed: readonly ListedRouter[], file: ConfigFile, path: readonly string[]) => {
    for (const [index, layer] of listed.entries()) {
      routers.push({ file, path: [...path, index], name: layer.name, layer });
      if (steps.isDue) await steps.next();
    }
  };
  await place(settings.routers ?? [], main, ['routers']);
  for (const matchedFile of matched.files) {
    const file = await files.parse(matchedFile.name, matchedFile.path, matchedFile, LIST_ROOT);
    if (!file) continue;
    await place((await checkSettings(file, env, routerListSchema)) ?? [], file, []);
  }
  if (routers.length === 0) warnOfAbsence(main, settings);
  return { routers, watched: { patterns: matched.patterns, digests: matched.digests } };
}

/** Warns of files without a router, where nothing else brings any. */
function warnOfAbsence(main: ConfigFile, { router_sources: sources = [] }: Settings): void {
  if (sources.length > 0 || main.source.valueAt(['router_files']) === undefined) return;
  const message = 'There is no router to poll: neither "routers" nor a file of "router_files" lists one';
  main.faults.warn(['router_files'], message);
}

/** Rejects a configuration without routers and without `router_files`. */
function checkPresence(main: ConfigFile, { routers, router_files: patterns, router_sources: sources }: Settings): void {
  if ((sources?.length ?? 0) > 0 || main.faults.touches(['router_sources'])) return;
  if ((routers?.length ?? 0) > 0 || (patterns?.length ?? 0) > 0) return;
  const [key] = ['routers', 'router_files'].filter((it) => main.source.valueAt([it]) !== undefined);
  // A faulty value has been left out, and may have contained routers.
  if (main.faults.touches(['routers']) || main.faults.touches(['router_files'])) return;
  const isEmpty = key !== undefined && Array.isArray(main.source.valueAt([key]));
  if (isEmpty) main.faults.add([key], `Expected ${AT_LEAST_ONE_ROUTER}, or "router_files"; found an empty list`);
  else main.faults.add(['routers'], `Missing key; expected ${AT_LEAST_ONE_ROUTER}, or "router_files"`);
}
