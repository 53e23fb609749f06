import { Document, isCollection, isMap, isNode, isPair, isScalar, stringify, visit } from 'yaml';
import { findSecretForm, isWritten, type Place, renderKeys } from '../settings/index.ts';
import type { Config, RouterSettings } from './config.ts';
import { type ReadLayer, toLayerPath } from './layers.ts';
import { routerSchema } from './router-schema.ts';
import type { ResolvedRouter } from './router-settings.ts';
import { configSchema } from './schema.ts';

/** Keys that are left out when they are empty. */
const EMPTY_KEYS: ReadonlySet<string> = new Set([
  ...['schedule', 'connections', 'router_sources'],
  ...['groups', 'tls', 'metrics'],
]);

/**
 * Renders the running configuration as YAML: its keys with defaults, routers and modules left out, and `[secret]` for every secret.
 * Content that came from a file is summarised in brackets.
 */
export function renderEffectiveConfig(config: Config): string {
  const { web, storage, cluster, schedule, connections, router_sources, backup, sinks, ...others } = config;
  const { dead_letters, log_rules, redact } = others;
  const sections = {
    web,
    storage,
    cluster: cluster && { nats: cluster },
    schedule,
    connections,
    router_sources,
    backup,
  };
  const named = sinks.map(({ name, type, ...keys }) => ({ name, type, ...keys }));
  return render(renderKeys(configSchema, { ...sections, sinks: named, dead_letters, log_rules, redact }));
}

/** Renders the running configuration of one router in the same form, as an item of `routers`. */
export function renderEffectiveRouter(router: RouterSettings): string {
  return render(renderRouter(router));
}

/**
 * Renders the settings of one router in the same form, with the origin of each as a comment: the place of its key in a layer,
 * as `file:line`, or `default`.
 */
export function renderResolvedRouter({ settings: router, layers, groupsAt }: ResolvedRouter): string {
  const document = new Document(withoutEmpty(renderRouter(router)), { aliasDuplicateObjects: false });
  visit(document, {
    Pair(_, pair, ancestors) {
      const keys = [...ancestors.filter(isPair), pair].map(({ key }) => String(isScalar(key) ? key.value : key));
      const [section = ''] = keys;
      const isMerged = MERGED_SECTIONS.has(section);
      if (isMap(pair.value) && pair.value.items.length > 0 && isMerged) return undefined;
      if (!isNode(pair.value)) return visit.SKIP;
      if (isCollection(pair.value)) pair.value.flow = true;
      const origin = renderOrigin(isMerged ? keys : [section], layers);
      pair.value.comment = ` ${section === 'groups' && groupsAt ? (origin ?? renderLine(groupsAt)) : (origin ?? 'default')}`;
      return visit.SKIP;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

/** Sections of which each layer sets single keys. */
const MERGED_SECTIONS: ReadonlySet<string> = new Set(['tls', 'labels', 'poll', 'logs', 'metrics']);
/** Sections that a set of credentials replaces together. */
const ACCOUNT_SECTIONS: ReadonlySet<string> = new Set(['username', 'password', 'auth', 'bearer_token', 'headers']);

function renderOrigin(keys: readonly string[], layers: readonly ReadLayer[]): string | undefined {
  const [section] = keys;
  for (const layer of layers) {
    const { file, replaces } = layer;
    const isAccount = ACCOUNT_SECTIONS.has(section ?? '');
    if (replaces === 'tls_set' && section !== 'tls') continue;
    const written = findWrittenKey(layer, section);
    const path = toLayerPath(layer, written === undefined ? keys : [written]);
    if (file.source.valueAt(path) !== undefined) return renderLine({ file, path });
    // A named set replaces all of the layers below.
    if (isAccount && replaces === 'credentials') break;
  }
  return undefined;
}

/** Finds the key with which a layer sets a section that has several. */
function findWrittenKey(layer: ReadLayer, section: string | undefined): string | undefined {
  if (section === 'password' || section === 'bearer_token') return findSecretForm(layer, section);
  if (section !== 'headers') return undefined;
  return ['headers', 'header_files'].find((key) => isWritten(layer, key));
}

function renderLine({ file, path }: Place): string {
  return `${file.name}:${file.source.locate(path, 'key').line}`;
}

/** Renders the keys of a router without those that have no meaning for it. */
function renderRouter(router: RouterSettings): unknown {
  const hasAccount = router.auth === 'token' || router.auth === 'basic';
  return renderKeys(routerSchema, {
    ...router,
    ...(!hasAccount && { username: undefined, password: undefined }),
    ...(!router.url.startsWith('https:') && { tls: undefined }),
    modules: router.modules.map((module) => module.name),
  });
}

function render(keys: unknown): string {
  return stringify(withoutEmpty(keys), { lineWidth: 0, aliasDuplicateObjects: false });
}

function withoutEmpty(keys: unknown): object {
  const entries = Object.entries(Object(keys) as object);
  return Object.fromEntries(
    entries.filter(([key, value]) => !EMPTY_KEYS.has(key) || Object.keys(Object(value) as object).length > 0),
  );
}
