import { Secret, Steps } from '../base/index.ts';
import { resolveLogs } from '../logs/index.ts';
import {
  type ConfigFile,
  type ConfigFiles,
  checkSettings,
  type Environment,
  findSecretForm,
  isWritten,
  NamedFileReader,
  orDefaults,
  type Place,
  type RootExpected,
  readPatternFiles,
  refuseSecretForms,
  type TlsFiles,
  toTlsSettings,
} from '../settings/index.ts';
import { type ModuleRegistry, resolvePoll } from '../status/index.ts';
import type { Config, RouterSettings } from './config.ts';
import type { LogRuleList } from './log-rule-list.ts';
import { type Layer, type ListedRouter, routerKeysSchema, routerListSchema } from './router-schema.ts';
import { AT_LEAST_ONE_ROUTER, type Settings } from './schema.ts';

/** Maximum number of files of routers: one for each site or customer. Each is checked every few seconds. */
export const ROUTER_FILES_MAX = 1000;
/** Maximum size of all files of routers together: four configuration files. */
export const ROUTER_FILES_BYTES_MAX = 64 * 1024 ** 2;

const LIST_ROOT: RootExpected = {
  kind: 'list',
  expected: 'a list of routers such as "- name: plant-7" with "url: https://192.0.2.10" below',
  ifEmpty: 'write "[]" where there is no router',
  schema: routerListSchema,
};

/** The valid keys of `defaults` or of one router, and their position. */
export interface PlacedLayer extends Place {
  readonly layer: Layer;
}

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
  const routers = toPlaced(settings.routers ?? [], main, ['routers']);
  for (const matchedFile of matched.files) {
    const file = await files.parse(matchedFile.name, matchedFile.path, matchedFile, LIST_ROOT);
    if (!file) continue;
    const listed = (await checkSettings(file, env, routerListSchema)) ?? [];
    // Not spread into one call: a list may be longer than the arguments that a call can have.
    for (const router of toPlaced(listed, file, [])) routers.push(router);
  }
  return { routers, watched: { patterns: matched.patterns, digests: matched.digests } };
}

/** Rejects a configuration without routers and without `router_files`. */
function checkPresence(main: ConfigFile, { routers, router_files: patterns }: Settings): void {
  if ((routers?.length ?? 0) > 0 || (patterns?.length ?? 0) > 0) return;
  const [key] = ['routers', 'router_files'].filter((it) => main.source.valueAt([it]) !== undefined);
  // A faulty value has been left out, and may have contained routers.
  if (main.faults.touches(['routers']) || main.faults.touches(['router_files'])) return;
  const isEmpty = key !== undefined && Array.isArray(main.source.valueAt([key]));
  if (isEmpty) main.faults.add([key], `Expected ${AT_LEAST_ONE_ROUTER}, or "router_files"; found an empty list`);
  else main.faults.add(['routers'], `Missing key; expected ${AT_LEAST_ONE_ROUTER}, or "router_files"`);
}

function toPlaced(routers: readonly ListedRouter[], file: ConfigFile, path: readonly string[]): PlacedRouter[] {
  return routers.map((layer, index) => ({ file, path: [...path, index], name: layer.name, layer }));
}

/** Enough to hide the latency of a network share, far below the limit of open files. */
const FILE_READS_MAX = 16;

/** Content of the files that a layer refers to, and its password, whatever its form. */
interface LayerFiles extends TlsFiles {
  readonly password?: Secret | undefined;
}

/** Reads every file that the layers refer to, each once, a few at a time. An unreadable file is a fault at its key. */
async function readNamedFiles(layers: readonly PlacedLayer[]): Promise<LayerFiles[]> {
  const reader = new NamedFileReader();
  const files: LayerFiles[] = layers.map(() => ({}));
  const queue = layers.entries();
  const steps = new Steps();
  const work = async () => {
    for (const [index, { file, path, layer }] of queue) {
      files[index] = {
        ...(await reader.readTls({ file, path: [...path, 'tls'] }, layer.tls ?? {})),
        password: await reader.readSecret({ file, path }, 'password', layer),
      };
      if (steps.isDue) await steps.next();
    }
  };
  await Promise.all(Array.from({ length: FILE_READS_MAX }, work));
  return files;
}

/** `defaults` or one router, with the content of its files. */
interface ReadLayer extends PlacedLayer {
  readonly files: LayerFiles;
}

/** The checks and lists that all routers share. */
interface FleetContext {
  readonly registry: ModuleRegistry;
  readonly rules: LogRuleList;
}

/** Merges every router over `defaults`, and checks the outcome. An incomplete router has its fault and is left out. */
export async function resolveRouters(
  main: ConfigFile,
  settings: Settings,
  routers: readonly PlacedRouter[],
  context: FleetContext,
): Promise<Config['routers']> {
  const layers: PlacedLayer[] = [{ file: main, path: ['defaults'], layer: settings.defaults ?? {} }, ...routers];
  const steps = new Steps();
  for (const layer of layers) {
    refuseSecretForms(layer, 'password');
    if (steps.isDue) await steps.next();
  }
  for (const router of routers) refuseIdleTls(router);
  const contents = await readNamedFiles(layers);
  const [defaults, ...own] = layers.map((layer, index) => ({ ...layer, files: contents[index] ?? {} }));
  // Perhaps no router inherits them.
  if (settings.defaults?.modules !== undefined) context.registry.select(defaults);
  const resolved: RouterSettings[] = [];
  for (const [index, { layer: router }] of routers.entries()) {
    const layer = own[index];
    const one = layer && defaults && resolveRouter(router, layer, defaults, context);
    if (one) resolved.push(one);
    if (steps.isDue) await steps.next();
  }
  return resolved;
}

