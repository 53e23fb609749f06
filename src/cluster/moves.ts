import type { ClaimView } from './view.ts';

/** The deciding replica, and its claims. Also used for sinks, in place of routers. */
interface MovesOptions {
  readonly view: ClaimView;
  readonly self: { readonly replica: string; readonly incarnation: string };
  readonly routers: Iterable<string>;
  readonly claimed: ReadonlySet<string>;
  /** Since when a router waits for its former owner; updated here. Monotonic milliseconds. */
  readonly waitingSince: Map<string, number>;
  readonly nowMs: number;
}

interface Moves {
  readonly take: readonly string[];
  readonly give: readonly string[];
  /** Routers that another replica has, or had meanwhile: their runs here must send nothing more. */
  readonly drop: readonly string[];
  readonly isWaiting: boolean;
}

/** A former owner that has not released a router after this time is unresponsive, and not waited for any longer. Milliseconds. */
const HANDOVER_MS_MAX = 10_000;

/**
 * Compares the routers that this replica runs with those assigned to it. A router that a live member runs is left to it until
 * it is released, so that its new owner continues where the former one ended.
 */
export function planMoves({ view, self, routers, claimed, waitingSince, nowMs }: MovesOptions): Moves {
  const [take, give, drop]: [string[], string[], string[]] = [[], [], []];
  const known = new Set(routers);
  let isWaiting = false;
  for (const router of claimed) {
    const { claim } = view.findClaim(router);
    const isOurs = claim?.replica === self.replica && claim.incarnation === self.incarnation;
    // Without a claim, another replica had it while this one was paused: it is restarted, and claimed so that others wait for
    // it.
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
