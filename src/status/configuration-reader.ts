import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../base/index.ts';
import { type FamilyDescription, type MetricFamily, type Sample, SourceError } from '../model/index.ts';
import type { ReaderContext, StatusReader } from './contracts.ts';
import type { MappingFault } from './mapping/mapping-fault.ts';
import { parseStored, readField } from './poller-state.ts';

/** What is known of one list of a router's configuration. */
export interface ConfigurationList {
  /** Number of entries at the last reading; `undefined` before the first. */
  readonly count: number | undefined;
  /** Digest of its content, of {@link DIGEST_LENGTH} hexadecimal digits; `undefined` if only its entries were counted since it changed. */
  readonly digest: string | undefined;
  readonly changes: number;
  /** Not read before this time. Milliseconds since the Unix epoch. */
  readonly asideUntilMs: number | undefined;
}

/** Hexadecimal digits of a digest: 32 bits miss one change in four billion. */
const DIGEST_LENGTH = 8;

/**
 * What is known of the lists of one router's configuration. In columns: as objects, the thirty lists of each router of a fleet took
 * three times as much memory.
 */
export class ConfigurationLists {
  readonly names: readonly string[];
  /** Each by the index of the name. */
  readonly #counts: (number | undefined)[];
  readonly #digests: (string | undefined)[];
  readonly #changes: number[];
  readonly #asideUntilMs: (number | undefined)[];

  constructor(names: readonly string[]) {
    this.names = names;
    this.#counts = names.map(() => undefined);
    this.#digests = names.map(() => undefined);
    this.#changes = names.map(() => 0);
    this.#asideUntilMs = names.map(() => undefined);
  }

  get(name: string): ConfigurationList {
    const index = this.names.indexOf(name);
    return {
      count: this.#counts[index],
      digest: this.#digests[index],
      changes: this.#changes[index] ?? 0,
      asideUntilMs: this.#asideUntilMs[index],
    };
  }

  /** Sets what is known of a list; nothing if it is none of {@link names}. */
  set(name: string, { count, digest, changes, asideUntilMs }: ConfigurationList): void {
    const index = this.names.indexOf(name);
    if (index < 0) return;
    this.#counts[index] = count;
    this.#digests[index] = digest;
    this.#changes[index] = changes;
    this.#asideUntilMs[index] = asideUntilMs;
  }
}

/**
 * Reads the running profile's configuration; `resource` is a path such as `netfilter/nat/snat`. Errors as for a
 * `DocumentSource`.
 */
export interface ConfigurationSource {
  countEntries(resource: string, signal: AbortSignal): Promise<number>;
  /** Returns the body of the answer, possibly decoded; an array `list` in it, or in its `config`, holds the entries. */
  readConfiguration(resource: string, signal: AbortSignal): Promise<unknown>;
}

/** Store and key with which changes are recognised. */
export interface ConfigurationReaderOptions {
  /** Reads the lists of the configuration. */
  readonly source: ConfigurationSource;
  /** Clock for the times at which refused lists are read again. */
  readonly clock: Clock;
  /**
   * The value of {@link ConfigurationReader.state} when the agent ended; any other text means a first contact. Default:
   * none.
   */
  readonly previous?: string | undefined;
  /** Resources that are lists. Default {@link CONFIGURATION_LISTS}. */
  readonly lists?: readonly string[] | undefined;
}

/**
 * Lists of the configuration. Names from the vendor's OpenAPI description of icom OS 9.5 and an exported configuration;
 * resources with numbered entries (net1, gre1, wan1, route1, rule1, timer1) are lists.
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
  help: 'Number of entries of a configuration list.',
  type: 'gauge',
};
/** Family of the changes of each list. */
export const CONFIG_CHANGES: FamilyDescription = {
  name: 'router_config_changes_total',
  help: 'Detected changes of a configuration list; several changes between two reads count once.',
  type: 'counter',
  isLasting: true,
};

