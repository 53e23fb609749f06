import type { Clock } from '../../base/index.ts';
import type { ClusterSettings, Membership } from '../../cluster/index.ts';
import { type Config, toLifecycleWish } from '../../config/index.ts';
import type { FleetShards, ForeignRouter } from '../../web/index.ts';
import type { Fleet } from '../routers/fleet.ts';

/** Requests within this time get the same description: it takes milliseconds for a large fleet. Milliseconds. */
const KEPT_MS = 500;

/** Returns a function that describes the replicas of a cluster, as they were moments ago. */
export function createShardsView(options: ShardsOptions, clock: Clock, config: () => Config): () => FleetShards {
  let known: { readonly atMs: number; readonly shards: FleetShards } | undefined;
  return () => {
    const atMs = clock.monotonic();
    if (!known || atMs - known.atMs >= KEPT_MS)
      known = { atMs, shards: describeShards(options, clock.now(), config()) };
    return known.shards;
  };
}

/** The cluster, and what runs here. */
export interface ShardsOptions {
  /** Name of the cluster and of this replica. */
  readonly settings: ClusterSettings;
  /** The lease of this replica, and what is known of the others. */
  readonly membership: Pick<Membership, 'self' | 'lease' | 'view'>;
  /** The routers that run here. */
  readonly fleet: Pick<Fleet, 'find'>;
}

/** Describes the replicas of a cluster as the processes that share the fleet. */
function describeShards(
  { settings, membership, fleet }: ShardsOptions,
  nowMs: number,
  { routers, web }: Pick<Config, 'routers' | 'web'>,
): FleetShards {
  const { view, self, lease } = membership;
  const { members } = view;
  const names = members.map(({ replica }) => replica);
  // Before it has a lease, this replica is in no view.
  if (!names.includes(self.replica)) names.push(self.replica);
  const indices = new Map(names.map((name, index) => [name, index]));
  const others = new Map<string, ForeignRouter>();
  for (const router of routers) {
    const { name, url, labels } = router;
    if (fleet.find(name)) continue;
    const owner = view.findHolder(name)?.replica ?? view.findRouterOwner(name);
    others.set(name, {
      ...{ name, url, labels, lifecycle: toLifecycleWish(router) },
      shard: indices.get(owner ?? '') ?? -1,
    });
  }
  return {
    index: indices.get(self.replica) ?? 0,
    total: names.length,
    peers: names.map(
      (name) => view.findMember(name)?.address ?? (name === self.replica ? settings.advertise : undefined),
    ),
    names,
    token: web.access?.tokens?.find(({ role }) => role === 'read')?.token,
    others,
    cluster: {
      name: settings.name,
      replica: self.replica,
      members: members.length,
      missing: [...view.listMissing(nowMs)].map(([replica, sinceMs]) => ({
        replica,
        since: new Date(sinceMs).toISOString(),
      })),
      isLeaseHeld: lease.isHeld,
      isEngineAway: lease.isEngineAway,
      areListsDifferent: view.areListsDifferent,
    },
  };
}
