/**
 * cluster: several replicas that share routers, records and sinks, with NATS JetStream as their engine.
 *
 * Owns: the lease of this replica, the view of the others, the assignment of routers and sinks to replicas, and the store
 * that they share: positions, records, cursors and dead letters in streams. And the section `cluster`.
 * Does not own: how a router or sink runs (agent), the contracts of a store (model), the engine itself: consensus and durable
 * order are NATS's.
 * {@link loadCluster} loads everything but the section on demand.
 * Start reading at: cluster.ts.
 *
 *   bucket.ts, membership.ts, lease.ts  the key-value bucket, and the lease of this replica in it
 *   view.ts                     members, their routers, owner of each router and sink
 *   share.ts, moves.ts          what this replica claims, runs and releases
 *   link.ts, stream.ts, subjects.ts  connection to the engine; required settings and size of the streams; their subjects
 *   cluster-store.ts            the shared store
 *   commit-queue.ts, open-routers.ts  steps to atomic batches; state of the routers that are open here
 *   sink-reader.ts, record-feed.ts, cursors.ts  records and cursors of the sinks
 *   cluster-dead-letters.ts, dead-letter-stream.ts, dead-letter-index.ts  shared dead letters
 *   janitor.ts                  purges delivered records, and data of unknown routers
 *   offline-access.ts           the store for commands that move state or handle dead letters
 */
export type { Bucket } from './bucket.ts';
export type { Cluster, ClusterEvent } from './cluster.ts';
export type { ClusterStore } from './cluster-store.ts';
export { type ClusterSettings, clusterSchema, readCluster } from './settings.ts';
export type { Share } from './share.ts';
export type { ClusterView } from './view.ts';

/** The engine, and what commands do with it. */
export type ClusterModule = Awaited<ReturnType<typeof loadCluster>>;

/** Loads everything about the engine, which agents and commands without the section `cluster` do not need. */
export function loadCluster() {
  return import('./cluster.ts');
}
