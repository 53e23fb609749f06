import { createHmac, randomBytes } from 'node:crypto';

/** Compares a password with a bcrypt hash. */
export interface PasswordComparer {
  /** Resolves to true when `password` matches the bcrypt `hash`. */
  isMatch(password: string, hash: string): Promise<boolean>;
}

/** Maximum number of cached valid credentials; an exporter has few clients. */
const ACCEPTED_MAX = 100;
/** Length of the version, cost and salt of a bcrypt hash. */
const SALT_CHARS = 29;
const HASH_CHARS = 60;

/**
 * HTTP basic authentication. Valid credentials cost one bcrypt comparison and are then cached as a keyed digest; the key
 * is generated here and never leaves. Invalid ones cost one comparison each, whether the user exists or not.
 */
export class BasicAuth {
  readonly #users: ReadonlyMap<string, string>;
  readonly #passwords: PasswordComparer;
  readonly #key = randomBytes(32);
  /** Digests of valid credentials, least recently used first. */
  readonly #accepted = new Set<string>();
  /** Comparisons in progress by digest: a Prometheus that starts ten scrapes at once costs one. */
  readonly #pending = new Map<string, Promise<boolean>>();
  /** Compared with the passwords of unknown users: as costly as a real hash, and matched by no password. */
  readonly #decoy: string;

  /** `users` holds at least one user. */
  constructor(users: ReadonlyMap<string, string>, passwords: PasswordComparer) {
    const [hash = ''] = users.values();
    this.#users = users;
    this.#passwords = passwords;
    this.#decoy = hash.slice(0, SALT_CHARS).padEnd(HASH_CHARS, '.');
  }

  /** Checks the value of an `Authorization` header. Throws what `passwords` throws. */
  async admits(authorization: string | undefined): Promise<boolean> {
    const credentials = parseBasic(authorization);
    if (!credentials) return false;
    const { user, password } = credentials;
    const hash = this.#users.get(user);
    const digest = createHmac('sha256', this.#key)
      .update(JSON.stringify([user, password]))
      .digest('base64');
    // Delete and add again: most recently used.
    if (this.#accepted.delete(digest)) {
      this.#accepted.add(digest);
      return true;
    }
    const pending = this.#pending.get(digest) ?? this.#compare(digest, password, hash);
    return pending;
  }

  #compare(digest: string, password: string, hash: string | undefined): Promise<boolean> {
    const pending = this.#passwords
      .isMatch(password, hash ?? this.#decoy)
      .then((isMatch) => {
        const isGood = isMatch && hash !== undefined;
        if (isGood) this.#remember(digest);
        return isGood;
      })
      .finally(() => this.#pending.delete(digest));
    this.#pending.set(digest, pending);
    return pending;
  }

  #remember(digest: string): void {
    const [oldest] = this.#accepted;
    if (oldest !== undefined && this.#accepted.size >= ACCEPTED_MAX) this.#accepted.delete(oldest);
    this.#accepted.add(digest);
  }
}

function parseBasic(authorization: string | undefined): { user: string; password: string } | undefined {
  const encoded = /^basic +([A-Za-z0-9+/=]+) *$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}
