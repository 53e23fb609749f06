import { forEachYielding, hashToUnit } from '../base/index.ts';
import { type ConfigFile, renderListenAddress } from '../settings/index.ts';
import type { FleetShards, ForeignRouter, WebSettings } from '../web/index.ts';
import { type Config, type RouterSettings, toLifecycleWish } from './config.ts';

/** One process of a fleet. */
export interface Shard {
  /** Index of this process, from 0. */
  readonly index: number;
  /** Number of processes. Default: that of `web.peers`, or 1. */
  readonly total?: number | undefined;
}

interface Share {
  readonly routers: readonly RouterSettings[];
  readonly shards: FleetShards | undefined;
}

/**
 * Returns which of `total` processes polls a router (rendezvous hashing). All processes agree, because only the name
 * counts; adding or removing a process moves only the routers of that process.
 */
export function findShard(router: string, total: number): number {
  let [best, highest] = [0, -1];
  for (let index = 0; index < total; index++) {
    const weight = hashToUnit(`${index}/${router}`);
    if (weight > highest) [best, highest] = [index, weight];
  }
  return best;
}

export async function selectShare(
  routers: readonly RouterSettings[],
  { index, total: written }: Shard,
  { peers = [], access }: Pick<WebSettings, 'peers' | 'access'>,
  main: ConfigFile,
): Promise<Share> {
  const total = written ?? Math.max(1, peers.length);
  if (peers.length > 0 && peers.length !== total) {
    const message = `"peers" lists ${peers.length} processes, but --total-shards is ${total}; list each process once, or leave out the flag`;
    main.faults.add(['web', 'peers'], message);
  } else if (index >= total) {
    const known = peers.length > 0 ? `"peers" lists ${total} processes, counted from 0` : 'the default is one process';
    main.faults.add(
      ['web', 'peers'],
      `There is no process ${index} (--shard): ${known}; set --total-shards, or add it`,
    );
  }
  if (total === 1) return { routers, shards: undefined };
  // All processes have the same configuration, so they accept the same token.
  const token = access?.tokens?.find(({ role }) => role === 'read')?.token;
  const own: RouterSettings[] = [];
  const others = new Map<string, ForeignRouter>();
  await forEachYielding(routers, (router) => {
    const { name, url, labels, notify_token: notifyToken } = router;
    const shard = findShard(name, total);
    if (shard === index) own.push(router);
    else others.set(name, { name, url, labels, lifecycle: toLifecycleWish(router), notifyToken, shard });
  });
  return { routers: own, shards: { index, total, peers, token, others } };
}

const PORT_MAX = 65_535;
/** Loopback addresses under which a server is reached that listens on every address. */
const LOOPBACK_OF: Readonly<Record<string, string>> = { '': '127.0.0.1', '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Returns why processes of one machine cannot have ports of their own; `undefined` if they can. */
export function describePortFault({ web, shards }: Pick<Config, 'web' | 'shards'>): string | undefined {
  const last = PORT_MAX + 1 - (shards?.total ?? 1);
  const wrong = web.listen.find(({ port }) => port === 0 || port > last);
  return (
    wrong && `--web.shard-ports adds the index of the process to the port, so it is 1 to ${last}; found ${wrong.port}`
  );
}

/**
 * Gives each process of one machine ports of its own: those of `web.listen` plus its index. Unless `web.peers` lists the processes, they
 * find each other there; but not with TLS, whose certificate is for another name. `routePrefix`: that of all processes.
 */
export function placeOnHost(config: Config, routePrefix: string): Config {
  const { web, shards } = config;
  const [first] = web.listen;
  if (!shards || !first) return config;
  const { index, total } = shards;
  const host = LOOPBACK_OF[first.host ?? ''] ?? first.host;
  const toUrl = (shard: number) => `http://${renderListenAddress({ host, port: first.port + shard })}${routePrefix}`;
  const isWritten = shards.peers.length > 0 || web.security?.tls !== undefined;
  const peers = isWritten ? web.peers : Array.from({ length: total }, (_, shard) => toUrl(shard));
  return {
    ...config,
    web: { ...web, listen: web.listen.map((one) => ({ ...one, port: one.port + index })), ...(peers && { peers }) },
    shards: { ...shards, peers: peers ?? [] },
  };
}
