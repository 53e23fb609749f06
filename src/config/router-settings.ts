import { isIP } from 'node:net';
import { Secret, Steps } from '../base/index.ts';
import { logsSchema } from '../logs/index.ts';
import { type ConfigFile, findSecretForm, isWritten, orDefaults, type Place, renderPlace } from '../settings/index.ts';
import { type ModuleRegistry, resolvePoll } from '../status/index.ts';
import type { RouterSettings } from './config.ts';
import { type FilledLayer, Inheritance, type LayerStack, type ReadLayer, toLayerPath } from './layers.ts';
import type { PlacedRouter } from './listed-routers.ts';
import type { LogRuleList } from './log-rule-list.ts';
import { type Layer, type ListedRouter, routerKeysSchema } from './router-schema.ts';
import type { Settings } from './schema.ts';

/** The checks and lists that all routers share. */
interface FleetContext {
  readonly registry: ModuleRegistry;
  readonly rules: LogRuleList;
}

/** Keeps equal settings of routers, which mostly come from `defaults`, once for all of them: texts, numbers and lists, told by their JSON. */
class EqualSettings<T> {
  readonly #known = new Map<string, T>();

  share(settings: T): T {
    const key = JSON.stringify(settings);
    const known = this.#known.get(key) ?? settings;
    this.#known.set(key, known);
    return known;
  }
}

/** One router with all layers resolved. */
export interface ResolvedRouter {
  readonly settings: RouterSettings;
  /** Its layers, the nearest first. */
  readonly layers: readonly ReadLayer[];
  /** Position of groups outside of its layers. Absent: none. */
  readonly groupsAt?: Place | undefined;
}

/** Merges routers over what they inherit, and checks the outcome. */
export class RouterResolver {
  readonly #inheritance: Inheritance;
  readonly #context: FleetContext;
  readonly #polls = new EqualSettings<RouterSettings['poll']>();
  readonly #logs = new EqualSettings<RouterSettings['logs']>();
  readonly #metrics = new EqualSettings<RouterSettings['metrics']>();

  constructor(inheritance: Inheritance, context: FleetContext) {
    this.#inheritance = inheritance;
    this.#context = context;
  }

