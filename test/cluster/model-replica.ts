import type { Clock } from '../../src/base/index.ts';
import { Lease } from '../../src/cluster/lease.ts';
import {
  type ClaimKind,
  ClusterView,
  digestNames,
  packNames,
  renderClaim,
  renderMember,
  toListKey,
  toMemberKey,
  toOwnerKey,
} from '../../src/cluster/view.ts';
import { ModelBucket } from './model-bucket.ts';

/** What a test gives to a replica. */
interface ModelReplicaOptions {
  readonly clock: Clock;
  readonly leaseMs: number;
  /** Default: `a`. */
  readonly replica?: string;
  /** Bucket that other replicas share. Default: one of its own. */
  readonly bucket?: ModelBucket;
  /** Called before something is released. */
  readonly onRelease?: (name: string) => void;
}

/** A replica without an engine: its lease is what a test says, and its view is that of the bucket at its last look. */
export function createModelReplica(options: ModelReplicaOptions) {
  const { clock, leaseMs, replica = 'a', bucket = new ModelBucket(), onRelease } = options;
  const view = new ClusterView();
  const lease = new Lease({ leaseMs, statusGraceMs: 60_000, clock });
  const self = { replica, incarnation: `${replica}/1` };
  let shown = 0;
  const look = () => {
    shown = bucket.show(view, shown);
  };
  const write = (name: string, kind: ClaimKind | undefined, value: string | undefined) => {
    bucket.put(toOwnerKey(name, kind), value, view.findClaim(name, kind).seq);
    look();
  };
  const membership = {
    self,
    lease,
    view,
    term: 1,
    get isEngineHere() {
      return !lease.isEngineAway;
    },
    claim: async (name: string, kind?: ClaimKind) => write(name, kind, renderClaim(self)),
    async release(name: string, kind?: ClaimKind) {
      onRelease?.(name);
      write(name, kind, undefined);
    },
  };
  return {
    bucket,
    view,
    lease,
    membership,
    look,
    /** Becomes a holder of the lease that has seen it. */
    acquire: () => {
      lease.acquire(clock.monotonic());
      lease.see();
    },
    /** Writes the lease of a replica that knows these routers. */
    enter: (name: string, routers: readonly string[] = []) => {
      bucket.put(toListKey(name), packNames(routers));
      const rest = { address: undefined, startedMs: 0, version: '', routers: digestNames(routers) };
      bucket.put(toMemberKey(name), renderMember({ replica: name, incarnation: `${name}/1`, ...rest }));
    },
  };
}
