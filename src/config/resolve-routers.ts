import { isIP } from 'node:net';
import { forEachYielding, Secret } from '../base/index.ts';
import { routerTlsSchema } from '../client/index.ts';
import { logsSchema } from '../logs/index.ts';
import { type ConfigFile, findSecretForm, isWritten, orDefaults, type Place, renderPlace } from '../settings/index.ts';
import { type ModuleRegistry, resolvePoll } from '../status/index.ts';
import type { RouterSettings } from './config.ts';
import {
  type FilledLayer,
  Inheritance,
  type LayerStack,
  type PlacedRouter,
  type ReadLayer,
  toLayerPath,
} from './layers.ts';
import type { LogRuleList } from './log-rule-list.ts';
import type { LayerOrigin } from './origins.ts';
import { type Layer, type ListedRouter, routerKeysSchema } from './router-schema.ts';
import type { Settings } from './schema.ts';

interface FleetContext {
  readonly registry: ModuleRegistry;
  readonly rules: LogRuleList;
}

/** Shares equal settings between routers to save memory. They must be plain JSON. */
class EqualSettings<T> {
  readonly #known = new Map<string, T>();

  share(settings: T): T {
    const key = JSON.stringify(settings);
    const known = this.#known.get(key) ?? settings;
    this.#known.set(key, known);
    return known;
  }
}

export interface ResolvedRouter {
  readonly settings: RouterSettings;
  readonly origins: readonly LayerOrigin[];
}

export class RouterResolver {
  readonly #inheritance: Inheritance;
  readonly #context: FleetContext;
  readonly #polls = new EqualSettings<RouterSettings['poll']>();
  readonly #logs = new EqualSettings<RouterSettings['logs']>();
  readonly #metrics = new EqualSettings<RouterSettings['metrics']>();
  readonly #expected = new EqualSettings<RouterSettings['expect']>();

  constructor(inheritance: Inheritance, context: FleetContext) {
    this.#inheritance = inheritance;
    this.#context = context;
  }

