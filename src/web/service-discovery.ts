import { isIPv6 } from 'node:net';
import { forEachYielding } from '../base/index.ts';
import type { LifecycleWish } from '../model/index.ts';
import type { RouterSummary } from './api/routers.ts';
import type { ForeignRouter } from './fan-out.ts';
import { sortPage } from './pages/table-query.ts';
import { answerText, renderList } from './server/answers.ts';
import type { Handler, WebContext, WebDependencies } from './server/context.ts';
import { type FleetContent, locatePeer, withoutCredentials } from './whole-fleet.ts';

/** A target group of Prometheus HTTP service discovery. */
interface TargetGroup {
  /** `host:port` of this exporter. */
  readonly targets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443' };
const PORT_MAX = 65_535;
const HOST = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}))(?::(\d{1,5}))?$/;

/** The address under which Prometheus scrapes a process. */
interface ScrapeAddress {
  /** `host:port`. */
  readonly target: string;
  /** `http` or `https`. */
  readonly scheme: string;
  /** Path prefix, without a trailing slash. */
  readonly path: string;
}

/** Creates the handler of `/sd`: one group per router, with the address of its process if peers are configured. */
export function createDiscoveryHandler(dependencies: WebDependencies<FleetContent>): Handler {
  return async (context) => {
    const { content, clock } = dependencies;
    const shards = content.describeShards();
    const peers = (shards?.peers ?? []).map((_, shard) => {
      const url = shards && locatePeer(shards, shard, context);
      return url === undefined ? undefined : toScrapeAddress(new URL(url));
    });
    const self = (shards && peers[shards.index]) || locateSelf(dependencies, context);
    // A retired router has no series.
    const own = (await listByName(content)).filter(({ state }) => state !== 'retired');
    // Without the peers' addresses, each process lists its own routers.
    const known = [...(shards?.others.values() ?? [])];
    const nowMs = clock.now();
    const elsewhere = known.filter(({ shard, lifecycle }) => peers[shard] && !isRetired(lifecycle, nowMs));
    const others = elsewhere.filter(({ name }) => !content.hasRouter(name));
    const all = others.length > 0 ? [...own, ...others].toSorted((a, b) => compareTexts(a.name, b.name)) : own;
    const locate = (router: RouterSummary | ForeignRouter) =>
      ('shard' in router ? peers[router.shard] : undefined) || self;
    const groups = await renderList(all.values().map((router) => toGroup(router, locate(router))));
    return answerText(context, 'application/json', [...groups, '\n']);
  };
}

/** Sorted, so that an answer changes only when its content does. */
async function listByName(content: Pick<FleetContent, 'listRouters'>): Promise<readonly RouterSummary[]> {
  const routers: RouterSummary[] = [];
  await forEachYielding(content.listRouters(), (router) => routers.push(withoutCredentials(router)));
  return sortPage(routers, (a, b) => (a.name < b.name ? -1 : 1), 0, routers.length);
}

function isRetired(lifecycle: LifecycleWish | undefined, nowMs: number): boolean {
  return lifecycle?.state === 'retired' && (lifecycle.untilMs ?? Infinity) > nowMs;
}

function toGroup(
  { name, url, labels }: Pick<RouterSummary, 'name' | 'url' | 'labels'>,
  at: ScrapeAddress,
): TargetGroup {
  const meta = Object.entries(labels).toSorted(([a], [b]) => compareTexts(a, b));
  return {
    targets: [at.target],
    labels: {
      __metrics_path__: `${at.path}/probe`,
      __param_target: name,
      ...(at.scheme === 'https' && { __scheme__: at.scheme }),
      __meta_router_name: name,
      __meta_router_url: url,
      ...Object.fromEntries(meta.map(([label, value]) => [`__meta_router_label_${toLabelName(label)}`, value])),
    },
  };
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : 1;
}

function toScrapeAddress(url: URL): ScrapeAddress {
  const scheme = url.protocol.slice(0, -1);
  const target = `${url.hostname}:${url.port || DEFAULT_PORTS[scheme]}`;
  return { target, scheme, path: url.pathname.replace(/\/$/, '') };
}

/** Returns the configured external URL, or the address of the current request. */
function locateSelf({ externalUrl, routePrefix }: WebDependencies<FleetContent>, context: WebContext): ScrapeAddress {
  if (externalUrl) return toScrapeAddress(externalUrl);
  const socket = context.env.incoming?.socket;
  const scheme = socket && 'encrypted' in socket ? 'https' : 'http';
  const target = parseHostHeader(context.req.header('host'), scheme) ?? renderLocalAddress(socket);
  return { target, scheme, path: routePrefix };
}

/** Parses the address in a `Host` header, always with a port; `undefined` when it is invalid. */
export function parseHostHeader(header: string | undefined, scheme: string): string | undefined {
  const match = HOST.exec(header ?? '');
  if (!match) return undefined;
  const [host, address, port] = match;
  if (address !== undefined && !isIPv6(address)) return undefined;
  if (port === undefined) return `${host}:${DEFAULT_PORTS[scheme]}`;
  return Number(port) >= 1 && Number(port) <= PORT_MAX ? host : undefined;
}

function renderLocalAddress(socket: { localAddress?: string; localPort?: number } | undefined): string {
  // A socket for all addresses shows IPv4 addresses as IPv4-mapped IPv6 addresses.
  const address = (socket?.localAddress ?? 'localhost').replace(/^::ffff:(?=\d+\.)/, '');
  return `${isIPv6(address) ? `[${address}]` : address}:${socket?.localPort ?? DEFAULT_PORTS['http']}`;
}

/** Configured labels are valid already; this keeps the response well-formed in any case. */
function toLabelName(label: string): string {
  return label.replaceAll(/[^A-Za-z0-9_]/g, '_');
}
