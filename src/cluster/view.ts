import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { decodeObject, hashToUnit, parseJson, readString } from '../base/index.ts';
import { fromToken, toToken } from './subjects.ts';

/** A replica of a cluster, as its lease describes it. */
export interface Member {
  readonly replica: string;
  /** Identifies one run of its process. */
  readonly incarnation: string;
  /** Base URL at which others reach its web server, without a trailing slash; `undefined` if it has none. */
  readonly address: string | undefined;
  /** Start of its process. Milliseconds since the Unix epoch. */
  readonly startedMs: number;
  readonly version: string;
  /** Digest of the names of the routers that it knows. */
  readonly routers: string;
}

interface RouterNames {
  readonly digest: string;
  readonly names: ReadonlySet<string>;
}

/** Maximum size of leases and owner keys that are read. Bytes. */
const MEMBER_BYTES_MAX = 16 * 1024;
/** 10,000 names of 64 characters take two thirds of a MiB, unpacked. Bytes. */
const NAMES_BYTES_MAX = 16 * 1024 * 1024;
const TEXT_MAX = 2048;

export function renderMember({ replica, incarnation, address, startedMs, version, routers }: Member): string {
  return JSON.stringify({ replica, incarnation, address, startedMs, version, routers });
}

export function parseMember(text: string): Member | undefined {
  const value = decodeObject(parseJson(text));
  if (!value) return undefined;
  const [replica, incarnation] = [readText(value, 'replica'), readText(value, 'incarnation')];
  const [routers, startedMs] = [readText(value, 'routers'), value['startedMs']];
  if (replica === undefined || incarnation === undefined || routers === undefined) return undefined;
  return {
    replica,
    incarnation,
    address: parseAddress(readText(value, 'address')),
    startedMs: typeof startedMs === 'number' && Number.isFinite(startedMs) ? startedMs : 0,
    version: readText(value, 'version') ?? '',
    routers,
  };
}

export interface Claim {
  readonly replica: string;
  readonly incarnation: string;
}

export function renderClaim({ replica, incarnation }: Claim): string {
  return JSON.stringify({ replica, incarnation });
}

function parseClaim(text: string): Claim | undefined {
  const value = decodeObject(parseJson(text));
  const replica = value && readText(value, 'replica');
  const incarnation = value && readText(value, 'incarnation');
  return replica === undefined || incarnation === undefined ? undefined : { replica, incarnation };
}

/** Returns a digest of router names, independent of their order. */
export function digestNames(names: Iterable<string>): string {
  const hash = createHash('sha256');
  for (const name of [...names].toSorted()) hash.update(`${name}\n`);
  return hash.digest('base64url').slice(0, 22);
}

export function packNames(names: Iterable<string>): Buffer {
  return gzipSync([...names].toSorted().join('\n'));
}

function unpackNames(bytes: Uint8Array): RouterNames | undefined {
  try {
    const text = gunzipSync(bytes, { maxOutputLength: NAMES_BYTES_MAX }).toString();
    const names = new Set(text === '' ? [] : text.split('\n'));
    return { digest: digestNames(names), names };
  } catch {
    return undefined;
  }
}

function readText(value: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const text = readString(value, name);
  return text !== undefined && text.length > 0 && text.length <= TEXT_MAX ? text : undefined;
}

/** Pages link to it, so only a web address is valid. */
function parseAddress(text: string | undefined): string | undefined {
  const url = text === undefined ? null : URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '') {
    return undefined;
  }
  return url.href.replace(/\/+$/, '');
}

interface Candidate {
  readonly replica: string;
  readonly knows: (name: string) => boolean;
}

/**
 * Returns the replica that a router or sink is assigned to: of those that know it, the one with the highest weight
 * (rendezvous hashing). It depends on names alone, so that all replicas with the same view agree; when a replica comes or
 * goes, only its own move. `undefined` if none knows it.
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

/** A change of a key of the bucket, as the engine reports it. */
export interface BucketEntry {
  /** Key without the prefix of the bucket. */
  readonly key: string;
  readonly seq: number;
  /** `undefined`: the key has expired (`isExpired`) or was removed. */
  readonly value: Uint8Array | undefined;
  /** True if it ended because it was not renewed. */
  readonly isExpired: boolean;
  /** When the engine stored it. Milliseconds since the Unix epoch. */
  readonly storedMs: number;
}

/** What replicas claim one by one. */
export type ClaimKind = 'router' | 'sink';

interface KnownClaim {
  /** `undefined`: no replica has it. */
  readonly claim: Claim | undefined;
  readonly seq: number;
}