const HOUR_MS = 3_600_000;
/** A list that the router does not have, or that the account may not read, is read again after this time. */
const REFUSED_MS = 24 * HOUR_MS;
/** A list that exists but could not be read is retried sooner: at the next check, an hour later. */
const FAILED_MS = HOUR_MS / 2;
/** Number of consecutive hash changes without a change of any list before contents are read less and less often. */
const VAIN_LOOKS_MAX = 2;
const CONTENT_WAIT_MS_MAX = 24 * HOUR_MS;
/** HTTP statuses for a list that the account may not read. */
const FORBIDDEN = new Set<number | undefined>([403, 401]);
/** The same, plus statuses for a resource that does not exist or is not a list. */
const REFUSALS = new Set<number | undefined>([...FORBIDDEN, 404, 400]);

/** A check in progress. */
interface Pass {
  /** The hash that the check is for. */
  readonly key: string;
  /** Lists already read in this check. */
  readonly done: Set<string>;
  hasAnswers: boolean;
  hasChanges: boolean;
}

function createPass(key: string): Pass {
  return { key, done: new Set(), hasAnswers: false, hasChanges: false };
}

/** Extent of a check: only lists that were set aside, only the number of entries, or contents as well. */
type Look = 'again' | 'numbers' | 'contents';

/**
 * Counts the entries of the configuration's lists, and notices when a list changes.
 *
 * While the router's own hash of its configuration stays, nothing is asked. When it is another one, each list is read and
 * compared by its digest. A router without a hash has its entries counted, which shows new and removed ones alone. A hash
 * that is new at every look and stands for no change, because it depends on something else, is met with counting, and
 * with reading less and less often.
 *
 * A list's state moves on with its own answer, so a look that breaks off neither loses nor doubles a change; the next one
 * goes on where it stopped.
 */
export class ConfigurationReader implements StatusReader {
  readonly #source: ConfigurationSource;
  readonly #clock: Clock;
  readonly #lists: ConfigurationLists;
  readonly #digest: Digest;
  /** Digest of the router's hash when all lists were last read. */
  #hash: string | undefined;
  /** Digest of the router's hash at the last check. */
  #lastHash: string | undefined;
  /** Consecutive new hashes without a change of any list. */
  #vainLooks: number;
  #contentsReadMs: number;
  /** The check in progress, or one that broke off. */
  #pass: Pass | undefined;

  constructor(options: ConfigurationReaderOptions) {
    const previous = parseState(options.previous);
    this.#lists = new ConfigurationLists(options.lists ?? CONFIGURATION_LISTS);
    this.#source = options.source;
    this.#clock = options.clock;
    for (const [name, list] of previous.lists) this.#lists.set(name, list);
    this.#digest = new Digest(previous.key);
    this.#hash = previous.hash;
    this.#vainLooks = previous.vainLooks;
    this.#contentsReadMs = previous.contentsReadMs;
  }

