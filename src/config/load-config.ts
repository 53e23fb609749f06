import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readBackup } from '../backup/index.ts';
import { renderErrorChain, Steps } from '../base/index.ts';
import { readCluster } from '../cluster/index.ts';
import { readSinks } from '../delivery/index.ts';
import { offerLists, readSources, SourceKeeper, type SourceOutcome } from '../inventory/index.ts';
import { type LogRuleSettings, resolveRedact } from '../logs/index.ts';
import {
  CONFIG_FILE_BYTES_MAX,
  type ConfigFault,
  type ConfigFile,
  ConfigFiles,
  checkSettings,
  describeExcessRights,
  type Environment,
  type KeyPath,
  orDefaults,
  type Place,
  type RootExpected,
  readDigest,
  readTextFile,
  renderPlace,
  SecretKeeper,
  YamlThread,
} from '../settings/index.ts';
import { type AgentFamily, ModuleRegistry, readListedModules, readShippedModules } from '../status/index.ts';
import { AnswerFiles, deadLettersSchema, findFolderFault, storageSchema } from '../store/index.ts';
import { readWeb } from '../web/index.ts';
import { checkSources } from './check-sources.ts';
import type { Config } from './config.ts';
import { type ListedRouters, readListedRouters } from './listed-routers.ts';
import { LogRuleList } from './log-rule-list.ts';
import { resolveSources } from './remote-routers.ts';
import { renderResolvedRouter } from './render-effective.ts';
import { type ResolvedRouter, resolveRouters } from './router-settings.ts';
import { configSchema, type Settings } from './schema.ts';
import { type Shard, selectShare } from './shards.ts';

/** Files whose changes trigger a reload, as they were read. */
export interface WatchedFiles {
  /** Absolute paths and globs of files of routers, and paths of the files of the web server. */
  readonly patterns: readonly string[];
  /** Digest of each file, by absolute path. */
  readonly digests: ReadonlyMap<string, string>;
}

/** Adds files to those whose changes trigger a reload, as they are now. */
export async function watchAlso({ patterns, digests }: WatchedFiles, paths: readonly string[]): Promise<WatchedFiles> {
  const added = await Promise.all(
    paths.map(async (path) => [path, await readDigest(path, CONFIG_FILE_BYTES_MAX)] as const),
  );
  return { patterns: [...patterns, ...paths], digests: new Map([...digests, ...added]) };
}

/**
 * A valid configuration, or all faults of its files, file by file in the order of their lines. `watched` is empty when the
 * main file cannot be read.
 */
export type LoadedConfig =
  | {
      readonly ok: true;
      readonly config: Config;
      readonly watched: WatchedFiles;
      /** The configuration file and the files of modules: a reload reads them, and their changes trigger none. Default: none. */
      readonly reread?: WatchedFiles;
      /** Warnings, such as files that others may read. Default: none. */
      readonly warnings?: readonly ConfigFault[];
      /** Settings of the router {@link LoadOptions.shownRouter} with their origins; absent if it is not configured. */
      readonly shown?: string | undefined;
      /** Outcome of each source. Default: none. */
      readonly sources?: readonly SourceOutcome[] | undefined;
    }
  | { readonly ok: false; readonly faults: readonly ConfigFault[]; readonly watched: WatchedFiles };

/** Folders of the state that are checked; see {@link LoadOptions.checkedState}. */
type CheckedState = 'written' | 'any';

/** Shipped modules, rules and families that a configuration may use. */
export interface LoadOptions {
  /** Folder of the modules that are part of the product; without it there are none, and the default set is empty. */
  readonly shippedModules?: URL | string | undefined;
  /** Metrics that the agent itself exposes about routers. No module may have a metric of the same name. */
  readonly agentFamilies?: readonly AgentFamily[] | undefined;
  /** Rules that `default` includes in `log_rules`; none by default. Their metrics are not among `agentFamilies`. */
  readonly shippedRules?: readonly LogRuleSettings[] | undefined;
  /**
   * Folder of the state that is a fault if it cannot be used: the one that the file or `storagePath` names (`written`), or
   * also the default (`any`). Default: not checked, because most commands do not use it.
   */
  readonly checkedState?: CheckedState | undefined;
  /** Name of the router whose settings are rendered with the origin of each. Default: none. */
  readonly shownRouter?: string | undefined;
  /** The answers of the sources of routers. Default: those that an agent has stored. */
  readonly inventory?: SourceKeeper | undefined;
  /** True to read the files of sources as they are now, and to warn of what cannot be used of them. Default: as stored. */
  readonly readsSourceFiles?: boolean | undefined;
  /** Folder of the state, instead of the one that the file names. Absolute. */
  readonly storagePath?: string | undefined;
  /** Reads the secrets, and keeps them up to date. Default: they are read once. */
  readonly secrets?: SecretKeeper | undefined;
  /** True if an agent does its work meanwhile: long files are parsed in a thread. Default: false. */
  readonly isBeside?: boolean | undefined;
  /** The process of a fleet whose routers are wanted. Default: all routers. */
  readonly shard?: Shard | undefined;
}

