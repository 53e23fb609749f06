import { createHmac, randomBytes } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { WebError } from '../errors.ts';
import type { Comparison, ComparisonResult } from './bcrypt-worker.ts';

/** Priority: `good` after valid credentials, `failed` after invalid ones or while others are checked, otherwise `new`. */
export type Standing = 'good' | 'new' | 'failed';

export interface PasswordWork {
  /** Hashes to compare as well if the password does not match, to take the same time. */
  readonly fillers: readonly string[];
  readonly standing: Standing;
  /** In a full queue, a client with several checks is dropped before one with fewer. */
  readonly client: string;
}

/** Compares a password with a bcrypt hash. */
export interface PasswordComparer {
  isMatch(password: string, hash: string, work: PasswordWork): Promise<boolean>;
}

/** Cached valid credentials; an exporter has few clients. */
const ACCEPTED_MAX = 100;
/** Clients remembered after a failure. */
const SUSPECTS_MAX = 10_000;
/** Concurrent checks of one client. */
const PENDING_PER_CLIENT_MAX = 8;
const HASH_CHARS = 60;
const COST_DEFAULT = 10;

/**
 * HTTP basic authentication. Valid credentials cost one bcrypt comparison and are then cached as a digest with a key that never leaves
 * this object. Invalid ones take the time of the costliest hash, whether the user exists or not, and lower the priority of their client
 * until it sends valid ones.
 */
export class BasicAuth {
  readonly #users: ReadonlyMap<string, string>;
  readonly #passwords: PasswordComparer;
  readonly #key = randomBytes(32);
  /** Digests, least recently used first. */
  readonly #accepted = new Set<string>();
  /** By digest: a Prometheus that starts ten scrapes at once costs one comparison. */
  readonly #pending = new Map<string, Promise<boolean>>();
  readonly #pendingByClient = new Map<string, number>();
  /** Clients whose last credentials were valid, least recent first. */
  readonly #trusted = new Set<string>();
  /** Clients whose last credentials were invalid, least recent first. */
  readonly #suspects = new Set<string>();
  readonly #costMax: number;

  /** `users`: at least one. */
  constructor(users: ReadonlyMap<string, string>, passwords: PasswordComparer) {
    this.#users = users;
    this.#passwords = passwords;
    this.#costMax = Math.max(...[...users.values()].map(readCost));
  }

  /** Throws what `passwords` throws, and {@link WebError} `busy` for a client with too many checks in progress. */
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

