import { randomUUID } from 'node:crypto';
import { type Clock, type Lifecycle, type Logger, renderErrorChain } from '../../base/index.ts';
import { ClusterError, type ClusterSettings, Membership, type MembershipEvent } from '../../cluster/index.ts';
import type { SelfMetrics } from '../metrics/self-metrics.ts';
import type { ClusterShare } from './cluster-share.ts';
import type { SinkShare } from './sink-share.ts';

/** The engine, and the output of this replica. */
export interface ClusterOptions {
  /** The engine, and the name of this replica. */
  readonly settings: ClusterSettings;
  /** Version of the program. */
  readonly version: string;
  /** Metrics of the cluster. */
  readonly metrics: SelfMetrics;
  /** Clock of the lease and of all waits. */
  readonly clock: Clock;
  /** Log for what becomes of the lease. */
  readonly logger: Logger;
  /** Ends the agent because the bucket has another format. */
  readonly fail: (cause: unknown) => void;
}

/** Bound of the end of the lease at the end of the agent. Milliseconds. */
const STOP_MS = 200;

/** This replica in its cluster. */
export class Cluster {
  readonly settings: ClusterSettings;
  readonly membership: Membership;
  readonly #options: ClusterOptions;
  #share: ClusterShare | undefined;
  #sinks: SinkShare | undefined;
  #hasJoined = false;

  constructor(options: ClusterOptions) {
    const { settings, version, clock, metrics } = options;
    this.#options = options;
    this.settings = settings;
    this.membership = new Membership({
      settings,
      incarnation: randomUUID(),
      version,
      startedMs: clock.now(),
      clock,
      report: (event) => this.#report(event),
      onChange: () => {
        this.#share?.noteChange();
        this.#sinks?.noteChange();
      },
    });
    metrics.readCluster(() => this.#measure());
  }

  /** True once this replica had a lease. */
  get hasJoined(): boolean {
    return this.#hasJoined;
  }

  /** True while this replica has a lease and the thing belongs to it. */
  isOwner(kind: 'router' | 'sink' | 'janitor', name: string): boolean {
    if (kind === 'sink') return this.#sinks?.isOwner(name) ?? false;
    return this.#share?.isOwner(kind, name) ?? false;
  }

  /** True while a sink of this replica is about to go to another. */
  isLeaving(sink: string): boolean {
    return this.#sinks?.isLeaving(sink) ?? false;
  }

  /** Another value than before whenever others may have served a sink of this replica. */
  termOf(sink: string): number {
    return this.#sinks?.termOf(sink) ?? 0;
  }

  /** True if a replica has the router configured, or if it cannot be told. */
  mayKnow(router: string): boolean {
    return this.membership.view.mayKnow(router);
  }

  /** True if a replica serves the sink. */
  isServed(sink: string): boolean {
    return this.membership.view.findHolder(sink, 'sink') !== undefined;
  }

  /** Becomes a member, with these shares of the routers and sinks. */
  begin(share: ClusterShare, sinks: SinkShare): void {
    this.#share = share;
    this.#sinks = sinks;
    this.membership.start();
  }

  #measure() {
    const { lease, view } = this.membership;
    return {
      members: view.members.length,
      missing: view.listMissing(this.#options.clock.now()).size,
      isLeaseHeld: lease.isHeld,
      leaseAgeSeconds: lease.ageMs / 1000,
      routersOwned: this.#share?.claimed.size ?? 0,
      areListsDifferent: view.areListsDifferent,
    };
  }

  #report(event: MembershipEvent): void {
    const { logger, settings } = this.#options;
    const fields = { cluster: settings.name, replica: settings.replica };
    switch (event.type) {
      case 'joined':
        this.#hasJoined = true;
        logger.info('This replica has a lease', { ...fields, members: this.membership.view.members.length });
        return;
      case 'engine-away':
        if (event.cause instanceof ClusterError && event.cause.code === 'format') this.#options.fail(event.cause);
        else
          logger.error('The engine of the cluster cannot be used', { ...fields, error: renderErrorChain(event.cause) });
        return;
      case 'lease-lost':
        logger.warn('The lease of this replica has ended; its routers may be with others', fields);
        return;
      case 'name-taken': {
        const { address, startedMs } = event.by;
        const started = new Date(startedMs).toISOString();
        logger.warn('Another process has the lease of this replica; waiting for its end', {
          ...fields,
          address,
          started,
        });
        return;
      }
    }
  }
}

/** Creates this replica; it becomes a member later. Its lease ends behind everything that is registered later. */
export function openCluster(options: ClusterOptions, lifecycle: Lifecycle): Cluster {
  const cluster = new Cluster(options);
  lifecycle.onStop('cluster', STOP_MS, () => cluster.membership.close());
  return cluster;
}
