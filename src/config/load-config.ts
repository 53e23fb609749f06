import { join, resolve } from 'node:path';
import { readBackup } from '../backup/index.ts';
import { renderErrorChain } from '../base/index.ts';
import { readCluster } from '../cluster/index.ts';
import { offerLists, readSources, SourceKeeper, type SourceOutcome } from '../inventory/index.ts';
import { type LogRuleSettings, resolveRedact } from '../logs/index.ts';
import {
  CONFIG_FILE_BYTES_MAX,
  type ConfigFault,
  type ConfigFile,
  ConfigFiles,
  checkSettings,
  type Environment,
  orDefaults,
  type RootExpected,
  readDigest,
  readPatternFiles,
  readTextFile,
  SecretKeeper,
  YamlThread,
} from '../settings/index.ts';
import { readSinks } from '../sinks/index.ts';
import {
  type AgentFamily,
  ModuleRegistry,
  readFirmwareVersions,
  readListedModules,
  readShippedModules,
} from '../status/index.ts';
import { AnswerFiles, deadLettersSchema, storageSchema } from '../store/index.ts';
import { readWeb } from '../web/index.ts';
import { checkCluster, checkSources, checkState, checkUnique, toNamed, warnOfFolder, warnOfUnused } from './checks.ts';
import type { Config } from './config.ts';
import { fillProxies } from './environment-proxy.ts';
import type { PlacedRouter } from './layers.ts';
import { LogRuleList } from './log-rule-list.ts';
import { readMainOrigin } from './origins.ts';
import { resolveSources } from './remote-routers.ts';
import { resolveRouters } from './resolve-routers.ts';
import { type ListedRouter, routerListSchema } from './router-schema.ts';
import { AT_LEAST_ONE_ROUTER, configSchema, type Settings } from './schema.ts';
import { type Shard, selectShare } from './shards.ts';

/** Files whose changes trigger a reload. */
export interface WatchedFiles {
  /** Absolute paths and globs of router files, and paths of the web server's files. */
  readonly patterns: readonly string[];
  /** Digest of each file, by absolute path. */
  readonly digests: ReadonlyMap<string, string>;
}

/** Adds files, with their current content, to those whose changes trigger a reload. */
export async function watchAlso({ patterns, digests }: WatchedFiles, paths: readonly string[]): Promise<WatchedFiles> {
  const added = await Promise.all(
    paths.map(async (path) => [path, await readDigest(path, CONFIG_FILE_BYTES_MAX)] as const),
  );
  return { patterns: [...patterns, ...paths], digests: new Map([...digests, ...added]) };
}

/**
 * A valid configuration, or all faults, file by file in the order of lines. `watched` is empty if the main file cannot
 * be read.
 */
export type LoadedConfig =
  | {
      readonly ok: true;
      readonly config: Config;
      readonly watched: WatchedFiles;
      /**
       * Configuration file and files of modules and firmware versions: a reload reads them, but their changes do not trigger one. Default: none.
       */
      readonly reread?: WatchedFiles;
      readonly warnings?: readonly ConfigFault[];
      readonly sources?: readonly SourceOutcome[] | undefined;
    }
  | { readonly ok: false; readonly faults: readonly ConfigFault[]; readonly watched: WatchedFiles };

type CheckedState = 'written' | 'any';

/** Shipped modules, rules and families that a configuration may use. */
export interface LoadOptions {
  /** Folder of the shipped modules. Default: there are none, and the default set is empty. */
  readonly shippedModules?: URL | string | undefined;
  /** Metrics that the agent itself exposes about routers; modules must not use their names. */
  readonly agentFamilies?: readonly AgentFamily[] | undefined;
  /** Rules that `default` in `log_rules` stands for. Default: none. Their metrics are not among `agentFamilies`. */
  readonly shippedRules?: readonly LogRuleSettings[] | undefined;
  /**
   * Reports a state folder that cannot be used: one that the file or `storagePath` names (`written`), or also the
   * default (`any`). Default: not checked, because most commands do not use it.
   */
  readonly checkedState?: CheckedState | undefined;
  /** Keeps the answers of router sources. Default: the answers that an agent stored. */
  readonly inventory?: SourceKeeper | undefined;
  /** True to read source files now and warn of unusable ones. Default: use stored answers. */
  readonly readsSourceFiles?: boolean | undefined;
  /** Absolute path of the state folder, instead of the configured one. */
  readonly storagePath?: string | undefined;
  /** Reads secrets and keeps them up to date. Default: read once. */
  readonly secrets?: SecretKeeper | undefined;
  /** True while an agent runs: long files are parsed in a thread. Default: false. */
  readonly whileAgentRuns?: boolean | undefined;
  /** Process of a fleet; only its routers are loaded. Default: all routers. */
  readonly shard?: Shard | undefined;
}

/** Returns a copy of the environment of this process. */
export function readEnvironment(): Environment {
  return { ...process.env };
}

