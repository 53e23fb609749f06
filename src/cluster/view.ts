import { hashToUnit } from '../base/index.ts';
import {
  type Claim,
  MEMBER_BYTES_MAX,
  type Member,
  parseClaim,
  parseMember,
  type RouterNames,
  unpackNames,
} from './members.ts';

const PLAIN = /^[A-Za-z0-9_-]$/;
const TOKEN = /^(?:[A-Za-z0-9_-]|=[0-9A-F]{2})+$/;

/**
 * Writes a name as one token of a subject and of a key, one to one: letters, digits, `_` and `-` stay, any other byte of
 * its UTF-8 becomes `=` and two hexadecimal digits.
 */
export function toToken(name: string): string {
  let token = '';
  for (const byte of Buffer.from(name)) {
    const sign = String.fromCharCode(byte);
    token += PLAIN.test(sign) ? sign : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return token;
}

/** Returns the name of a token; `undefined` if {@link toToken} makes no such token. */
export function parseToken(token: string): string | undefined {
  if (!TOKEN.test(token)) return undefined;
  const name = Buffer.from(
    token.replaceAll(/=([0-9A-F]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    'latin1',
  ).toString();
  return toToken(name) === token ? name : undefined;
}

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

/** One change of a key of the bucket, as the engine reports it. */
export interface BucketEntry {
  /** Key without the prefix of the bucket. */
  readonly key: string;
  readonly seq: number;
  /** `undefined`: the key ended, by itself (`expired`) or because somebody removed it. */
  readonly value: Uint8Array | undefined;
  /** True if it ended because nobody renewed it. */
  readonly isExpired: boolean;
  /** Time at which the engine stored it. Milliseconds since the Unix epoch. */
  readonly storedMs: number;
}

/** What replicas claim one by one: a router, or a sink. */
export type ClaimKind = 'router' | 'sink';

/** The last owner key of a router or sink. */
export interface KnownClaim {
  /** `undefined`: nobody has it. */
  readonly claim: Claim | undefined;
  readonly seq: number;
}

/** All routers, or all sinks: whom each belongs to, and who has it. */
export interface ClaimView {
  /** Returns the replica that a router or sink belongs to; `undefined` if no member knows it. */
  findOwner(name: string): string | undefined;
  /** Returns its last owner key; sequence 0 if there was none. */
  findClaim(name: string): KnownClaim;
  /** Returns the member that has it by its owner key. A former run of a member counts as none. */
  findHolder(name: string): Member | undefined;
}

/** More replicas are nobody's cluster. */
const MEMBERS_MAX = 1000;
/** One that has not come back within this time is gone for good. As long as the engine keeps the note. Milliseconds. */
const MISSING_MS = 3_600_000;

/** The content of the bucket: members, the routers that each knows, and the owner of each router and sink. */
export class ClusterView {
  readonly #members = new Map<string, Member>();
  /** The last list of each replica; before it, the one that its lease still names: a list is written before the lease that names it. */
  readonly #lists = new Map<string, readonly RouterNames[]>();
  readonly #claims = { router: new Map<string, KnownClaim>(), sink: new Map<string, KnownClaim>() };
  /** Replicas whose leases ended without a word, and when. */
  readonly #missing = new Map<string, number>();
  /** By the routers that they know; `undefined`: to be computed anew. */
  #candidates: readonly Candidate[] | undefined;

  /** The members, in the order of their names. */
  get members(): readonly Member[] {
    return [...this.#members.values()].toSorted((a, b) => (a.replica < b.replica ? -1 : 1));
  }

  /** Replicas whose leases ended without a word within the last hour, and when. Milliseconds since the Unix epoch. */
  listMissing(nowMs: number): ReadonlyMap<string, number> {
    return new Map([...this.#missing].filter(([, sinceMs]) => nowMs - sinceMs < MISSING_MS));
  }

  /** True if members know different routers. */
  get areListsDifferent(): boolean {
    return new Set([...this.#members.values()].map(({ routers }) => routers)).size > 1;
  }

  findMember(replica: string): Member | undefined {
    return this.#members.get(replica);
  }

  /** Returns the view of all routers, or of all sinks. */
  of(kind: ClaimKind): ClaimView {
    return {
      findOwner: (name) => (kind === 'router' ? this.findRouterOwner(name) : this.findTaskOwner(`sink/${name}`)),
      findClaim: (name) => this.findClaim(name, kind),
      findHolder: (name) => this.findHolder(name, kind),
    };
  }

  /** Returns the last owner key of a router or sink; sequence 0 if there was none. */
  findClaim(name: string, kind: ClaimKind = 'router'): KnownClaim {
    return this.#claims[kind].get(name) ?? { claim: undefined, seq: 0 };
  }

  /** Forgets the owner key of a router or sink, of which the engine has nothing any more. */
  forgetClaim(name: string, kind: ClaimKind = 'router'): void {
    this.#claims[kind].delete(name);
  }

  /** Returns the member that has a router or sink by its owner key. A former run of a member counts as none. */
  findHolder(name: string, kind: ClaimKind = 'router'): Member | undefined {
    const { claim } = this.findClaim(name, kind);
    const member = claim && this.#members.get(claim.replica);
    return member?.incarnation === claim?.incarnation ? member : undefined;
  }

  /** Returns the replica that a router belongs to; `undefined` if no member knows it. */
  findRouterOwner(router: string): string | undefined {
    this.#candidates ??= [...this.#members.values()].map((member) => {
      const known = this.#findList(member);
      return { replica: member.replica, knows: (name) => known?.names.has(name) === true };
    });
    return findOwner(router, this.#candidates);
  }

  /**
   * True if a replica knows a router, or if it cannot be told: the list of a member has not come yet. The list of one that is away
   * counts as well, for a day.
   */
  mayKnow(router: string): boolean {
    const members = [...this.#members.values()];
    if (members.length === 0 || members.some((member) => !this.#findList(member))) return true;
    return [...this.#lists.values()].some((lists) => lists.some(({ names }) => names.has(router)));
  }

  /** Returns the list that the lease of a member names; `undefined` if it has not come. */
  #findList({ replica, routers }: Member): RouterNames | undefined {
    return this.#lists.get(replica)?.find(({ digest }) => digest === routers);
  }

  /** Returns the replica that something else belongs to, which every member knows. */
  findTaskOwner(name: string): string | undefined {
    const knows = () => true;
    return findOwner(
      name,
      [...this.#members.keys()].map((replica) => ({ replica, knows })),
    );
  }

  /** Applies a change. Returns what it is about; `undefined` if it means nothing to this version. */
  apply(entry: BucketEntry): 'members' | 'claims' | undefined {
    const [kind, token = ''] = entry.key.split('.', 2);
    const name = parseToken(token);
    if (name === undefined) return undefined;
    switch (kind ?? '') {
      case 'member':
        return this.#applyMember(name, entry);
      case 'list':
        return this.#applyNames(name, entry);
      case 'owner':
        return this.#applyClaim('router', name, entry);
      case 'sink':
        return this.#applyClaim('sink', name, entry);
      default:
        return undefined;
    }
  }

  #applyClaim(kind: ClaimKind, name: string, { value, seq }: BucketEntry): 'claims' {
    this.#claims[kind].set(name, { claim: value && parseClaim(toText(value)), seq });
    return 'claims';
  }

  #applyMember(replica: string, { value, isExpired, storedMs }: BucketEntry): 'members' | undefined {
    this.#candidates = undefined;
    const before = this.#members.get(replica);
    if (!before && value && this.#members.size >= MEMBERS_MAX) return undefined;
    const member = value && parseMember(toText(value));
    if (member?.replica === replica) {
      this.#members.set(replica, member);
      this.#keepLists(replica, this.#lists.get(replica)?.at(-1));
      this.#missing.delete(replica);
      const isSame = before?.incarnation === member.incarnation && before.routers === member.routers;
      return isSame && before.address === member.address ? undefined : 'members';
    }
    this.#members.delete(replica);
    if (isExpired) this.#missing.set(replica, storedMs);
    else this.#missing.delete(replica);
    // Replicas may have new names at each start.
    for (const [name, sinceMs] of this.#missing) if (storedMs - sinceMs >= MISSING_MS) this.#missing.delete(name);
    return before || isExpired ? 'members' : undefined;
  }

  #applyNames(replica: string, { value }: BucketEntry): 'members' | undefined {
    this.#candidates = undefined;
    if (value && !this.#lists.has(replica) && this.#lists.size >= MEMBERS_MAX) return undefined;
    this.#keepLists(replica, value && unpackNames(value));
    return 'members';
  }

  /** Keeps the last list of a replica, and the one that its lease names. */
  #keepLists(replica: string, last: RouterNames | undefined): void {
    const member = this.#members.get(replica);
    const named = member && this.#findList(member);
    if (!last) this.#lists.delete(replica);
    else this.#lists.set(replica, named && named.digest !== last.digest ? [named, last] : [last]);
  }
}

/** Key of the lease of a replica. */
export function toMemberKey(replica: string): string {
  return `member.${toToken(replica)}`;
}

/** Key of the names of the routers that a replica knows. */
export function toListKey(replica: string): string {
  return `list.${toToken(replica)}`;
}

/** Key of the owner of a router or sink. */
export function toOwnerKey(name: string, kind: ClaimKind = 'router'): string {
  return `${kind === 'router' ? 'owner' : 'sink'}.${toToken(name)}`;
}

/** Longer values are nobody's, and become no text. */
function toText(bytes: Uint8Array): string {
  return bytes.length > MEMBER_BYTES_MAX ? '' : Buffer.from(bytes).toString();
}