  resolve(router: ListedRouter, layer: ReadLayer): ResolvedRouter | undefined {
    const stack = this.#inheritance.merge(layer, router.groups ?? []);
    const settings = resolveRouter(router, layer, stack, this.#context);
    if (!settings) return undefined;
    const poll = this.#polls.share(settings.poll);
    const logs = this.#logs.share(settings.logs);
    const metrics = this.#metrics.share(settings.metrics);
    const expect = this.#expected.share(settings.expect);
    return {
      settings: { ...settings, poll, logs, metrics, expect },
      origins: stack.layers.map(({ origin }) => origin),
    };
  }
}

interface ResolvedRouters {
  readonly routers: readonly ResolvedRouter[];
  readonly resolver: RouterResolver;
}

export async function resolveRouters(
  main: ConfigFile,
  settings: Settings,
  listed: readonly PlacedRouter[],
  context: FleetContext,
): Promise<ResolvedRouters> {
  await forEachYielding(listed, refuseTlsOfHttp);
  const { inheritance, routers: own } = await Inheritance.read(main, settings, listed);
  for (const layer of inheritance.inherited) if (layer.layer.modules !== undefined) context.registry.select(layer);
  await forEachYielding([...inheritance.inherited, ...own], ({ file, path, layer }) => {
    if (layer.metrics) context.registry.checkFilter(layer.metrics, { file, path: [...path, 'metrics'] });
  });
  for (const credentials of inheritance.credentials) checkCredentials(credentials);
  const resolver = new RouterResolver(inheritance, context);
  const routers: ResolvedRouter[] = [];
  const devices = new Map<string, NamedPlace>();
  await forEachYielding(listed.entries(), ([index, { layer: router }]) => {
    const layer = own[index];
    const one = layer && resolver.resolve(router, layer);
    if (!one) return;
    routers.push(one);
    warnOfSameDevice(one.settings, layer, devices);
  });
  return { routers, resolver };
}

interface NamedPlace {
  readonly name: string;
  readonly place: Place;
}

function warnOfSameDevice(settings: RouterSettings, place: Place, devices: Map<string, NamedPlace>): void {
  const { name, url, proxy, source_address: sourceAddress, state } = settings;
  // A replacement device may have the address of a retired one.
  if (state === 'retired') return;
  const device = JSON.stringify([url, proxy?.url, sourceAddress]);
  const earlier = devices.get(device);
  if (!earlier) devices.set(device, { name, place });
  else {
    const where = renderPlace(earlier.place, place.file);
    const message = `The router "${earlier.name}" ${where} has the same URL, so the device is polled twice and its logs are read twice`;
    place.file.faults.warn([...place.path, 'url'], message);
  }
}

function checkCredentials(credentials: ReadLayer): void {
  const { file, path, layer } = credentials;
  if (file.faults.covers([...path, 'auth'])) return;
  requireAccount(layer.auth ?? 'token', [credentials], credentials, '');
}

function needsPassword(auth: RouterSettings['auth']): boolean {
  return auth === 'token' || auth === 'basic';
}

function requireAccount(auth: RouterSettings['auth'], layers: readonly Place[], place: Place, places: string): void {
  const demand = (key: string, isIn: (layer: Place) => boolean, expected: string) => {
    if (layers.some(isIn)) return;
    place.file.faults.add([...place.path, key], `Missing key; expected ${expected}${places}`);
  };
  const demandSecret = (key: string) =>
    demand(key, (layer) => findSecretForm(layer, key) !== undefined, `either "${key}" or "${key}_file"`);
  if (auth === 'bearer') demandSecret('bearer_token');
  if (!needsPassword(auth)) return;
  demand('username', (layer) => isWritten(layer, 'username'), 'the account to log in with');
  demandSecret('password');
}

function resolveRouter(
  router: ListedRouter,
  own: ReadLayer,
  { merged, layers }: LayerStack,
  context: FleetContext,
): RouterSettings | undefined {
  const { poll, conflicts } = resolvePoll(merged.poll);
  const { auth, timezone, byte_budget, data_plans } = orDefaults(routerKeysSchema, merged as Layer);
  for (const { keys: pair, message } of conflicts) {
    // An invalid time was replaced by its default; a conflict with the default is not reported.
    const isProven = !pair.some((key) => layers.some(({ file, path }) => file.faults.covers([...path, 'poll', key])));
    const place = isProven ? findPollKey(pair, layers) : undefined;
    place?.file.faults.add(place.path, message);
  }

  // A set of credentials replaces the account of the layers below as a whole.
  const account = layers.slice(0, layers.findIndex(({ replaces }) => replaces === 'credentials') + 1 || layers.length);
  // An invalid value may have been meant as "none"; a layer that is not a map already has its fault.
  const isAuthKnown = !layers.some(({ file, path }) => file.faults.covers([...path, 'auth']));
  if (isAuthKnown && !own.file.faults.covers(own.path)) requireAccount(auth, account, own, ', here or in "defaults"');
  const noAccount = needsPassword(auth) ? undefined : { username: '', password: new Secret('') };
  // A password replaces that of the layers below in any form.
  const password = merged.password ?? noAccount?.password;
  const username = merged.username ?? noAccount?.username;
  const bearer_token = auth === 'bearer' ? merged.bearer_token : undefined;
  refuseSecondAuthorization(auth, account);
  refuseOtherFamily(router, merged, own);
  checkClientCertificate(merged, layers);
  const modules = context.registry.select(layers.find(({ layer }) => layer.modules !== undefined));
  refuseUnreadKeys(merged, modules, layers);
  const labels = Object.fromEntries(Object.entries(merged.labels ?? {}).filter(([, value]) => value !== ''));
  checkLabels(Object.keys(labels), { modules, data_plans }, layers, context);
  const { name, url } = router;
  const isAccountWhole = username !== undefined && password && (auth !== 'bearer' || bearer_token);
  if (name === undefined || url === undefined || !isAccountWhole) {
    if (layers.every(({ file }) => file.faults.size === 0)) own.file.faults.add(own.path, 'The router is incomplete');
    return undefined;
  }
  const { headers = {}, proxy, source_address, state, state_until, notify_token } = merged;
  return {
    name,
    url,
    groups: router.groups ?? [],
    auth,
    username,
    password,
    ...(bearer_token && { bearer_token }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(proxy && proxy !== 'none' && { proxy: proxy as NonNullable<RouterSettings['proxy']> }),
    ...(notify_token && { notify_token }),
    ...(source_address !== undefined && { source_address }),
    tls: { ...orDefaults(routerTlsSchema, {}), ...merged.tls } as RouterSettings['tls'],
    timezone,
    labels,
    poll,
    logs: orDefaults(logsSchema, merged.logs),
    modules: context.registry.filter(modules, merged.metrics ?? {}),
    metrics: merged.metrics ?? {},
    expect: (merged.expect ?? []) as RouterSettings['expect'],
    ...(state !== undefined && { state, state_until }),
    byte_budget,
    data_plans,
  };
}

/** Only `tls` of its own is an error; that of the layers below is for other routers. */
function refuseTlsOfHttp({ file, path, layer }: PlacedRouter): void {
  if (layer.url?.startsWith('http:') !== true) return;
  for (const key of ['tls', 'tls_set']) {
    if (!isWritten({ file, path }, key)) continue;
    const message = `"${key}" has no effect here, because "url" begins with http://; write https://, or remove "${key}"`;
    file.faults.add([...path, key], message, { aim: 'key' });
  }
}

function refuseSecondAuthorization(auth: RouterSettings['auth'], layers: readonly ReadLayer[]): void {
  if (auth === 'none') return;
  const place = layers.find(({ layer }) => layer.headers !== undefined);
  const name = Object.keys(place?.layer.headers ?? {}).find((one) => one.toLowerCase() === 'authorization');
  if (!place || name === undefined) return;
  for (const key of ['headers', 'header_files'] as const) {
    if (place.file.source.valueAt([...place.path, key, name]) === undefined) continue;
    const message = `The header "${name}" is already set by "auth: ${auth}"; set "auth: none"`;
    place.file.faults.add([...place.path, key, name], message, { aim: 'key' });
  }
}

function refuseOtherFamily({ url }: ListedRouter, { source_address: source, proxy }: FilledLayer, own: Place): void {
  const target = (proxy !== 'none' && proxy?.url) || url;
  if (source === undefined || target === undefined) return;
  const host = new URL(target.replace(/^socks5:/, 'http:')).hostname.replaceAll(/^\[|\]$/g, '');
  if (isIP(host) === 0 || isIP(host) === isIP(source)) return;
  const message = `No connection can come from the IPv${isIP(source)} address ${source} to the IPv${isIP(host)} address ${host}`;
  own.file.faults.add([...own.path, isWritten(own, 'source_address') ? 'source_address' : 'url'], message);
}

function checkClientCertificate(merged: FilledLayer, layers: readonly ReadLayer[]): void {
  const { cert_file: cert, key_file: key } = merged.tls ?? {};
  if ((cert === undefined) === (key === undefined)) return;
  const [present, missing] =
    cert === undefined ? (['key_file', 'cert_file'] as const) : (['cert_file', 'key_file'] as const);
  const place = layers.find(
    (one) => one.layer.tls?.[present] !== undefined && !one.file.faults.covers(toLayerPath(one, ['tls', missing])),
  );
  place?.file.faults.add(toLayerPath(place, ['tls', present]), `"${present}" requires "${missing}"`);
}

function checkLabels(
  labels: readonly string[],
  { modules, data_plans: plans }: Pick<RouterSettings, 'modules' | 'data_plans'>,
  layers: readonly ReadLayer[],
  { registry, rules }: FleetContext,
): void {
  for (const label of labels) {
    const place = layers.find(({ layer }) => Object.hasOwn(layer.labels ?? {}, label));
    if (!place) continue;
    const plan = label === 'sim' && plans.length > 0 ? '"data_plans"' : undefined;
    const module = registry.findLabelOwner(label, modules, place.file);
    const owner = plan ?? module ?? rules.findLabelOwner(label, place.file);
    if (owner === undefined) continue;
    const message = `The label "${label}" is also a label of ${owner}; choose another name`;
    place.file.faults.add([...place.path, 'labels', label], message, { aim: 'key' });
  }
}

/** Rejects keys whose values no module of the router reads. */
function refuseUnreadKeys(
  { expect = [], data_plans: plans = [] }: FilledLayer,
  modules: RouterSettings['modules'],
  layers: readonly ReadLayer[],
): void {
  const lacks = (module: string) => modules.length > 0 && !modules.some(({ name }) => name === module);
  const refuse = (key: 'expect' | 'data_plans', module: string) => {
    const place = layers.find(({ layer }) => layer[key] !== undefined);
    const message = `"${key}" has no effect, because "modules" of the router lacks "${module}"`;
    place?.file.faults.add([...place.path, key], message, { aim: 'key' });
  };
  if (expect.length > 0 && lacks('compliance')) refuse('expect', 'compliance');
  if (plans.length > 0 && lacks('interfaces')) refuse('data_plans', 'interfaces');
}

function findPollKey(
  keys: readonly (keyof NonNullable<Layer['poll']>)[],
  layers: readonly ReadLayer[],
): Place | undefined {
  for (const { file, path, layer } of layers) {
    const key = keys.find((candidate) => layer.poll?.[candidate] !== undefined);
    if (key !== undefined) return { file, path: [...path, 'poll', key] };
  }
  return undefined;
}
