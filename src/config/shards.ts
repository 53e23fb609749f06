import { hashToUnit, Steps } from '../base/index.ts';
import type { ConfigFile } from '../settings/index.ts';
import type { FleetShards, ForeignRouter, WebSettings } from '../web/index.ts';
import { type RouterSettings, toLifecycleWish } from './config.ts';

/** The process of a fleet that a configuration is loaded for. */
export interface Shard {
  /** Index of this process, from 0. */
  readonly index: number;
  /** Number of processes. Default: that of `web.peers`, or 1. */
  readonly total?: number | undefined;
}

/** Routers of this process, and what is known of those of the others. */
export interface Share {
  readonly routers: readonly RouterSettings[];
  /** `undefined` when there is one process. */
  readonly shards: FleetShards | undefined;
}

/**
 * Returns the index of the process that polls a router, of `total` processes (rendezvous hashing). It depends on the name
 * alone, so that all processes agree; with one process more or less, only the routers of that process move.
 */
export function findShard(router: string, total: number): number {
  let [best, highest] = [0, -1];
  for (let index = 0; index < total; index++) {
    const weight = hashToUnit(`${index}/${router}`);
    if (weight > highest) [best, highest] = [index, weight];
  }
  return best;
}

/**
 * Selects the routers of a process. The other processes have the same configuration, so they accept a token that this
 * one accepts.
 */
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
  const token = access?.tokens?.find(({ role }) => role === 'read')?.token;
  const own: RouterSettings[] = [];
  const others = new Map<string, ForeignRouter>();
  const steps = new Steps();
  for (const router of routers) {
    if (steps.isDue) await steps.next();
    const { name, url, labels } = router;
    const shard = findShard(name, total);
    if (shard === index) own.push(router);
    else others.set(name, { name, url, labels, lifecycle: toLifecycleWish(router), shard });
  }
  return { routers: own, shards: { index, total, peers, token, others } };
}