/** Copies the environment of this process. Nothing else in the program reads it. */
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
 * Reads and checks the configuration file at `path` and every file that it refers to, with `${NAME}` replaced from `env`.
 * Never rejects. Relative paths inside a file start at its folder.
 */
export async function loadConfig(path: string, env: Environment, options: LoadOptions = {}): Promise<LoadedConfig> {
  const { secrets = new SecretKeeper({ env }), isBeside = false } = options;
  const surroundings = { secrets, credentialsFolder: env['CREDENTIALS_DIRECTORY'] };
  await using files = new ConfigFiles(surroundings, isBeside ? new YamlThread() : undefined);
  const { main, digest } = await openMain(path, files);
  const settings = main ? ((await checkSettings(main, env, configSchema)) ?? {}) : undefined;
  if (!main || !settings) return { ok: false, faults: files.faults, watched: { patterns: [], digests: new Map() } };
  await checkUnique(toNamed(settings.sinks ?? [], main, 'sinks'), 'sinks');
  await checkUnique(toNamed(settings.router_sources ?? [], main, 'router_sources'), 'router_sources');
  const routers = await readListedRouters(main, settings, env, files);
  const { config, moduleFiles, shown, sources } = await resolveConfig(main, settings, routers, env, files, options);
  const { faults } = files;
  const watched = await watchAlso(routers.watched, config.web.watched ?? []);
  if (faults.length > 0) return { ok: false, faults, watched };
  const reread = {
    patterns: [resolve(path), ...moduleFiles.patterns],
    digests: new Map([[resolve(path), digest], ...moduleFiles.digests]),
  };
  return { ok: true, config, watched, reread, warnings: files.warnings, shown: shown?.(), sources };
}

async function openMain(path: string, files: ConfigFiles): Promise<{ main?: ConfigFile | undefined; digest: string }> {
  const file = await readTextFile(path, CONFIG_FILE_BYTES_MAX);
  if (file.ok) return { main: await files.parse(path, path, file, MAIN_ROOT), digest: file.digest };
  files.refuse(path, `The configuration file ${file.reason}. Another one is named with --config.file`);
  return { digest: '' };
}

const PERMISSIONS = 0o7777;
/** Folder of the last good answers of sources, in that of the state. */
const ANSWERS_FOLDER = 'inventory';
/** A list, and what is stored about it. */
const ANSWER_BYTES_MAX = CONFIG_FILE_BYTES_MAX + 64 * 1024;

interface Resolution {
  readonly config: Config;
  /** Files of the user's modules. */
  readonly moduleFiles: WatchedFiles;
  /** Renders the settings of a router, which is possible without faults alone. */
  readonly shown: (() => string) | undefined;
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
  const storage = orDefaults(storageSchema, settings.storage);
  storage.path = options.storagePath ?? resolve(main.folder, storage.path);
  await checkState(main, storage.path, options);
  await warnOfFolder(main, ['storage', 'path'], storage.path);
  const web = await readWeb(main, settings.web, files);
  let shown: (() => string) | undefined;
  const show = (resolved: ResolvedRouter) => {
    if (resolved.settings.name === options.shownRouter) shown = () => renderResolvedRouter(resolved);
  };
  const local = await resolveRouters(main, settings, routers, { registry, rules });
  for (const one of local.routers) show(one);
  checkSources(main, settings);
  const sources = await readSources(main, settings.router_sources ?? []);
  const keeper = options.inventory ?? new SourceKeeper();
  const unread = new Map<string, string>();
  if (options.readsSourceFiles === true) {
    const inFiles = sources.filter(({ type }) => type === 'file_sd');
    const note = (source: string, cause: unknown) => unread.set(source, renderErrorChain(cause));
    await offerLists(inFiles, keeper, new AbortController().signal, note);
  }
  const remote = await resolveSources(sources, new Set(routers.map(({ name }) => name ?? '')), {
    main,
    resolver: local.resolver,
    keeper,
    files: new AnswerFiles(join(storage.path, ANSWERS_FOLDER), ANSWER_BYTES_MAX),
    onResolved: show,
    isBeside: options.isBeside === true,
  });
  if (!options.inventory) warnOfUnused(main, remote.outcomes, unread, storage.path);
  const resolved = [...local.routers.map(({ settings: one }) => one), ...remote.routers];
  const cluster = await readCluster(main, settings.cluster);
  const hasCluster = settings.cluster?.nats !== undefined;
  if (hasCluster) checkCluster(main, settings, options.shard);
  else if (settings.cluster)
    main.faults.warn(['cluster'], 'The section is empty: this process is no member of a cluster');
  const share = hasCluster || !options.shard ? undefined : await selectShare(resolved, options.shard, web, main);
  const backup = readBackup(main, settings.backup);
  if (backup) await warnOfFolder(main, ['backup', 'path'], backup.path);
  const config = {
    web,
    storage,
    schedule: settings.schedule ?? {},
    routers: share?.routers ?? resolved,
    modules: registry.modules.map(({ definition }) => definition),
    shards: share?.shards,
    cluster,
    connections: settings.connections ?? {},
    router_sources: sources,
    backup,
    sinks: await readSinks(main, settings.sinks ?? []),
    dead_letters: orDefaults(deadLettersSchema, settings.dead_letters),
    log_rules: rules.rules,
    redact: resolveRedact(main, settings.redact),
  };
  return { config, moduleFiles: own.read, shown, sources: remote.outcomes };
}