  /** Each step of the cost doubles the time: a hash and fillers of all costs from its own to the highest but one add up to the highest. */
  #listFillers(hash: string | undefined): readonly string[] {
    if (hash === undefined) return [];
    const cost = readCost(hash);
    return Array.from({ length: this.#costMax - cost }, (_, index) => toDecoy(cost + index));
  }
}

function remember(items: Set<string>, item: string, max: number): void {
  const [oldest] = items;
  if (oldest !== undefined && items.size >= max) items.delete(oldest);
  items.add(item);
}

function readCost(hash: string): number {
  return Number(/^\$..\$(\d\d)\$/.exec(hash)?.[1] ?? COST_DEFAULT);
}

/** As costly as a real hash; no password matches it. */
function toDecoy(cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$`.padEnd(HASH_CHARS, '.');
}

/** Parses an `Authorization` header with user and password. */
export function parseBasic(authorization: string | undefined): { user: string; password: string } | undefined {
  const encoded = /^basic +([A-Za-z0-9+/=]+) *$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** A source file in a checkout, compiled in a package; the same folder in both. */
const WORKER_URL = new URL(
  import.meta.url.endsWith('.ts') ? './bcrypt-worker.ts' : './bcrypt-worker.js',
  import.meta.url,
);
/** Waiting comparisons by priority. At the usual bcrypt cost the last one waits three seconds. */
const WAITING_MAX: Readonly<Record<Standing, number>> = { good: 31, new: 31, failed: 16 };

interface Job extends Comparison {
  readonly client: string;
  readonly result: PromiseWithResolvers<boolean>;
}

/**
 * Compares passwords with bcrypt hashes, one after the other, in a thread of its own, because a comparison takes 0.1 s of CPU time.
 * Priority: clients with valid credentials, then new ones, newest first (an attack from many addresses would otherwise delay all others),
 * then clients that failed. The thread starts with the first comparison, is replaced if it dies, and does not keep the process alive
 * while idle.
 */
export class PasswordThread implements PasswordComparer {
  readonly #waiting: Readonly<Record<Standing, Job[]>> = { good: [], new: [], failed: [] };
  #current: Job | undefined;
  #worker: Worker | undefined;
  #comparisons = 0;
  #isClosed = false;

  /** Throws {@link WebError}: `busy` if the queue is full or the job is dropped for another client, `password-check` if the thread died. */
  async isMatch(password: string, hash: string, { fillers, standing, client }: PasswordWork): Promise<boolean> {
    if (this.#isClosed) throw fail('The web server is being closed');
    const queue = this.#waiting[standing];
    if (queue.length >= WAITING_MAX[standing]) {
      const excess = standing === 'new' ? queue.shift() : takeFromLargest(queue, client);
      if (!excess) throw refuse();
      excess.result.reject(refuse());
    }
    const result = Promise.withResolvers<boolean>();
    queue.push({ id: ++this.#comparisons, password, hash, fillers, client, result });
    this.#proceed();
    return result.promise;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = this.#worker;
    this.#lose(worker, fail('The web server is being closed'));
    await worker?.terminate();
  }

  #proceed(): void {
    if (this.#current) return;
    const job = this.#waiting.good.shift() ?? this.#waiting.new.pop() ?? this.#waiting.failed.shift();
    if (!job) {
      this.#worker?.unref();
      return;
    }
    this.#current = job;
    const { id, password, hash, fillers, result } = job;
    try {
      const worker = this.#start();
      worker.ref();
      worker.postMessage({ id, password, hash, fillers } satisfies Comparison, []);
    } catch (cause) {
      // The system cannot start another thread.
      this.#current = undefined;
      result.reject(fail('The thread that compares passwords could not start', cause));
      this.#proceed();
    }
  }

  #start(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(WORKER_URL, { name: 'bcrypt', env: {}, execArgv: [] });
    worker.on('message', ({ id, isMatch }: ComparisonResult) => {
      if (this.#current?.id !== id) return;
      this.#current.result.resolve(isMatch);
      this.#current = undefined;
      this.#proceed();
    });
    worker.on('error', (cause) => this.#lose(worker, fail('The thread that compares passwords died', cause)));
    worker.on('exit', () => this.#lose(worker, fail('The thread that compares passwords ended')));
    this.#worker = worker;
    return worker;
  }

  #lose(worker: Worker | undefined, error: WebError): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    const lost = [this.#current, ...Object.values(this.#waiting).flatMap((queue) => queue.splice(0))];
    this.#current = undefined;
    for (const job of lost) job?.result.reject(error);
  }
}

/**
 * Drops the last job of the client with the most jobs in a full queue, if it has at least two more than the new one: guesses from a few
 * addresses must not block other clients.
 */
function takeFromLargest(queue: Job[], newcomer: string): Job | undefined {
  const counts = new Map<string, number>();
  for (const { client } of queue) counts.set(client, (counts.get(client) ?? 0) + 1);
  const [largest, most] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one));
  if (most < (counts.get(newcomer) ?? 0) + 2) return undefined;
  return queue.splice(
    queue.findLastIndex(({ client }) => client === largest),
    1,
  )[0];
}

function refuse(): WebError {
  return new WebError('busy', 'Too many passwords wait to be compared', { disposition: 'hold-back' });
}

function fail(message: string, cause?: unknown): WebError {
  return new WebError('password-check', message, { disposition: 'retry', cause });
}