  /** Merges a router over its groups and `defaults`. `undefined`, with its faults, when something required is missing. */
  resolve(router: ListedRouter, layer: ReadLayer): ResolvedRouter | undefined {
    const stack = this.#inheritance.merge(layer, router.groups ?? []);
    const settings = resolveRouter(router, layer, stack, this.#context);
    if (!settings) return undefined;
    const poll = this.#polls.share(settings.poll);
    const logs = this.#logs.share(settings.logs);
    const metrics = this.#metrics.share(settings.metrics);
    return { settings: { ...settings, poll, logs, metrics }, layers: stack.layers };
  }
}

/** The routers of the files, and what resolves others in the same way. */
interface ResolvedRouters {
  readonly routers: readonly ResolvedRouter[];
  readonly resolver: RouterResolver;
}

/**
 * Merges every router over its groups and `defaults`, and checks the outcome. An incomplete router has its fault and is left
 * out.
 */
export async function resolveRouters(
  main: ConfigFile,
  settings: Settings,
  listed: readonly PlacedRouter[],
  context: FleetContext,
): Promise<ResolvedRouters> {
  const steps = new Steps();
  for (const router of listed) {
    refuseIdleTls(router);
    if (steps.isDue) await steps.next();
  }
  const { inheritance, routers: own } = await Inheritance.read(main, settings, listed);
  // Perhaps no router inherits them.
  for (const layer of inheritance.inherited) if (layer.layer.modules !== undefined) context.registry.select(layer);
  for (const { file, path, layer } of [...inheritance.inherited, ...own]) {
    if (layer.metrics) context.registry.checkFilter(layer.metrics, { file, path: [...path, 'metrics'] });
    if (steps.isDue) await steps.next();
  }
  for (const credentials of inheritance.credentials) checkCredentials(credentials);
  const resolver = new RouterResolver(inheritance, context);
  const routers: ResolvedRouter[] = [];
  for (const [index, { layer: router }] of listed.entries()) {
    const layer = own[index];
    const one = layer && resolver.resolve(router, layer);
    if (one) routers.push(one);
    if (steps.isDue) await steps.next();
  }
  await warnOfSameDevices(routers);
  return { routers, resolver };
}

/** Warns of a router with the URL of an earlier one, reached the same way: the device would be polled twice. */
async function warnOfSameDevices(routers: readonly ResolvedRouter[]): Promise<void> {
  const first = new Map<string, { readonly name: string; readonly place: ReadLayer }>();
  const steps = new Steps();
  for (const { settings, layers } of routers) {
    if (steps.isDue) await steps.next();
    const [place] = layers;
    // The address of a device that was replaced may belong to its successor.
    if (!place || settings.state === 'retired') continue;
    const { name, url, proxy, source_address: sourceAddress } = settings;
    const device = JSON.stringify([url, proxy?.url, sourceAddress]);
    const earlier = first.get(device);
    if (!earlier) first.set(device, { name, place });
    else {
      const where = renderPlace(earlier.place, place.file);
      const message = `The router "${earlier.name}" ${where} has the same URL, so the device is polled twice and its logs are read twice`;
      place.file.faults.warn([...place.path, 'url'], message);
    }
  }
}

/** Rejects a named set of credentials that lacks a part. */
function checkCredentials(credentials: ReadLayer): void {
  const { file, path, layer } = credentials;
  if (file.faults.covers([...path, 'auth'])) return;
  requireAccount(layer.auth ?? 'token', [credentials], credentials, '');
}

function needsPassword(auth: RouterSettings['auth']): boolean {
  return auth === 'token' || auth === 'basic';
}

/** Rejects an account of which no layer has what its kind of authentication needs. The fault is at `place`; `places` ends its message. */
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

/** Checks what the layers of a router became together. `undefined` when something that is required is missing. */
function resolveRouter(
  router: ListedRouter,
  own: ReadLayer,
  { merged, layers }: LayerStack,
  context: FleetContext,
): RouterSettings | undefined {
  const { poll, conflicts } = resolvePoll(merged.poll);
  const { auth, timezone, byte_budget } = orDefaults(routerKeysSchema, merged as Layer);
  for (const { keys: pair, message } of conflicts) {
    // A time that is faulty itself was replaced by its default, which proves nothing.
    const isProven = !pair.some((key) => layers.some(({ file, path }) => file.faults.covers([...path, 'poll', key])));
    const place = isProven ? findPollKey(pair, layers) : undefined;
    place?.file.faults.add(place.path, message);
  }

  // A set of credentials replaces the account of the layers below it as a whole.
  const account = layers.slice(0, layers.findIndex(({ replaces }) => replaces === 'credentials') + 1 || layers.length);
  // An invalid value may have been meant as "none"; a layer that is not a map already has its fault.
  const isAuthKnown = !layers.some(({ file, path }) => file.faults.covers([...path, 'auth']));
  if (isAuthKnown && !own.file.faults.covers(own.path)) requireAccount(auth, account, own, ', here or in "defaults"');
  const nobody = needsPassword(auth) ? undefined : { username: '', password: new Secret('') };
  // A password replaces that of the layers below in any form.
  const password = merged.password ?? nobody?.password;
  const username = merged.username ?? nobody?.username;
  const bearer_token = auth === 'bearer' ? merged.bearer_token : undefined;
  refuseSecondAuthorization(auth, account);
  refuseOtherFamily(router, merged, own);
  checkClientCertificate(merged, layers);
  const modules = context.registry.select(layers.find(({ layer }) => layer.modules !== undefined));
  const labels = Object.fromEntries(Object.entries(merged.labels ?? {}).filter(([, value]) => value !== ''));
  checkLabels(Object.keys(labels), modules, layers, context);
  const { name, url } = router;
  const isAccountWhole = username !== undefined && password && (auth !== 'bearer' || bearer_token);
  if (name === undefined || url === undefined || !isAccountWhole) {
    if (layers.every(({ file }) => file.faults.size === 0)) own.file.faults.add(own.path, 'The router is incomplete');
    return undefined;
  }
  const { headers = {}, proxy, source_address, state, state_until } = merged;
  return {
    name,
    url,
    groups: router.groups ?? [],
    auth,
    username,
    password,
    ...(bearer_token && { bearer_token }),
    ...(Object.keys(headers).length > 0 && { headers }),
    // Without faults it has a URL.
    ...(proxy && proxy !== 'none' && { proxy: proxy as NonNullable<RouterSettings['proxy']> }),
    ...(source_address !== undefined && { source_address }),
    tls: merged.tls ?? {},
    timezone,
    labels,
    poll,
    logs: orDefaults(logsSchema, merged.logs),
    modules: context.registry.filter(modules, merged.metrics ?? {}),
    metrics: merged.metrics ?? {},
    ...(state !== undefined && { state, state_until }),
    byte_budget,
  };
}

/** Rejects `tls` of a router that is asked without TLS. That of the layers below is for other routers. */
function refuseIdleTls({ file, path, layer }: PlacedRouter): void {
  if (layer.url?.startsWith('http:') !== true) return;
  for (const key of ['tls', 'tls_set']) {
    if (!isWritten({ file, path }, key)) continue;
    const message = `"${key}" has no effect here, because "url" begins with http://; write https://, or remove "${key}"`;
    file.faults.add([...path, key], message, { aim: 'key' });
  }
}

/** Rejects a header `Authorization` beside another authentication. */
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

/** Rejects an own address from which the address in the URL, or that of the proxy, cannot be reached. */
function refuseOtherFamily({ url }: ListedRouter, { source_address: source, proxy }: FilledLayer, own: Place): void {
  const target = (proxy !== 'none' && proxy?.url) || url;
  if (source === undefined || target === undefined) return;
  const host = new URL(target.replace(/^socks5:/, 'http:')).hostname.replaceAll(/^\[|\]$/g, '');
  if (isIP(host) === 0 || isIP(host) === isIP(source)) return;
  const message = `No connection can come from the IPv${isIP(source)} address ${source} to the IPv${isIP(host)} address ${host}`;
  own.file.faults.add([...own.path, isWritten(own, 'source_address') ? 'source_address' : 'url'], message);
}

/** Rejects a client certificate without its key, and a key without its certificate. */
function checkClientCertificate(merged: FilledLayer, layers: readonly ReadLayer[]): void {
  const { cert_file: cert, key_file: key } = merged.tls ?? {};
  if ((cert === undefined) === (key === undefined)) return;
  const [present, missing] =
    cert === undefined ? (['key_file', 'cert_file'] as const) : (['cert_file', 'key_file'] as const);
  const place = layers.find(
    (one) => one.layer.tls?.[present] !== undefined && !one.file.faults.covers(toLayerPath(one, ['tls', missing])),
  );
  place?.file.faults.add(toLayerPath(place, ['tls', present]), `"${present}" needs "${missing}" beside it`);
}

/** Rejects a router label that its modules, the agent or a log rule put on the same series. */
function checkLabels(
  labels: readonly string[],
  modules: RouterSettings['modules'],
  layers: readonly ReadLayer[],
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

/** Returns the position of the first of `keys` that is set, in the nearest layer. */
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