const MAIN_ROOT: RootExpected = {
  kind: 'map',
  expected: 'a map of keys such as "routers:"',
  ifEmpty: 'write at least "routers:" with one router',
  schema: configSchema,
  isMain: true,
};

/**
 * Reads and checks the configuration file and all files that it refers to, with `${NAME}` replaced from `env`. Relative
 * paths in a file start at its folder. Never rejects.
 */
export async function loadConfig(path: string, env: Environment, options: LoadOptions = {}): Promise<LoadedConfig> {
  const { secrets = new SecretKeeper({ env }), whileAgentRuns = false } = options;
  const surroundings = { secrets, credentialsFolder: env['CREDENTIALS_DIRECTORY'] };
  await using files = new ConfigFiles(surroundings, whileAgentRuns ? new YamlThread() : undefined);
  const { main, digest } = await openMain(path, files);
  const settings = main ? ((await checkSettings(main, env, configSchema)) ?? {}) : undefined;
  if (!main || !settings) return { ok: false, faults: files.faults, watched: { patterns: [], digests: new Map() } };
  await checkUnique(toNamed(settings.sinks ?? [], main, 'sinks'), 'sinks');
  await checkUnique(toNamed(settings.router_sources ?? [], main, 'router_sources'), 'router_sources');
  const routers = await readListedRouters(main, settings, env, files);
  const { config, ownFiles, sources } = await resolveConfig(main, settings, routers, env, files, options);
  const { faults } = files;
  const watched = await watchAlso(routers.watched, config.web.watched ?? []);
  if (faults.length > 0) return { ok: false, faults, watched };
  const reread = {
    patterns: [resolve(path), ...ownFiles.flatMap(({ patterns }) => patterns)],
    digests: new Map([[resolve(path), digest], ...ownFiles.flatMap(({ digests }) => [...digests])]),
  };
  return { ok: true, config, watched, reread, warnings: files.warnings, sources };
}

async function openMain(path: string, files: ConfigFiles): Promise<{ main?: ConfigFile | undefined; digest: string }> {
  const file = await readTextFile(path, CONFIG_FILE_BYTES_MAX);
  if (file.ok) return { main: await files.parse(path, path, file, MAIN_ROOT), digest: file.digest };
  files.refuse(path, `The configuration file ${file.reason}. Use --config.file to name another`);
  return { digest: '' };
}

/** In the state folder: the last good answers of sources. */
const ANSWERS_FOLDER = 'inventory';
const ANSWER_BYTES_MAX = CONFIG_FILE_BYTES_MAX + 64 * 1024;

interface Resolution {
  readonly config: Config;
  /** Files of modules and of firmware versions. */
  readonly ownFiles: readonly WatchedFiles[];
  readonly sources: readonly SourceOutcome[];
}

async function resolveConfig(
  main: ConfigFile,
  settings: Settings,
  { routers }: ListedRouters,
  env: Environment,
  files: ConfigFiles,
  options: LoadOptions,
): Promise<Resolution> {
  await checkUnique(routers, 'routers');
  const shipped = options.shippedModules === undefined ? [] : await readShippedModules(options.shippedModules, files);
  const own = await readListedModules(main, settings, env, files);
  const registry = new ModuleRegistry(shipped, own.modules, options.agentFamilies);
  const rules = new LogRuleList(main, settings.log_rules, {
    shipped: options.shippedRules ?? [],
    moduleFamilies: registry.families,
    agentFamilies: options.agentFamilies ?? [],
  });
  const firmware = await readFirmwareVersions(main, settings.firmware_version_files ?? [], env, files);
  const storage = orDefaults(storageSchema, settings.storage);
  storage.path = options.storagePath ?? resolve(main.folder, storage.path);
  await checkState(main, storage.path, options);
  await warnOfFolder(main, ['storage', 'path'], storage.path);
  const web = await readWeb(main, settings.web, files);
  const local = await resolveRouters(main, settings, routers, { registry, rules });
  checkSources(main, settings);
  const sources = await readSources(main, settings.router_sources ?? []);
  const sinks = await readSinks(main, settings.sinks ?? []);
  const variables = Object.assign(
    options.storagePath === undefined ? {} : { 'storage.path': '--storage.path' },
    fillProxies(sources, toNamed(settings.router_sources ?? [], main, 'router_sources'), env),
    fillProxies(sinks, toNamed(settings.sinks ?? [], main, 'sinks'), env),
  );
  const keeper = options.inventory ?? new SourceKeeper();
  const unread = new Map<string, string>();
  if (options.readsSourceFiles === true) {
    const inFiles = sources.filter(({ type }) => type === 'file_sd');
    const onFailure = (source: string, cause: unknown) => unread.set(source, renderErrorChain(cause));
    await offerLists(inFiles, keeper, new AbortController().signal, onFailure);
  }
  const remote = await resolveSources(sources, new Set(routers.map(({ name }) => name ?? '')), {
    main,
    resolver: local.resolver,
    keeper,
    files: new AnswerFiles(join(storage.path, ANSWERS_FOLDER), ANSWER_BYTES_MAX),
    whileAgentRuns: options.whileAgentRuns === true,
  });
  if (!options.inventory) warnOfUnused(main, remote.outcomes, unread, storage.path);
  const all = [...local.routers, ...remote.routers];
  const resolved = all.map(({ settings: one }) => one);
  const cluster = await readCluster(main, settings.cluster);
  const hasCluster = settings.cluster?.nats !== undefined;
  if (hasCluster) checkCluster(main, settings, options.shard);
  else if (settings.cluster)
    main.faults.warn(['cluster'], 'The section is empty: this process is no member of a cluster');
  const share = hasCluster || !options.shard ? undefined : await selectShare(resolved, options.shard, web, main);
  const kept = share?.routers ?? resolved;
  const isKept = new Set(kept);
  const backup = readBackup(main, settings.backup);
  if (backup) await warnOfFolder(main, ['backup', 'path'], backup.path);
  const config = {
    web,
    storage,
    schedule: settings.schedule ?? {},
    routers: kept,
    modules: registry.modules.map(({ definition }) => definition),
    firmware_versions: firmware.versions,
    shards: share?.shards,
    cluster,
    connections: settings.connections ?? {},
    router_sources: sources,
    backup,
    sinks,
    dead_letters: orDefaults(deadLettersSchema, settings.dead_letters),
    log_rules: rules.rules,
    redact: resolveRedact(main, settings.redact),
    origins: {
      main: [readMainOrigin(main, variables)],
      routers: new Map(all.flatMap(({ settings: one, origins }) => (isKept.has(one) ? [[one.name, origins]] : []))),
    },
  };
  return { config, ownFiles: [own.read, firmware.read], sources: remote.outcomes };
}

