import { type Clock, CodedError, openDeadline } from '../../base/index.ts';
import { type ClusterSettings, readView, toNatsServers, withBucket } from '../../cluster/index.ts';
import { inCluster, type StatePlace } from '../../store/index.ts';

/** The replicas hold a router that was to be moved. */
class RoutersHeld extends CodedError<'held'> {
  override readonly name = 'RoutersHeld';
}

/** Dependencies of the transfer besides the cluster. */
interface TransferNeeds {
  /** Names of the configured sinks. */
  readonly sinks: readonly string[];
  readonly clock: Clock;
  /** Ends the command. */
  readonly signal: AbortSignal;
}

/** Time limit of a look at the replicas. Milliseconds. */
const LOOK_MS_MAX = 30_000;

/** Returns the cluster as a place of state: only of routers that no living replica has, or would take. */
export function toClusterPlace(settings: ClusterSettings, { sinks, clock, signal }: TransferNeeds): StatePlace {
  return inCluster({
    servers: toNatsServers(settings, clock),
    cluster: settings.name,
    sinks,
    async checkFree(routers: readonly string[]): Promise<void> {
      using deadline = openDeadline(clock, LOOK_MS_MAX, signal);
      const view = await withBucket(settings, clock, deadline.signal, (bucket) =>
        readView(bucket, clock, deadline.signal),
      );
      const held = routers.flatMap((router) => {
        const replica = view.findHolder(router)?.replica ?? view.findRouterOwner(router);
        return replica === undefined ? [] : [{ router, replica }];
      });
      const [first] = held;
      if (!first) return;
      throw new RoutersHeld(
        'held',
        `Replicas have ${held.length} of these routers, such as ${first.router} at ${first.replica}`,
        {
          disposition: 'operator',
          hint: 'Stop the replicas, or take these routers out of their configuration; a replica that was killed lets go when its lease ends',
        },
      );
    },
  });
}