  /**
   * State needed by a new reader of this router, so that changes made in between are detected and counters do not fall.
   */
  get state(): string {
    return JSON.stringify({
      version: STATE_VERSION,
      key: this.#digest.key,
      hash: this.#hash,
      vainLooks: this.#vainLooks,
      contentsReadMs: this.#contentsReadMs,
      lists: Object.fromEntries(this.#lists.names.map((name) => [name, this.#lists.get(name)])),
    });
  }

  async read({ configHash }: ReaderContext, signal: AbortSignal) {
    const hash = configHash === undefined ? undefined : this.#digest.of(configHash);
    const look = this.#chooseLook(hash);
    const key = `${look} ${hash}`;
    const pass = this.#pass?.key === key ? this.#pass : createPass(key);
    this.#pass = pass;
    const faults: MappingFault[] = [];
    let refusal: unknown;
    for (const name of this.#lists.names) {
      if (pass.done.has(name) || !this.#isDue(name, look)) continue;
      // With a hash, a list that becomes readable again must be comparable.
      const failure = await this.#readList(
        name,
        pass,
        look === 'contents' || (look === 'again' && hash !== undefined),
        signal,
      );
      pass.done.add(name);
      if (failure && !isRefusal(failure.cause)) faults.push(UNREADABLE);
      else refusal ??= failure?.cause;
    }
    if (look === 'contents') this.#finishContents(hash, pass);
    const isFromMemory = !pass.hasAnswers;
    this.#pass = undefined;
    // A router that has none of the lists does not have this part of the interface.
    if (refusal !== undefined && this.#lists.names.every((name) => this.#lists.get(name).count === undefined))
      throw refusal;
    return { families: this.#toFamilies(), faults, isFromMemory };
  }

  #chooseLook(hash: string | undefined): Look {
    // A hash that stays the same between two checks depends only on the configuration.
    if (hash === this.#lastHash || hash === this.#hash) this.#vainLooks = 0;
    this.#lastHash = hash;
    if (hash === undefined) return 'numbers';
    if (hash === this.#hash) return 'again';
    const waitMs =
      this.#vainLooks < VAIN_LOOKS_MAX ? 0 : Math.min(CONTENT_WAIT_MS_MAX, HOUR_MS * 2 ** (this.#vainLooks - 1));
    return Math.abs(this.#clock.now() - this.#contentsReadMs) >= waitMs ? 'contents' : 'numbers';
  }

  /** A list that was set aside is due at its time at the latest; a new hash may mean that it exists now. */
  #isDue(name: string, look: Look): boolean {
    const { asideUntilMs } = this.#lists.get(name);
    if (asideUntilMs === undefined) return look !== 'again';
    const leftMs = asideUntilMs - this.#clock.now();
    return leftMs <= 0 || leftMs > REFUSED_MS || look === 'contents';
  }

  #finishContents(hash: string | undefined, { hasChanges }: Pass): void {
    const isFirst = this.#hash === undefined;
    this.#hash = hash;
    this.#vainLooks = isFirst || hasChanges ? 0 : this.#vainLooks + 1;
    this.#contentsReadMs = this.#clock.now();
  }

  /**
   * Reads one list and updates its state. Returns the error for a list that could not be read; throws if the router is
   * unavailable, or if the account may not read the first existing list, because then it may read none.
   */
  async #readList(
    name: string,
    pass: Pass,
    withContent: boolean,
    signal: AbortSignal,
  ): Promise<{ readonly cause: unknown } | undefined> {
    const before = this.#lists.get(name);
    try {
      const content = withContent ? toContent(await this.#source.readConfiguration(name, signal)) : undefined;
      const count = content ? content.count : await this.#source.countEntries(name, signal);
      if (!Number.isSafeInteger(count) || count < 0) return this.#putAside(name, undefined);
      const digest = content && this.#digest.of(content.canonical);
      const isOther = before.digest !== undefined && digest !== undefined && digest !== before.digest;
      const isChanged = before.count !== undefined && (count !== before.count || isOther);
      pass.hasChanges ||= isChanged;
      pass.hasAnswers = true;
      this.#lists.set(name, {
        count,
        // A change already counted by the number of entries must not be counted again by content.
        digest: digest ?? (isChanged ? undefined : before.digest),
        changes: before.changes + (isChanged ? 1 : 0),
        asideUntilMs: undefined,
      });
      return undefined;
    } catch (cause) {
      if (!(cause instanceof SourceError && cause.isAnswered)) throw cause;
      // The other lists are asked for when the wait is over.
      if (cause.retryAfterMs !== undefined) throw cause;
      const isForbidden = FORBIDDEN.has(cause.status) && !pass.hasAnswers;
      if (isForbidden) throw cause;
      return this.#putAside(name, cause);
    }
  }

  #putAside(name: string, cause: unknown): { readonly cause: unknown } {
    const asideUntilMs = this.#clock.now() + (isRefusal(cause) ? REFUSED_MS : FAILED_MS);
    this.#lists.set(name, { ...this.#lists.get(name), asideUntilMs });
    return { cause };
  }

