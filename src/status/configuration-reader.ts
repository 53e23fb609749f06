import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { type Clock, parseJson } from '../base/index.ts';
import { type FamilyDescription, type MetricFamily, RouterReadError, type Sample } from '../model/index.ts';
import type { MappingFault } from './mapping/family-collector.ts';
import type { ReaderContext, ReaderReading, StatusReader } from './poller/ask.ts';

/** Hexadecimal digits of a digest: 32 bits miss one change in four billion. */
const DIGEST_LENGTH = 8;
const KEY_BYTES = 16;
const STATE_VERSION = 1;

const whole = z.int().nonnegative();
const digest = z.hex().length(DIGEST_LENGTH).optional().catch(undefined);

const listState = z.object({
  /** Number of entries at the last read; absent before the first. */
  count: whole.optional().catch(undefined),
  /** Digest of its content; absent if only its entries were counted since it changed. */
  digest,
  changes: whole.catch(0),
  /** Not read before this time. Milliseconds since the Unix epoch. */
  asideUntilMs: whole.optional().catch(undefined),
});
type ListState = z.output<typeof listState>;

const readerState = z.object({
  version: z.literal(STATE_VERSION),
  /**
   * Key of the digests. Lists may contain secrets, so the stored digests must not reveal them: equal lists of two routers have different
   * digests, precomputed tables do not help, and 32 bits fit too many candidates to confirm one.
   */
  key: z.hex().length(2 * KEY_BYTES),
  /** Digest of the router's hash when all lists were last read. */
  hash: digest,
  /** Consecutive new hashes without a change of any list. */
  vainLooks: whole.catch(0),
  contentsReadMs: whole.catch(0),
  lists: z.record(z.string(), listState.catch({ changes: 0 })).catch({}),
});
type ReaderState = z.output<typeof readerState>;

/** Any other text means a first contact. */
function parseState(text: string, names: readonly string[]): ReaderState {
  const { data } = readerState.safeParse(parseJson(text));
  const key = randomBytes(KEY_BYTES).toString('hex');
  const known = data ?? { version: STATE_VERSION, key, vainLooks: 0, contentsReadMs: 0, lists: {} };
  return { ...known, lists: Object.fromEntries(names.map((name) => [name, known.lists[name] ?? { changes: 0 }])) };
}

/** Reads the running profile's configuration; `resource` is a path such as `netfilter/nat/snat`. Errors as for a `DocumentSource`. */
export interface ConfigurationSource {
  countEntries(resource: string, signal: AbortSignal): Promise<number>;
  /** Returns the parsed body of the answer; an array `list` in it, or in its `config`, holds the entries. */
  readConfiguration(resource: string, signal: AbortSignal): Promise<unknown>;
}

interface ConfigurationReaderOptions {
  readonly source: ConfigurationSource;
  /** Clock for the times at which suspended lists are read again. */
  readonly clock: Clock;
  /** {@link ConfigurationReader.state} of an earlier reader; any other text means a first contact. Default: none. */
  readonly previous?: string | undefined;
  /** Resources that are lists. Default {@link CONFIGURATION_LISTS}. */
  readonly lists?: readonly string[] | undefined;
}

/**
 * Lists of the configuration. Names from the vendor's OpenAPI description of icom OS 9.5 and an exported configuration; resources with
 * numbered entries (net1, gre1, wan1, route1, rule1, timer1) are lists.
 */
export const CONFIGURATION_LISTS: readonly string[] = [
  ...['ip_nets', 'openvpn', 'wireguard', 'ipsec', 'gre', 'dmvpn', 'pptp', 'pppoe'].map((name) => `interfaces/${name}`),
  ...['wans', 'wan_groups'].map((name) => `wan/${name}`),
  ...['static_routes', 'openvpn_routes'].map((name) => `routing/${name}`),
  ...['ip_filter', 'nat/snat', 'nat/dnat', 'mac_filter'].map((name) => `netfilter/${name}`),
  ...['dns', 'dyndns', 'dhcp_server'].map((name) => `services/${name}`),
  ...['event_config', 'contacts', 'messages', 'timer', 'counter'].map((name) => `events/${name}`),
  ...['network_tools/ping', 'network_tools/dns'].map((name) => `events/${name}`),
  ...['users', 'hostnames', 'update', 'container'].map((name) => `administration/${name}`),
];

/** Family of the number of entries of each list. */
export const CONFIG_ENTRIES: FamilyDescription = {
  name: 'router_config_entries',
  help: 'Number of entries of a configuration list. Polled from return_size of the list.',
  type: 'gauge',
};
/** Family of the changes of each list. */
export const CONFIG_CHANGES: FamilyDescription = {
  name: 'router_config_changes_total',
  help: 'Detected changes of a polled configuration list; several changes between two polls count once.',
  type: 'counter',
  isLasting: true,
};

