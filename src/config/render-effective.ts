import { Document, isCollection, isMap, isNode, isSeq } from 'yaml';
import { renderKeys } from '../settings/index.ts';
import type { Config, RouterSettings } from './config.ts';
import { type ConfigOrigins, findOrigin, type LayerOrigin, SECTIONS } from './origins.ts';
import { routerSchema } from './router-schema.ts';
import { configSchema } from './schema.ts';

const EMPTY_KEYS: ReadonlySet<string> = new Set([
  ...['schedule', 'connections', 'router_sources'],
  ...['groups', 'tls', 'metrics', 'expect', 'data_plans'],
]);
const SECTION_LISTS: ReadonlySet<string> = new Set(['sinks', 'router_sources']);

/**
 * Renders the running configuration as YAML, without routers and modules. Secrets are `[secret]`, contents of files are
 * summarised. The comment of each key is its origin: `file:line`, or `default`.
 */
export function renderEffectiveConfig({ origins, cluster, sinks, ...config }: Config): string {
  const named = sinks.map(({ name, type, ...keys }) => ({ name, type, ...keys }));
  const settings = { ...config, cluster: cluster && { nats: cluster }, sinks: named };
  const sections = SECTIONS.map((section) => [section, settings[section]]);
  return render(renderKeys(configSchema, Object.fromEntries(sections)), origins.main);
}

/** Renders the running configuration of one router, as an item of `routers`. */
export function renderEffectiveRouter(router: RouterSettings, origins: ConfigOrigins): string {
  const hasAccount = router.auth === 'token' || router.auth === 'basic';
  const keys = renderKeys(routerSchema, {
    ...router,
    ...(!hasAccount && { username: undefined, password: undefined }),
    ...(!router.url.startsWith('https:') && { tls: undefined }),
    modules: router.modules.map((module) => module.name),
  });
  return render(keys, origins.routers.get(router.name) ?? []);
}

function render(keys: unknown, layers: readonly LayerOrigin[]): string {
  const entries = Object.entries(Object(keys) as object);
  const shown = entries.filter(
    ([key, value]) => !EMPTY_KEYS.has(key) || Object.keys(Object(value) as object).length > 0,
  );
  const document = new Document(Object.fromEntries(shown), { aliasDuplicateObjects: false });
  addOrigins(document.contents, [], layers);
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function addOrigins(node: unknown, path: readonly (string | number)[], layers: readonly LayerOrigin[]): void {
  const key = path.join('.');
  if (isMap(node) && node.items.length > 0) {
    for (const pair of node.items) addOrigins(pair.value, [...path, String(pair.key)], layers);
  } else if (isSeq(node) && node.items.length > 0 && SECTION_LISTS.has(key)) {
    for (const [index, item] of node.items.entries()) addOrigins(item, [...path, index], layers);
  } else if (isSeq(node) && path.length === 1 && node.items.some(isMap)) {
    node.commentBefore = ` ${findOrigin(key, layers)}`;
  } else if (isNode(node)) {
    if (isCollection(node)) node.flow = true;
    node.comment = ` ${findOrigin(key, layers)}`;
  }
}
