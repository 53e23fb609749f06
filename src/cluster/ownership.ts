import { hashToUnit } from '../base/index.ts';

/** One candidate for the ownership of a router or sink. */
export interface Candidate {
  /** Name of the replica. */
  readonly replica: string;
  /** Returns true if the replica knows the thing. */
  readonly knows: (name: string) => boolean;
}

/**
 * Returns the replica that a thing belongs to: of those that know it, the one with the highest weight (rendezvous hashing).
 * It depends on names alone, so that all replicas with the same view agree; when a replica comes or goes, only its things
 * move. `undefined` if none knows it.
 */
export function findOwner(name: string, candidates: Iterable<Candidate>): string | undefined {
  let owner: string | undefined;
  let highest = -1;
  for (const { replica, knows } of candidates) {
    const weight = hashToUnit(`${replica}/${name}`);
    // Names decide between equal weights, not the order of the candidates.
    const isHigher = weight > highest || (weight === highest && owner !== undefined && replica < owner);
    if (!isHigher || !knows(name)) continue;
    [owner, highest] = [replica, weight];
  }
  return owner;
}