/** Merges a router over `defaults` and checks the outcome. `undefined` when something that is required is missing. */
function resolveRouter(
  router: ListedRouter,
  own: ReadLayer,
  defaults: ReadLayer,
  context: FleetContext,
): RouterSettings | undefined {
  const layers = [own, defaults];
  const merged = mergeLayers(defaults.layer, router);
  const { poll, conflicts } = resolvePoll(merged.poll);
  const keys = orDefaults(routerKeysSchema, merged);
  for (const { keys: pair, message } of conflicts) {
    // A time that is faulty itself was replaced by its default, which proves nothing.
    const isProven = !pair.some((key) => layers.some(({ file, path }) => file.faults.covers([...path, 'poll', key])));
    const place = isProven ? findPollKey(pair, layers) : undefined;
    place?.file.faults.add(place.path, message);
  }

  // A layer that is not a map already has its fault.
  const isSet = (isIn: (layer: Place) => boolean) => own.file.faults.covers(own.path) || layers.some(isIn);
  // An invalid value may have been meant as "none".
  const isAuthKnown = !layers.some(({ file, path }) => file.faults.covers([...path, 'auth']));
  const needsAccount = keys.auth !== 'none';
  if (needsAccount && isAuthKnown && !isSet((layer) => isWritten(layer, 'username'))) {
    const message = 'Missing key; expected the account to log in with, here or in "defaults"';
    own.file.faults.add([...own.path, 'username'], message);
  }
  if (needsAccount && isAuthKnown && !isSet((layer) => findSecretForm(layer, 'password') !== undefined)) {
    const message = 'Missing key; expected either "password" or "password_file", here or in "defaults"';
    own.file.faults.add([...own.path, 'password'], message);
  }
  // A router's own password replaces that of `defaults` in either form.
  const nobody = needsAccount ? undefined : { username: '', password: new Secret('') };
  const password = own.files.password ?? defaults.files.password ?? nobody?.password;
  const username = merged.username ?? nobody?.username;
  checkClientCertificate(merged, layers);
  const modules = context.registry.select(layers.find(({ layer }) => layer.modules !== undefined));
  const labels = Object.fromEntries(Object.entries(merged.labels ?? {}).filter(([, value]) => value !== ''));
  checkLabels(Object.keys(labels), modules, layers, context);
  const { name, url } = router;
  if (name === undefined || url === undefined || username === undefined || !password) return undefined;
  return {
    name,
    url,
    username,
    password,
    auth: keys.auth,
    tls: toTlsSettings(merged.tls ?? {}, {
      caPem: own.files.caPem ?? defaults.files.caPem,
      certPem: own.files.certPem ?? defaults.files.certPem,
      keyPem: own.files.keyPem ?? defaults.files.keyPem,
    }),
    timezone: keys.timezone,
    labels,
    poll,
    logs: resolveLogs(merged.logs),
    modules,
    byteBudget: keys.byte_budget.perDay,
    byteBudgetStatusShare: keys.byte_budget.statusShare,
  };
}

/** Rejects `tls` of a router that is asked without TLS. That of `defaults` is for the other routers. */
function refuseIdleTls({ file, path, layer }: PlacedRouter): void {
  if (layer.url?.startsWith('http:') !== true || !isWritten({ file, path }, 'tls')) return;
  const message = '"tls" has no effect here, because "url" begins with http://; write https://, or remove "tls"';
  file.faults.add([...path, 'tls'], message, { aim: 'key' });
}

/** Rejects a client certificate without its key, and a key without its certificate. */
function checkClientCertificate(merged: Layer, layers: readonly PlacedLayer[]): void {
  const { cert_file: cert, key_file: key } = merged.tls ?? {};
  if ((cert === undefined) === (key === undefined)) return;
  const [present, missing] =
    cert === undefined ? (['key_file', 'cert_file'] as const) : (['cert_file', 'key_file'] as const);
  const place = layers.find(
    ({ file, path, layer }) => layer.tls?.[present] !== undefined && !file.faults.covers([...path, 'tls', missing]),
  );
  place?.file.faults.add([...place.path, 'tls', present], `"${present}" needs "${missing}" beside it`);
}

/** Rejects a router label that its modules, the agent or a log rule put on the same series. */
function checkLabels(
  labels: readonly string[],
  modules: RouterSettings['modules'],
  layers: readonly PlacedLayer[],
  { registry, rules }: FleetContext,
): void {
  for (const label of labels) {
    const place = layers.find(({ layer }) => Object.hasOwn(layer.labels ?? {}, label));
    if (!place) continue;
    const owner = registry.findLabelOwner(label, modules, place.file) ?? rules.findLabelOwner(label, place.file);
    if (owner === undefined) continue;
    const message = `The label "${label}" is also a label of ${owner}; choose another name`;
    place.file.faults.add([...place.path, 'labels', label], message, { aim: 'key' });
  }
}

function mergeLayers(defaults: Layer, own: Layer): Layer {
  return {
    ...defaults,
    ...own,
    tls: { ...defaults.tls, ...own.tls },
    labels: { ...defaults.labels, ...own.labels },
    poll: { ...defaults.poll, ...own.poll },
    logs: { ...defaults.logs, ...own.logs },
  };
}

/** Returns the position of the first of `keys` that is set, in the router or else in `defaults`. */
function findPollKey(
  keys: readonly (keyof NonNullable<Layer['poll']>)[],
  layers: readonly PlacedLayer[],
): Place | undefined {
  for (const { file, path, layer } of layers) {
    const key = keys.find((candidate) => layer.poll?.[candidate] !== undefined);
    if (key !== undefined) return { file, path: [...path, 'poll', key] };
  }
  return undefined;
}
