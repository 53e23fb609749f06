import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/index.ts';
import { toNatsServers } from './bucket.ts';
import { ClusterStore, type ClusterStoreOptions } from './cluster-store.ts';
import { Membership, type MembershipEvent } from './membership.ts';
import type { ClusterSettings } from './settings.ts';
import { Claims, ownsTask, Share, type Shared, type ShareEvent } from './share.ts';

export { readView, toNatsServers, withBucket } from './bucket.ts';
export { ClusterStore } from './cluster-store.ts';
export { inCluster, withClusterDeadLetters } from './offline-access.ts';
export { initCluster } from './stream.ts';

/** Events of a replica. */
export type ClusterEvent = MembershipEvent | ShareEvent;

interface ClusterOptions {
  readonly settings: ClusterSettings;
  readonly version: string;
  readonly clock: Clock;
  readonly report: (event: ClusterEvent) => void;
}

type StoreParts = Omit<
  ClusterStoreOptions,
  'servers' | 'cluster' | 'replica' | 'isOwner' | 'mayKnow' | 'isServed' | 'isLeaving' | 'termOf'
>;

/** This replica in its cluster. Its claims exist from the start, and are empty until it is a member. */
export class Cluster {
  readonly membership: Membership;
  readonly routers: Claims;
  readonly sinks: Claims;
  readonly #options: ClusterOptions;
  #hasJoined = false;

  constructor(options: ClusterOptions) {
    const { settings, version, clock, report } = options;
    this.#options = options;
    this.membership = new Membership({
      settings,
      incarnation: randomUUID(),
      version,
      startedMs: clock.now(),
      clock,
      report: (event) => {
        this.#hasJoined ||= event.type === 'joined';
        report(event);
      },
    });
    this.routers = new Claims('router', this.membership);
    this.sinks = new Claims('sink', this.membership);
  }

  get settings(): ClusterSettings {
    return this.#options.settings;
  }

  get hasJoined(): boolean {
    return this.#hasJoined;
  }

  measure() {
    const { lease, view } = this.membership;
    return {
      members: view.members.length,
      missing: view.listMissing(this.#options.clock.now()).size,
      isLeaseHeld: lease.isHeld,
      leaseAgeSeconds: lease.ageMs / 1000,
      routersOwned: this.routers.size,
      areListsDifferent: view.areListsDifferent,
    };
  }

  /** Opens the store that the replicas share; it connects in the background. Failures are reported, or thrown by writes. */
  openStore(parts: StoreParts): ClusterStore {
    const { settings, clock } = this.#options;
    const store = new ClusterStore({
      ...parts,
      servers: toNatsServers(settings, clock),
      cluster: settings.name,
      replica: settings.replica,
      isOwner: (kind, name) => {
        if (kind === 'janitor') return ownsTask(this.membership, `${kind}/${name}`);
        return (kind === 'router' ? this.routers : this.sinks).isOwner(name);
      },
      mayKnow: (router) => this.membership.view.mayKnow(router),
      isServed: (sink) => this.membership.view.findHolder(sink, 'sink') !== undefined,
      isLeaving: (sink) => this.sinks.isLeaving(sink),
      termOf: (sink) => this.sinks.termOf(sink),
    });
    void store.open().catch(() => {});
    return store;
  }

  setRouters(names: readonly string[]): void {
    this.membership.setRouters(names);
  }

  /** Creates this replica's share of the routers, or of the sinks. It starts once this replica is a member. */
  createShare(claims: Claims, shared: Shared): Share {
    const { clock, report } = this.#options;
    return new Share({ claims, membership: this.membership, clock, report }, shared);
  }

  join(shares: readonly Share[]): void {
    this.membership.start(() => {
      for (const share of shares) share.onChange();
    });
  }

  /** Ends the lease, so that the others take over at once. Never rejects. */
  close(): Promise<void> {
    return this.membership.close();
  }
}