const HOUR_MS = 3_600_000;
/** A list that the router does not have, or that the account may not read, is read again after this time. */
const REFUSED_MS = 24 * HOUR_MS;
/** A list that exists but could not be read is retried at the next check, an hour later. */
const FAILED_MS = HOUR_MS / 2;
/** Number of consecutive hash changes without a change of any list before contents are read less often. */
const UNPRODUCTIVE_CHECKS_MAX = 2;
const CONTENT_WAIT_MS_MAX = 24 * HOUR_MS;
/** HTTP statuses for a list that the account may not read. */
const FORBIDDEN = new Set<number | undefined>([403, 401]);
/** And for a resource that does not exist or is not a list. */
const REFUSALS = new Set<number | undefined>([...FORBIDDEN, 404, 400]);

interface Pass {
  readonly key: string;
  readonly done: Set<string>;
  hasAnswers: boolean;
  hasChanges: boolean;
}

function createPass(key: string): Pass {
  return { key, done: new Set(), hasAnswers: false, hasChanges: false };
}

/** Only suspended lists, only the number of entries, or contents as well. */
type Scope = 'again' | 'numbers' | 'contents';

/**
 * Counts the entries of the configuration's lists and detects changes of lists.
 *
 * While the router's own hash of its configuration is unchanged, no list is read. When it changes, each list is read and compared by
 * digest. Without a hash, only entries are counted, which detects only added and removed ones. If the hash changes at every check without
 * a change of a list, entries are counted, and contents are read less and less often.
 *
 * A list's state changes only with its own answer, so an aborted check neither loses nor repeats a change; the next check continues where
 * it stopped.
 */
export class ConfigurationReader implements StatusReader {
  readonly #source: ConfigurationSource;
  readonly #clock: Clock;
  readonly #names: readonly string[];
  /** As JSON: thirty lists for each router of a fleet, used once an hour, take three times as much memory as objects. */
  #state: string;
  #lastHash: string | undefined;
  #pass: Pass | undefined;

  constructor({ source, clock, previous = '', lists = CONFIGURATION_LISTS }: ConfigurationReaderOptions) {
    this.#source = source;
    this.#clock = clock;
    this.#names = lists;
    this.#state = previous;
  }

  /** State for a new reader of this router, so that it detects changes made in between and counters do not fall. */
  get state(): string {
    return this.#state;
  }