/** Rejects what has no meaning in a cluster, or would be lost with a replica. */
function checkCluster(main: ConfigFile, { backup }: Settings, shard: Shard | undefined): void {
  const isWritten = (...path: readonly string[]) => main.source.valueAt(path) !== undefined;
  if (isWritten('web', 'peers')) {
    const message = '"peers" has no effect in a cluster, whose members know each other; remove it, or "cluster"';
    main.faults.add(['web', 'peers'], message, { aim: 'key' });
  }
  if (shard?.total !== undefined || (shard?.index ?? 0) > 0) {
    const message = 'A cluster shares the routers by itself; start it without --shard and --total-shards';
    main.faults.add(['cluster'], message, { aim: 'key' });
  }
  if (isWritten('backup', 'schedule') && backup?.shared !== true) {
    const message =
      'The replicas of a cluster back up to one folder, whichever of them has the router; name one on storage that all of them reach, with "shared: true"';
    main.faults.add(['backup', 'path'], message);
  }
}

/**
 * Warns of sources whose routers are unknown, because no agent has stored them, or has stored them elsewhere, and of lists that cannot
 * be used or read (`unread`, by source).
 */
function warnOfUnused(
  main: ConfigFile,
  outcomes: readonly SourceOutcome[],
  unread: ReadonlyMap<string, string>,
  folder: string,
): void {
  for (const [index, { source, text, unreadable, faulty, held }] of outcomes.entries()) {
    const warn = (message: string) => main.faults.warn(['router_sources', index], message);
    const failure = unread.get(source);
    if (failure !== undefined) warn(`The list of the source "${source}" cannot be read: ${failure}`);
    else if (text === undefined || faulty !== undefined) {
      const reason = unreadable ?? faulty ?? `no list of it is in ${folder}; is this the --storage.path of the agent?`;
      warn(`The routers of the source "${source}" are unknown: ${reason}`);
    }
    if (!held) continue;
    const { missing, of } = held;
    warn(
      `The list of the source "${source}" lacks ${missing} of ${of} routers; the one before stays in use until that is confirmed`,
    );
  }
}

async function checkState(main: ConfigFile, path: string, { checkedState, storagePath }: LoadOptions): Promise<void> {
  const at = ['storage', 'path'];
  // Without the key, the folder often comes from `--storage.path` of the agent.
  const isNamed = storagePath !== undefined || main.source.valueAt(at) !== undefined;
  if (checkedState === undefined || (checkedState === 'written' && !isNamed)) return;
  const fault = await findFolderFault(path);
  if (fault === undefined) return;
  if (storagePath === undefined) main.faults.add(at, fault);
  else main.faults.add([], `--storage.path: ${fault}`);
}

/** Warns of a folder of the agent in which others may put files. */
async function warnOfFolder(main: ConfigFile, at: KeyPath, path: string): Promise<void> {
  const mode = await stat(path).then(
    (found) => found.mode & PERMISSIONS,
    () => 0,
  );
  const excess = await describeExcessRights(path, mode, 'folder');
  if (excess !== undefined) main.faults.warn(at, excess);
}

interface Named extends Place {
  readonly name?: unknown;
}

function toNamed(items: readonly Readonly<Record<string, unknown>>[], file: ConfigFile, list: string): Named[] {
  return items.map(({ name }, index) => ({ file, path: [list, index], name }));
}

/** Rejects a name that an earlier item of the list already has. The fault is at the later item. */
async function checkUnique(items: readonly Named[], list: 'routers' | 'sinks' | 'router_sources'): Promise<void> {
  const first = new Map<string, Place>();
  const steps = new Steps();
  for (const { file, path, name } of items) {
    if (steps.isDue) await steps.next();
    if (typeof name !== 'string') continue;
    const place = { file, path: [...path, 'name'] };
    const earlier = first.get(name);
    if (earlier) {
      const where = renderPlace(earlier, file);
      file.faults.add(
        place.path,
        `The name "${name}" is already taken ${where}; each of the ${list} needs a name of its own`,
      );
    } else first.set(name, place);
  }
}