/** One for each site or customer. Each is checked every few seconds. */
export const ROUTER_FILES_MAX = 1000;
/** All router files together: four configuration files. */
export const ROUTER_FILES_BYTES_MAX = 64 * 1024 ** 2;

const LIST_ROOT: RootExpected = {
  kind: 'list',
  expected: 'a list of routers such as "- name: plant-7" with "url: https://192.0.2.10" below',
  ifEmpty: 'write "[]" where there is no router',
  itemKey: 'name',
  schema: routerListSchema,
};

interface ListedRouters {
  readonly routers: readonly PlacedRouter[];
  readonly watched: { readonly patterns: readonly string[]; readonly digests: ReadonlyMap<string, string> };
}

async function readListedRouters(
  main: ConfigFile,
  settings: Settings,
  env: Environment,
  files: ConfigFiles,
): Promise<ListedRouters> {
  checkPresence(main, settings);
  const bounds = { filesMax: ROUTER_FILES_MAX, bytesMax: ROUTER_FILES_BYTES_MAX };
  const matched = await readPatternFiles(main, 'router_files', settings.router_files ?? [], bounds);
  const routers: PlacedRouter[] = [];
  const place = (listed: readonly ListedRouter[], file: ConfigFile, path: readonly string[]) => {
    for (const [index, layer] of listed.entries()) {
      routers.push({ file, path: [...path, index], name: layer.name, layer });
    }
  };
  place(settings.routers ?? [], main, ['routers']);
  for (const matchedFile of matched.files) {
    const file = await files.parse(matchedFile.name, matchedFile.path, matchedFile, LIST_ROOT);
    if (!file) continue;
    place((await checkSettings(file, env, routerListSchema)) ?? [], file, []);
  }
  if (routers.length === 0) warnOfAbsence(main, settings);
  return { routers, watched: { patterns: matched.patterns, digests: matched.digests } };
}

/** Sources may add routers later, so they suppress the warning. */
function warnOfAbsence(main: ConfigFile, { router_sources: sources = [] }: Settings): void {
  if (sources.length > 0 || main.source.valueAt(['router_files']) === undefined) return;
  const message = 'There is no router to poll: neither "routers" nor a file of "router_files" lists one';
  main.faults.warn(['router_files'], message);
}

function checkPresence(main: ConfigFile, { routers, router_files: patterns, router_sources: sources }: Settings): void {
  if ((sources?.length ?? 0) > 0 || main.faults.touches(['router_sources'])) return;
  if ((routers?.length ?? 0) > 0 || (patterns?.length ?? 0) > 0) return;
  const [key] = ['routers', 'router_files'].filter((it) => main.source.valueAt([it]) !== undefined);
  // An invalid value was left out, and may have contained routers.
  if (main.faults.touches(['routers']) || main.faults.touches(['router_files'])) return;
  const isEmpty = key !== undefined && Array.isArray(main.source.valueAt([key]));
  if (isEmpty)
    main.faults.add([key], `Expected ${AT_LEAST_ONE_ROUTER}, "router_files" or "router_sources"; found an empty list`);
  else main.faults.add(['routers'], `Missing key; expected ${AT_LEAST_ONE_ROUTER}, "router_files" or "router_sources"`);
}
