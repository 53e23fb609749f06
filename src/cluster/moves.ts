import type { ClaimView } from './view.ts';

/** The replica that decides, and what it has. Routers stand for whatever is claimed one by one: sinks as well. */
export interface MovesOptions {
  /** What is known of all routers. */
  readonly view: ClaimView;
  /** This replica. */
  readonly self: { readonly replica: string; readonly incarnation: string };
  /** Names of the routers that it knows. */
  readonly routers: Iterable<string>;
  /** The routers that it has claimed. */
  readonly claimed: ReadonlySet<string>;
  /** Since when a router waits for its former owner, by the monotonic clock; changed here. */
  readonly waitingSince: Map<string, number>;
  /** Monotonic, milliseconds. */
  readonly nowMs: number;
}

/** Steps by which a replica gets the routers that belong to it. */
export interface Moves {
  /** Routers to claim and to run. */
  readonly take: readonly string[];
  /** Routers to log out of, and to release. */
  readonly give: readonly string[];
  /** Routers that another replica has taken, or had meanwhile: nothing more may be sent to them as they are. */
  readonly drop: readonly string[];
  /** True if a router waits for its former owner. */
  readonly isWaiting: boolean;
}

/** A former owner that has not let a router go after this time hangs, and is not waited for any longer. Milliseconds. */
const HANDOVER_MS_MAX = 10_000;

/**
 * Compares the routers that this replica runs with those that belong to it. A router that a living member runs is left to
 * it until it is released, so that its new owner begins where the former one ended.
 */
export function planMoves({ view, self, routers, claimed, waitingSince, nowMs }: MovesOptions): Moves {
  const [take, give, drop]: [string[], string[], string[]] = [[], [], []];
  const known = new Set(routers);
  let isWaiting = false;
  for (const router of claimed) {
    const { claim } = view.findClaim(router);
    const isOurs = claim?.replica === self.replica && claim.incarnation === self.incarnation;
    // Without a claim it has been another's during a pause of this replica: it is begun anew, and claimed so that others wait for it.
    if (!isOurs) drop.push(router);
    else if (!known.has(router) || view.findOwner(router) !== self.replica) give.push(router);
  }
  for (const router of known) {
    if (claimed.has(router) && view.findClaim(router).claim) continue;
    const isWanted = view.findOwner(router) === self.replica;
    const holder = isWanted ? view.findHolder(router) : undefined;
    if (!isWanted) waitingSince.delete(router);
    else if (!holder || holder.replica === self.replica) take.push(router);
    else {
      const sinceMs = waitingSince.get(router) ?? nowMs;
      waitingSince.set(router, sinceMs);
      if (nowMs - sinceMs >= HANDOVER_MS_MAX) take.push(router);
      else isWaiting = true;
    }
  }
  for (const router of take) waitingSince.delete(router);
  return { take, give, drop, isWaiting };
}
