import { isIPv6 } from 'node:net';
import { answerJson } from './cached-answer.ts';
import { listByName } from './fleet-list.ts';
import type { Handler, Served, WebContext } from './served.ts';

/** One entry of the answer, as HTTP service discovery of Prometheus reads it. */
export interface TargetGroup {
  readonly targets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443' };
const PORT_MAX = 65_535;
const HOST = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}))(?::(\d{1,5}))?$/;

/** The handler of `/sd`: one group per router, all at the address of this exporter. */
export function createDiscoveryHandler(served: Served): Handler {
  return (context) => {
    const { target, scheme, path } = locateSelf(served, context);
    const groups = listByName(served.content).map(({ name, url, labels }): TargetGroup => {
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

/** How the asking Prometheus reaches this exporter: as somebody configured it, else as it did just now. */
function locateSelf({ externalUrl, routePrefix }: Served, context: WebContext) {
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

/** The address in a `Host` header, always with a port; `undefined` when it is none. */
export function parseHostHeader(header: string | undefined, scheme: string): string | undefined {
  const match = HOST.exec(header ?? '');
  if (!match) return undefined;
  const [host, address, port] = match;
  if (address !== undefined && !isIPv6(address)) return undefined;
  if (port === undefined) return `${host}:${DEFAULT_PORTS[scheme]}`;
  return Number(port) >= 1 && Number(port) <= PORT_MAX ? host : undefined;
}

/** The address at which the request arrived. */
function renderLocalAddress(socket: { localAddress?: string; localPort?: number } | undefined): string {
  // A socket that listens on all addresses shows those of IPv4 as mapped ones.
  const address = (socket?.localAddress ?? 'localhost').replace(/^::ffff:(?=\d+\.)/, '');
  return `${isIPv6(address) ? `[${address}]` : address}:${socket?.localPort ?? DEFAULT_PORTS['http']}`;
}

/** Configured labels are fit already; this keeps the answer well-formed should one not be. */
function toLabelName(label: string): string {
  return label.replaceAll(/[^A-Za-z0-9_]/g, '_');
}