  #toFamilies(): readonly MetricFamily[] {
    const entries: Sample[] = [];
    const changes: Sample[] = [];
    for (const name of this.#lists.names) {
      const { count, changes: value, asideUntilMs } = this.#lists.get(name);
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
}

/** A list that the router has and could not return. */
const UNREADABLE: MappingFault = { module: 'configuration', metric: CONFIG_ENTRIES.name, reason: 'unknown_form' };

function isRefusal(cause: unknown): boolean {
  return cause instanceof SourceError && REFUSALS.has(cause.status);
}

const KEY_BYTES = 16;

/**
 * A short digest with a key of this router. A list may hold secrets, so its digest must not betray them to a reader of the
 * state: equal lists of two routers have different digests, no table made beforehand helps, and 32 bits fit so many guesses
 * that none is confirmed.
 */
class Digest {
  readonly key: string;
  constructor(key: string = randomBytes(KEY_BYTES).toString('hex')) {
    this.key = key;
  }
  of(text: string): string {
    return createHmac('sha256', this.key).update(text).digest('hex').slice(0, DIGEST_LENGTH);
  }
}

/** Parts of an answer that do not belong to the resource: the profile, and the allowed values of parameters. */
const FOREIGN = new Set(['profile', 'scheme']);
/** Names that routers assign to entries. Whether they are stable is unknown, and the content shows what has changed. */
const IDENTIFIERS = new Set(['uid', 'list_uid', 'sublist_uid']);
/** Answers are four levels deep. Anything deeper is not compared. */
const DEPTH_MAX = 16;

/** Returns the number of entries in a configuration answer, and a canonical text that is equal for equal content. */
function toContent(document: unknown): { readonly count: number; readonly canonical: string } {
  const list = readField(document, 'list') ?? readField(readField(document, 'config'), 'list');
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

/** Format version of the text in {@link ConfigurationReader.state}. */
const STATE_VERSION = 1;

interface State {
  readonly key: string | undefined;
  readonly hash: string | undefined;
  readonly vainLooks: number;
  readonly contentsReadMs: number;
  readonly lists: ReadonlyMap<string, ConfigurationList>;
}

/** Parses a state; any other text means a first contact. */
function parseState(text: string | undefined): State {
  const json = parseStored(text);
  const key = readText(json, 'key', 2 * KEY_BYTES);
  if (readField(json, 'version') !== STATE_VERSION || key === undefined) {
    return { key: undefined, hash: undefined, vainLooks: 0, contentsReadMs: 0, lists: new Map() };
  }
  const lists = readField(json, 'lists');
  return {
    key,
    hash: readText(json, 'hash', DIGEST_LENGTH),
    vainLooks: readNumber(json, 'vainLooks') ?? 0,
    contentsReadMs: readNumber(json, 'contentsReadMs') ?? 0,
    lists: new Map(Object.entries(Object(lists)).map(([name, list]) => [name, decodeList(list)])),
  };
}

function decodeList(json: unknown): ConfigurationList {
  return {
    count: readNumber(json, 'count'),
    digest: readText(json, 'digest', DIGEST_LENGTH),
    changes: readNumber(json, 'changes') ?? 0,
    asideUntilMs: readNumber(json, 'asideUntilMs'),
  };
}

/** Returns a field that is a hexadecimal text of this length. */
function readText(value: unknown, name: string, length: number): string | undefined {
  const field = readField(value, name);
  return typeof field === 'string' && field.length === length && /^[0-9a-f]+$/.test(field) ? field : undefined;
}

/** Returns a field that is a non-negative number. */
function readNumber(value: unknown, name: string): number | undefined {
  const field = readField(value, name);
  return typeof field === 'number' && Number.isSafeInteger(field) && field >= 0 ? field : undefined;
}
