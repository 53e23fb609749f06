import { createHmac, randomBytes } from 'node:crypto';
import { WebError } from './errors.ts';

/**
 * What is known of a client: `good` if its last credentials were valid, `failed` if they were not or others of it are being
 * compared, `new` otherwise. `good` clients go first, `failed` ones last.
 */
export type Standing = 'good' | 'new' | 'failed';

/** Comparison of a password. */
export interface PasswordWork {
  /** Hashes to compare as well when the password does not match, for the time that it takes. */
  readonly fillers: readonly string[];
  readonly standing: Standing;
  /** The sender: when too many wait, a client with several gives way to one with fewer. */
  readonly client: string;
}

/** Compares a password with a bcrypt hash. */
export interface PasswordComparer {
  /** Resolves to true when `password` matches the bcrypt `hash`. */
  isMatch(password: string, hash: string, work: PasswordWork): Promise<boolean>;
}

/** Maximum number of cached valid credentials; an exporter has few clients. */
const ACCEPTED_MAX = 100;
/** Maximum number of clients remembered because they failed. */
const SUSPECTS_MAX = 10_000;
/** Different credentials that one client may have compared at the same time. */
const PENDING_PER_CLIENT_MAX = 8;
const HASH_CHARS = 60;
const COST_DEFAULT = 10;

/**
 * HTTP basic authentication. Valid credentials cost one bcrypt comparison and are then cached as a keyed digest; the key
 * is generated here and never leaves. Invalid ones cost the time of the costliest hash, whether the user exists or not,
 * and put their client behind all others until it has sent valid ones; clients with valid ones go before all others.
 */
export class BasicAuth {
  readonly #users: ReadonlyMap<string, string>;
  readonly #passwords: PasswordComparer;
  readonly #key = randomBytes(32);
  /** Digests of valid credentials, least recently used first. */
  readonly #accepted = new Set<string>();
  /** Comparisons in progress by digest: a Prometheus that starts ten scrapes at once costs one. */
  readonly #pending = new Map<string, Promise<boolean>>();
  /** Number of comparisons in progress by client. */
  readonly #pendingByClient = new Map<string, number>();
  /** Clients whose last credentials were valid, least recent first. */
  readonly #trusted = new Set<string>();
  /** Clients whose last credentials were invalid, least recent first. */
  readonly #suspects = new Set<string>();
  readonly #costMax: number;

  /** `users` holds at least one user. */
  constructor(users: ReadonlyMap<string, string>, passwords: PasswordComparer) {
    this.#users = users;
    this.#passwords = passwords;
    this.#costMax = Math.max(...[...users.values()].map(readCost));
  }

  /**
   * Checks the value of an `Authorization` header; `client` identifies who sent it. Throws what `passwords` throws, and
   * {@link WebError} `busy` for a client that has too many checks in progress.
   */
  async admits(authorization: string | undefined, client: string): Promise<boolean> {
    const credentials = parseBasic(authorization);
    if (!credentials) return false;
    const { user, password } = credentials;
    const digest = createHmac('sha256', this.#key)
      .update(JSON.stringify([user, password]))
      .digest('base64');
    // Delete and add again: most recently used.
    if (this.#accepted.delete(digest)) {
      this.#accepted.add(digest);
      return true;
    }
    const isGood = await (this.#pending.get(digest) ?? this.#compare(digest, password, this.#users.get(user), client));
    for (const clients of [this.#trusted, this.#suspects]) clients.delete(client);
    if (isGood) remember(this.#trusted, client, ACCEPTED_MAX);
    else remember(this.#suspects, client, SUSPECTS_MAX);
    return isGood;
  }

  #compare(digest: string, password: string, hash: string | undefined, client: string): Promise<boolean> {
    const pendingOfClient = this.#pendingByClient.get(client) ?? 0;
    if (pendingOfClient >= PENDING_PER_CLIENT_MAX) {
      throw new WebError('busy', 'Too many passwords of one client wait to be compared', { disposition: 'hold-back' });
    }
    this.#pendingByClient.set(client, pendingOfClient + 1);
    const hasFailed = this.#suspects.has(client) || pendingOfClient > 0;
    const standing = hasFailed ? 'failed' : this.#trusted.has(client) ? 'good' : 'new';
    const work: PasswordWork = { fillers: this.#listFillers(hash), standing, client };
    const pending = this.#passwords
      .isMatch(password, hash ?? toDecoy(this.#costMax), work)
      .then((isMatch) => {
        const isGood = isMatch && hash !== undefined;
        if (isGood) remember(this.#accepted, digest, ACCEPTED_MAX);
        return isGood;
      })
      .finally(() => {
        this.#pending.delete(digest);
        const left = (this.#pendingByClient.get(client) ?? 1) - 1;
        if (left === 0) this.#pendingByClient.delete(client);
        else this.#pendingByClient.set(client, left);
      });
    this.#pending.set(digest, pending);
    return pending;
  }

  /** Each step of the cost doubles the time: a hash and fillers of its cost up to one below the highest take as long as that. */
  #listFillers(hash: string | undefined): readonly string[] {
    if (hash === undefined) return [];
    const cost = readCost(hash);
    return Array.from({ length: this.#costMax - cost }, (_, index) => toDecoy(cost + index));
  }
}

/** Adds an item to a set of at most `max`, from which the first one goes. */
function remember(items: Set<string>, item: string, max: number): void {
  const [oldest] = items;
  if (oldest !== undefined && items.size >= max) items.delete(oldest);
  items.add(item);
}

function readCost(hash: string): number {
  return Number(/^\$..\$(\d\d)\$/.exec(hash)?.[1] ?? COST_DEFAULT);
}

/** As costly as a real hash, and matched by no password. */
function toDecoy(cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$`.padEnd(HASH_CHARS, '.');
}

/** Parses the value of an `Authorization` header; `undefined` when it holds no user and password. */
export function parseBasic(authorization: string | undefined): { user: string; password: string } | undefined {
  const encoded = /^basic +([A-Za-z0-9+/=]+) *$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}