/** Assignment and ownership of all routers, or of all sinks. */
export interface ClaimView {
  findOwner(name: string): string | undefined;
  findClaim(name: string): KnownClaim;
  findHolder(name: string): Member | undefined;
}

/** More than any cluster has. */
const MEMBERS_MAX = 1000;
/** Time after which a missing replica counts as removed, as long as the engine keeps the marker. Milliseconds. */
const MISSING_MS = 3_600_000;

/** The content of the bucket: members, the routers that each knows, and the owner of each router and sink. */
export class ClusterView {
  readonly #members = new Map<string, Member>();
  /** The last list of each replica, preceded by the one that its lease still refers to: a list is written before its lease. */
  readonly #lists = new Map<string, readonly RouterNames[]>();
  readonly #claims = { router: new Map<string, KnownClaim>(), sink: new Map<string, KnownClaim>() };
  /** Replicas whose leases expired, and when. */
  readonly #missing = new Map<string, number>();
  /** By the routers that they know; `undefined`: to be computed again. */
  #candidates: readonly Candidate[] | undefined;

  get members(): readonly Member[] {
    return [...this.#members.values()].toSorted((a, b) => (a.replica < b.replica ? -1 : 1));
  }

  /** Returns the replicas whose leases expired within the last hour, and when. Milliseconds since the Unix epoch. */
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

  of(kind: ClaimKind): ClaimView {
    return {
      findOwner: (name) => (kind === 'router' ? this.findRouterOwner(name) : this.findTaskOwner(`sink/${name}`)),
      findClaim: (name) => this.findClaim(name, kind),
      findHolder: (name) => this.findHolder(name, kind),
    };
  }

  findClaim(name: string, kind: ClaimKind = 'router'): KnownClaim {
    return this.#claims[kind].get(name) ?? { claim: undefined, seq: 0 };
  }

  /** Forgets the owner key of a router or sink that the engine does not have any more. */
  forgetClaim(name: string, kind: ClaimKind = 'router'): void {
    this.#claims[kind].delete(name);
  }

  /** Returns the member that owns a router or sink by its owner key. A former run of a member does not count. */
  findHolder(name: string, kind: ClaimKind = 'router'): Member | undefined {
    const { claim } = this.findClaim(name, kind);
    const member = claim && this.#members.get(claim.replica);
    return member?.incarnation === claim?.incarnation ? member : undefined;
  }

  /** Returns the replica that a router is assigned to; `undefined` if no member knows it. */
  findRouterOwner(router: string): string | undefined {
    this.#candidates ??= [...this.#members.values()].map((member) => {
      const known = this.#findList(member);
      return { replica: member.replica, knows: (name) => known?.names.has(name) === true };
    });
    return findOwner(router, this.#candidates);
  }

  /**
   * Returns true if a replica knows a router, or if that is unknown because the list of a member has not arrived yet. The
   * list of a missing replica counts for a day.
   */
  mayKnow(router: string): boolean {
    const members = [...this.#members.values()];
    if (members.length === 0 || members.some((member) => !this.#findList(member))) return true;
    return [...this.#lists.values()].some((lists) => lists.some(({ names }) => names.has(router)));
  }

  #findList({ replica, routers }: Member): RouterNames | undefined {
    return this.#lists.get(replica)?.find(({ digest }) => digest === routers);
  }

  /** Returns the replica that a task is assigned to that every member can do. */
  findTaskOwner(name: string): string | undefined {
    const knows = () => true;
    return findOwner(
      name,
      [...this.#members.keys()].map((replica) => ({ replica, knows })),
    );
  }

  /** Applies a change. Returns what it concerns; `undefined` if this version does not know the key. */
  apply(entry: BucketEntry): 'members' | 'claims' | undefined {
    const [kind, token = ''] = entry.key.split('.', 2);
    const name = fromToken(token, '=');
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

  #keepLists(replica: string, last: RouterNames | undefined): void {
    const member = this.#members.get(replica);
    const named = member && this.#findList(member);
    if (!last) this.#lists.delete(replica);
    else this.#lists.set(replica, named && named.digest !== last.digest ? [named, last] : [last]);
  }
}

export function toMemberKey(replica: string): string {
  return `member.${toToken(replica, '=')}`;
}

export function toListKey(replica: string): string {
  return `list.${toToken(replica, '=')}`;
}

export function toOwnerKey(name: string, kind: ClaimKind = 'router'): string {
  return `${kind === 'router' ? 'owner' : 'sink'}.${toToken(name, '=')}`;
}

/** Ignores longer values: no replica writes them. */
function toText(bytes: Uint8Array): string {
  return bytes.length > MEMBER_BYTES_MAX ? '' : Buffer.from(bytes).toString();
}
