import { isIPv6 } from 'node:net';
import { answerJson } from './cached-answer.ts';
import { listByName } from './fleet-list.ts';
import type { Handler, WebContext, WebDependencies } from './web-dependencies.ts';

/** One target group of Prometheus HTTP service discovery. */
export interface TargetGroup {
  /** `host:port` of this exporter. */
  readonly targets: readonly string[];
  /** Labels of the group, including `__param_target` and `__meta_router_*`. */
  readonly labels: Readonly<Record<string, string>>;
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443' };
const PORT_MAX = 65_535;
const HOST = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}))(?::(\d{1,5}))?$/;

/** Creates the handler of `/sd`: one group per router, all with the address of this exporter. */
export function createDiscoveryHandler(dependencies: WebDependencies): Handler {
  return (context) => {
    const { target, scheme, path } = locateSelf(dependencies, context);
    const groups = listByName(dependencies.content).map(({ name, url, labels }): TargetGroup => {
      const meta = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
      return {
        targets: [target],
        labels: {
          __metrics_path__: `${path}/probe`,
          __param_target: name,
          ...(scheme === 'https' && { __scheme__: scheme }),
          __meta_router_name: name,
          __meta_router_url: url,
          ...Object.fromEntries(meta.map(([label, value]) => [`__meta_router_label_${toLabelName(label)}`, value])),
        },
      };
    });
    return answerJson(context, groups);
  };
}

/** Returns the address of this exporter: the configured external URL, or the address of the current request. */
function locateSelf({ externalUrl, routePrefix }: WebDependencies, context: WebContext) {
  if (externalUrl) {
    const scheme = externalUrl.protocol.slice(0, -1);
    const target = `${externalUrl.hostname}:${externalUrl.port || DEFAULT_PORTS[scheme]}`;
    return { target, scheme, path: externalUrl.pathname.replace(/\/$/, '') };
  }
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

/** Renders the local address of the connection. */
function renderLocalAddress(socket: { localAddress?: string; localPort?: number } | undefined): string {
  // A socket that listens on all addresses shows IPv4 addresses as IPv4-mapped IPv6 addresses.
  const address = (socket?.localAddress ?? 'localhost').replace(/^::ffff:(?=\d+\.)/, '');
  return `${isIPv6(address) ? `[${address}]` : address}:${socket?.localPort ?? DEFAULT_PORTS['http']}`;
}

/** Configured labels are already valid; this keeps the response well-formed if one is not. */
function toLabelName(label: string): string {
  return label.replaceAll(/[^A-Za-z0-9_]/g, '_');
}
