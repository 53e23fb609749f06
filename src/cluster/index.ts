/**
 * cluster: several replicas that share the routers.
 *
 * Owns: the lease of this replica, what is known of the others, which routers and tasks belong to whom, the bucket of the engine
 * that holds all of it, and the section `cluster`.
 * Does not own: routers (agent), records and positions (store), the engine itself: consensus and durable order are NATS's.
 * Start reading at: membership.ts, then lease.ts, view.ts and moves.ts.
 */
export { Bucket, readView, toNatsServers, withBucket } from './bucket.ts';
export { ClusterError } from './errors.ts';
export { Lease } from './lease.ts';
export { Membership, type MembershipEvent } from './membership.ts';
export { planMoves } from './moves.ts';
export { type ClusterSettings, clusterSchema, readCluster } from './settings.ts';
export { ClusterView } from './view.ts';