  async read({ configHash }: ReaderContext, signal: AbortSignal): Promise<ReaderReading> {
    const state = parseState(this.#state, this.#names);
    try {
      return await this.#check(state, configHash === undefined ? undefined : toDigest(state, configHash), signal);
    } finally {
      this.#state = JSON.stringify(state);
    }
  }

  async #check(state: ReaderState, hash: string | undefined, signal: AbortSignal): Promise<ReaderReading> {
    const scope = this.#chooseScope(state, hash);
    const key = `${scope} ${hash}`;
    const pass = this.#pass?.key === key ? this.#pass : createPass(key);
    this.#pass = pass;
    // With a hash, a list that becomes readable again must be comparable.
    const withContent = scope === 'contents' || (scope === 'again' && hash !== undefined);
    const faults: MappingFault[] = [];
    let refusal: unknown;
    for (const [name, list] of Object.entries(state.lists)) {
      if (pass.done.has(name) || !this.#isDue(list, scope)) continue;
      const failure = await this.#readList(state, name, pass, withContent, signal);
      pass.done.add(name);
      if (failure && !isRefusal(failure.cause)) faults.push(UNREADABLE);
      else refusal ??= failure?.cause;
    }
    if (scope === 'contents') {
      state.vainLooks = state.hash === undefined || pass.hasChanges ? 0 : state.vainLooks + 1;
      state.hash = hash;
      state.contentsReadMs = this.#clock.now();
    }
    this.#pass = undefined;
    // A router that has none of the lists does not have this part of the interface.
    if (refusal !== undefined && Object.values(state.lists).every(({ count }) => count === undefined)) throw refusal;
    return { families: toFamilies(state), faults, isFromMemory: !pass.hasAnswers };
  }

  #chooseScope(state: ReaderState, hash: string | undefined): Scope {
    // A hash that stays the same between two checks depends only on the configuration.
    if (hash === this.#lastHash || hash === state.hash) state.vainLooks = 0;
    this.#lastHash = hash;
    if (hash === undefined) return 'numbers';
    if (hash === state.hash) return 'again';
    const { vainLooks, contentsReadMs } = state;
    const waitMs =
      vainLooks < UNPRODUCTIVE_CHECKS_MAX ? 0 : Math.min(CONTENT_WAIT_MS_MAX, HOUR_MS * 2 ** (vainLooks - 1));
    return Math.abs(this.#clock.now() - contentsReadMs) >= waitMs ? 'contents' : 'numbers';
  }

  /** A suspended list is due at its time at the latest; a new hash may mean that it exists now. */
  #isDue({ asideUntilMs }: ListState, scope: Scope): boolean {
    if (asideUntilMs === undefined) return scope !== 'again';
    const leftMs = asideUntilMs - this.#clock.now();
    return leftMs <= 0 || leftMs > REFUSED_MS || scope === 'contents';
  }

  /**
   * Reads one list and updates its state. Returns the error for a list that could not be read; throws if the router is unavailable, or if
   * the account may not read the first existing list, because then it may read none.
   */
  async #readList(
    state: ReaderState,
    name: string,
    pass: Pass,
    withContent: boolean,
    signal: AbortSignal,
  ): Promise<{ readonly cause: unknown } | undefined> {
    const { lists } = state;
    const before = lists[name] ?? { changes: 0 };
    const suspend = (cause: unknown) => {
      lists[name] = { ...before, asideUntilMs: this.#clock.now() + (isRefusal(cause) ? REFUSED_MS : FAILED_MS) };
      return { cause };
    };
    try {
      const content = withContent ? toContent(await this.#source.readConfiguration(name, signal)) : undefined;
      const count = content ? content.count : await this.#source.countEntries(name, signal);
      if (!Number.isSafeInteger(count) || count < 0) return suspend(undefined);
      const digestNow = content && toDigest(state, content.canonical);
      const isOther = before.digest !== undefined && digestNow !== undefined && digestNow !== before.digest;
      const isChanged = before.count !== undefined && (count !== before.count || isOther);
      pass.hasChanges ||= isChanged;
      pass.hasAnswers = true;
      lists[name] = {
        count,
        // A change already detected by the number of entries must not be counted again by content.
        digest: digestNow ?? (isChanged ? undefined : before.digest),
        changes: before.changes + (isChanged ? 1 : 0),
      };
      return undefined;
    } catch (cause) {
      if (!(cause instanceof RouterReadError && cause.isAnswered)) throw cause;
      // The other lists are read when the wait is over.
      if (cause.retryAfterMs !== undefined) throw cause;
      const isForbidden = FORBIDDEN.has(cause.status) && !pass.hasAnswers;
      if (isForbidden) throw cause;
      return suspend(cause);
    }
  }
}

function toFamilies({ lists }: ReaderState): readonly MetricFamily[] {
  const entries: Sample[] = [];
  const changes: Sample[] = [];
  for (const [name, { count, changes: value, asideUntilMs }] of Object.entries(lists)) {
    if (count === undefined) continue;
    const slash = name.indexOf('/');
    const labels = { section: name.slice(0, slash), resource: name.slice(slash + 1) };
    if (asideUntilMs === undefined) entries.push({ labels, value: count });
    changes.push({ labels, value });
  }
  return [
    { ...CONFIG_ENTRIES, samples: entries },
    { ...CONFIG_CHANGES, samples: changes },
  ];
}

/** A list that the router has but could not return. */
const UNREADABLE: MappingFault = { module: 'configuration', metric: CONFIG_ENTRIES.name, reason: 'unknown_form' };

function isRefusal(cause: unknown): boolean {
  return cause instanceof RouterReadError && REFUSALS.has(cause.status);
}

function toDigest({ key }: ReaderState, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex').slice(0, DIGEST_LENGTH);
}

/** Parts of an answer that do not belong to the resource: the profile, and the allowed values of parameters. */
const FOREIGN = new Set(['profile', 'scheme']);
/** Identifiers that routers assign to entries. They may not be stable, and the content shows the change. */
const IDENTIFIERS = new Set(['uid', 'list_uid', 'sublist_uid']);
/** Answers are four levels deep. Anything deeper is not compared. */
const DEPTH_MAX = 16;

/** `canonical` is equal for equal content. */
function toContent(document: unknown): { readonly count: number; readonly canonical: string } {
  const list: unknown = Object(document).list ?? Object(Object(document).config).list;
  return { count: Array.isArray(list) ? list.length : 0, canonical: renderCanonical(document, 0) };
}

function renderCanonical(value: unknown, depth: number): string {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) {
    return typeof value === 'object' && value !== null ? '…' : (JSON.stringify(value) ?? '');
  }
  if (Array.isArray(value)) return `[${value.map((item) => renderCanonical(item, depth + 1)).join()}]`;
  const fields = Object.entries(value)
    .filter(([name]) => !IDENTIFIERS.has(name) && (depth > 0 || !FOREIGN.has(name)))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => `${JSON.stringify(name)}:${renderCanonical(field, depth + 1)}`);
  return `{${fields.join()}}`;
}
