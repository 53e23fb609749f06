import { Document, isCollection, isMap, isNode, isPair, isScalar, stringify, visit } from 'yaml';
import { Secret } from '../base/index.ts';
import { renderCluster } from '../cluster/index.ts';
import { renderSink } from '../delivery/index.ts';
import { renderSource } from '../inventory/index.ts';
import { renderLogRule, renderLogs } from '../logs/index.ts';
import { type RouterProxy, renderConnections } from '../router/index.ts';
import { renderSchedule } from '../schedule/index.ts';
import {
  findSecretForm,
  isWritten,
  type Place,
  renderByteBudget,
  renderCertificates,
  renderTls,
} from '../settings/index.ts';
import { renderMetricFilter, renderPoll } from '../status/index.ts';
import { renderDeadLetters, renderStorage } from '../store/index.ts';
import { renderWeb } from '../web/index.ts';
import type { Config, RouterSettings } from './config.ts';
import { type ReadLayer, toLayerPath } from './layers.ts';
import type { ResolvedRouter } from './router-settings.ts';

/**
 * Renders the running configuration as YAML with the keys of the configuration file, defaults applied, routers left out, and
 * `[secret]` for every secret. Content that came from a file is summarised in brackets.
 */
export function renderEffectiveConfig({
  web,
  storage,
  cluster,
  schedule,
  connections,
  routerSources,
  backup,
  sinks,
  deadLetters,
  logRules,
  redact,
}: Config): string {
  return render({
    web: renderWeb(web),
    storage: renderStorage(storage),
    cluster: cluster && renderCluster(cluster),
    schedule: renderSchedule(schedule),
    connections: renderConnections(connections),
    router_sources: routerSources.length > 0 ? routerSources.map(renderSource) : undefined,
    backup,
    sinks: sinks.map(renderSink),
    dead_letters: renderDeadLetters(deadLetters),
    log_rules: logRules.map(renderLogRule),
    redact,
  });
}

/** Renders the running configuration of one router in the same form, as an item of `routers`. */
export function renderEffectiveRouter(router: RouterSettings): string {
  return render(toRouterKeys(router));
}

/**
 * Renders the settings of one router in the same form, with the origin of each as a comment: the place of its key in a layer,
 * as `file:line`, or `default`.
 */
export function renderResolvedRouter({ settings: router, layers, groupsAt }: ResolvedRouter): string {
  const document = new Document(blankSecrets(toRouterKeys(router)), { aliasDuplicateObjects: false });
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

/** Converts settings of a router to its keys in a file, with secrets as they are. */
export function toRouterKeys(router: RouterSettings): object {
  const { name, url, groups, auth, username, password, bearerToken, headers, proxy, sourceAddress } = router;
  const { timezone, labels, poll, logs, modules, metrics, lifecycle } = router;
  return {
    name,
    url,
    groups: groups.length > 0 ? groups : undefined,
    auth,
    ...(auth !== 'none' && auth !== 'bearer' && { username, password }),
    bearer_token: bearerToken,
    headers,
    proxy: proxy && renderProxy(proxy),
    source_address: sourceAddress,
    tls: url.startsWith('https:') ? renderTls(router.tls) : undefined,
    timezone,
    labels,
    poll: renderPoll(poll),
    logs: renderLogs(logs),
    modules: modules.map((module) => module.name),
    metrics: Object.keys(metrics).length > 0 ? renderMetricFilter(metrics) : undefined,
    state: lifecycle?.state,
    state_until: lifecycle?.untilMs === undefined ? undefined : new Date(lifecycle.untilMs).toISOString(),
    byte_budget: renderByteBudget({ perDay: router.byteBudget, statusShare: router.byteBudgetStatusShare }),
  };
}

function renderProxy({ url, username, password, caPem }: RouterProxy): object {
  return { url, username, password, ca_file: renderCertificates(caPem) };
}

function render(keys: object): string {
  return stringify(blankSecrets(keys), { lineWidth: 0, aliasDuplicateObjects: false });
}

/** Copies a value with `[secret]` for secrets, and without what is `undefined`. */
function blankSecrets(value: unknown): unknown {
  if (value instanceof Secret) return value.toString();
  if (Array.isArray(value)) return value.map(blankSecrets);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, blankSecrets(item)]));
}
