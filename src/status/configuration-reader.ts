import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../base/index.ts';
import type { FamilyDescription, MetricFamily, Sample } from '../model/index.ts';
import type { MappingFault } from './mapping/mapping-fault.ts';
import type { ReaderContext, StatusReader } from './reader.ts';

/** Reads of the running profile's configuration; `resource` is as in `netfilter/nat/snat`. Errors as of a `DocumentSource`. */
export interface ConfigurationSource {
  countEntries(resource: string, signal: AbortSignal): Promise<number>;
  /** The body of the answer, or what became of it by decoding; an array `list` in it, or in its `config`, holds the entries. */
  readConfiguration(resource: string, signal: AbortSignal): Promise<unknown>;
}

export interface ConfigurationReaderOptions {
  readonly source: ConfigurationSource;
  readonly clock: Clock;
  /** What {@link ConfigurationReader.state} was when the agent ended; anything else is no harm. */
  readonly previous?: string | undefined;
  /** Resources that are lists. Default {@link CONFIGURATION_LISTS}. */
  readonly lists?: readonly string[] | undefined;
}

/** Source of the names: the vendor's OpenAPI description of icom OS 9.5, and an exported configuration; those with numbered entries (net1, gre1, wan1, route1, rule1, timer1) are lists. */
export const CONFIGURATION_LISTS: readonly string[] = [
  ...['ip_nets', 'openvpn', 'ipsec', 'gre', 'dmvpn', 'pptp', 'pppoe'].map((name) => `interfaces/${name}`),
  ...['wans', 'wan_groups'].map((name) => `wan/${name}`),
  ...['static_routes', 'openvpn_routes'].map((name) => `routing/${name}`),
  ...['ip_filter', 'nat/snat', 'nat/dnat', 'mac_filter'].map((name) => `netfilter/${name}`),
  ...['dns', 'dyndns', 'dhcp_server'].map((name) => `services/${name}`),
  ...['event_config', 'contacts', 'messages', 'timer', 'counter'].map((name) => `events/${name}`),
  ...['network_tools/ping', 'network_tools/dns'].map((name) => `events/${name}`),
  ...['users', 'hostnames', 'time', 'container'].map((name) => `administration/${name}`),
];

export const CONFIG_ENTRIES: FamilyDescription = {
  name: 'router_config_entries',
  help: 'Entries of a list of the configuration.',
  type: 'gauge',
};
export const CONFIG_CHANGES: FamilyDescription = {
  name: 'router_config_changes_total',
  help: 'Changes of a list of the configuration that were seen; several between two looks count once.',
  type: 'counter',
};

const HOUR_MS = 3_600_000;
/** What a router does not have, or not for this account, is asked for again after this time. */
const REFUSED_MS = 24 * HOUR_MS;
/** What it has and could not give, sooner: within the next look, which is an hour later. */
const FAILED_MS = HOUR_MS / 2;
/** Hashes in a row that stood for no change of any list, before contents are read less and less often. */
const VAIN_LOOKS_MAX = 2;
const CONTENT_WAIT_MS_MAX = 24 * HOUR_MS;
/** HTTP status of what the account may not read. */
const FORBIDDEN = new Set<unknown>([403, 401]);
/** That, and what is not there or is no list. */
const REFUSALS = new Set<unknown>([...FORBIDDEN, 404, 400]);

/** What is known of a list. */
interface List {
  /** Entries when it was last read; `undefined` until then. */
  readonly count: number | undefined;
  /** Of its content; `undefined` when only its entries were counted since it changed. */
  readonly digest: string | undefined;
  readonly changes: number;
  /** Not asked for until then. Milliseconds since the Unix epoch. */
  readonly asideUntilMs: number | undefined;
}

const UNKNOWN: List = { count: undefined, digest: undefined, changes: 0, asideUntilMs: undefined };

/** A look under way. */
interface Pass {
  /** What it is for. */
  readonly key: string;
  /** Lists that it has asked for. */
  readonly done: Set<string>;
  hasAnswers: boolean;
  hasChanges: boolean;
}

function createPass(key: string): Pass {
  return { key, done: new Set(), hasAnswers: false, hasChanges: false };
}

/** How closely one look goes: at nothing but what was put aside, at numbers, or at contents as well. */
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
  readonly #lists: Map<string, List>;
  readonly #digest: Digest;
  /** Digest of the router's hash when all lists were last read. */
  #hash: string | undefined;
  /** Digest of the router's hash at the last look. */
  #lastHash: string | undefined;
  /** New hashes in a row that stood for no change of a list. */
  #vainLooks: number;
  #contentsReadMs: number;
  #pass = createPass('');

  constructor(options: ConfigurationReaderOptions) {
    const previous = parseState(options.previous);
    const names = options.lists ?? CONFIGURATION_LISTS;
    this.#source = options.source;
    this.#clock = options.clock;
    this.#lists = new Map(names.map((name) => [name, previous.lists.get(name) ?? UNKNOWN]));
    this.#digest = new Digest(previous.key);
    this.#hash = previous.hash;
    this.#vainLooks = previous.vainLooks;
    this.#contentsReadMs = previous.contentsReadMs;
  }

  /** What a new reader of this router has to know to go on: changes made in between are noticed, and counters do not fall. */
  get state(): string {
    return JSON.stringify({
      version: STATE_VERSION,
      key: this.#digest.key,
      hash: this.#hash,
      vainLooks: this.#vainLooks,
      contentsReadMs: this.#contentsReadMs,
      lists: Object.fromEntries(this.#lists),
    });
  }

  async read({ configHash }: ReaderContext, signal: AbortSignal) {
    const hash = configHash === undefined ? undefined : this.#digest.of(configHash);
    const look = this.#chooseLook(hash);
    const key = `${look} ${hash}`;
    if (this.#pass.key !== key) this.#pass = createPass(key);
    const faults: MappingFault[] = [];
    let refusal: unknown;
    for (const name of this.#lists.keys()) {
      if (this.#pass.done.has(name) || !this.#isDue(name, look)) continue;
      // With a hash, a list that comes back has to be comparable.
      const failure = await this.#readList(
        name,
        look === 'contents' || (look === 'again' && hash !== undefined),
        signal,
      );
      this.#pass.done.add(name);
      if (failure && !isRefusal(failure.cause)) faults.push(UNREADABLE);
      else refusal ??= failure?.cause;
    }
    if (look === 'contents') this.#finishContents(hash);
    const isFromMemory = !this.#pass.hasAnswers;
    this.#pass = createPass('');
    // A router that has none of the lists does not have this part of the interface.
    if (refusal !== undefined && [...this.#lists.values()].every(({ count }) => count === undefined)) throw refusal;
    return { families: this.#toFamilies(), faults, isFromMemory };
  }

  #chooseLook(hash: string | undefined): Look {
    // One that has stayed for a look depends on nothing else than the configuration.
    if (hash === this.#lastHash || hash === this.#hash) this.#vainLooks = 0;
    this.#lastHash = hash;
    if (hash === undefined) return 'numbers';
    if (hash === this.#hash) return 'again';
    const waitMs =
      this.#vainLooks < VAIN_LOOKS_MAX ? 0 : Math.min(CONTENT_WAIT_MS_MAX, HOUR_MS * 2 ** (this.#vainLooks - 1));
    return Math.abs(this.#clock.now() - this.#contentsReadMs) >= waitMs ? 'contents' : 'numbers';
  }

  /** A list that was put aside is due when its time has come, at the latest; a new hash may mean that it is there now. */
  #isDue(name: string, look: Look): boolean {
    const { asideUntilMs } = this.#lists.get(name) ?? UNKNOWN;
    if (asideUntilMs === undefined) return look !== 'again';
    const leftMs = asideUntilMs - this.#clock.now();
    return leftMs <= 0 || leftMs > REFUSED_MS || look === 'contents';
  }

  #finishContents(hash: string | undefined): void {
    const isFirst = this.#hash === undefined;
    this.#hash = hash;
    this.#vainLooks = isFirst || this.#pass.hasChanges ? 0 : this.#vainLooks + 1;
    this.#contentsReadMs = this.#clock.now();
  }

  /**
   * Reads one list and moves its state on. Gives what the router could not answer; throws when it is gone, or when the
   * first list that it has is not for this account: then none is.
   */
  async #readList(
    name: string,
    withContent: boolean,
    signal: AbortSignal,
  ): Promise<{ readonly cause: unknown } | undefined> {
    const before = this.#lists.get(name) ?? UNKNOWN;
    try {
      const content = withContent ? toContent(await this.#source.readConfiguration(name, signal)) : undefined;
      const count = content ? content.count : await this.#source.countEntries(name, signal);
      if (!Number.isSafeInteger(count) || count < 0) return this.#putAside(name, undefined);
      const digest = content && this.#digest.of(content.canonical);
      const isOther = before.digest !== undefined && digest !== undefined && digest !== before.digest;
      const isChanged = before.count !== undefined && (count !== before.count || isOther);
      this.#pass.hasChanges ||= isChanged;
      this.#pass.hasAnswers = true;
      this.#lists.set(name, {
        count,
        // What is counted as changed by its number must not count again by its content.
        digest: digest ?? (isChanged ? undefined : before.digest),
        changes: before.changes + (isChanged ? 1 : 0),
        asideUntilMs: undefined,
      });
      return undefined;
    } catch (cause) {
      const isForbidden = FORBIDDEN.has(readField(cause, 'status')) && !this.#pass.hasAnswers;
      if (readField(cause, 'isAnswered') !== true || isForbidden) throw cause;
      return this.#putAside(name, cause);
    }
  }

  #putAside(name: string, cause: unknown): { readonly cause: unknown } {
    const asideUntilMs = this.#clock.now() + (isRefusal(cause) ? REFUSED_MS : FAILED_MS);
    this.#lists.set(name, { ...(this.#lists.get(name) ?? UNKNOWN), asideUntilMs });
    return { cause };
  }

  #toFamilies(): readonly MetricFamily[] {
    const entries: Sample[] = [];
    const changes: Sample[] = [];
    for (const [name, { count, changes: value, asideUntilMs }] of this.#lists) {
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

/** A list that the router has and could not give. */
const UNREADABLE: MappingFault = { module: 'configuration', metric: CONFIG_ENTRIES.name, reason: 'unknown_form' };

function isRefusal(cause: unknown): boolean {
  return REFUSALS.has(readField(cause, 'status'));
}

/** Hexadecimal digits of a digest: 32 bits miss one change in four thousand million. */
const DIGEST_LENGTH = 8;
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

/** Parts of an answer that are not the resource's: which profile it is of, and what its parameters may hold. */
const FOREIGN = new Set(['profile', 'scheme']);
/** Names that routers give to entries; whether they last is not known, and the content says what has changed. */
const IDENTIFIERS = new Set(['uid', 'list_uid', 'sublist_uid']);
/** Answers are four levels deep. What lies deeper is not compared. */
const DEPTH_MAX = 16;

/** The number of entries in a configuration answer, and a text that is equal for equal content. */
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

/** Of the text in {@link ConfigurationReader.state}. */
const STATE_VERSION = 1;

interface State {
  readonly key: string | undefined;
  readonly hash: string | undefined;
  readonly vainLooks: number;
  readonly contentsReadMs: number;
  readonly lists: ReadonlyMap<string, List>;
}

/** Reads a state; what is not one is a first contact. */
function parseState(text: string | undefined): State {
  const json = parseJson(text);
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

function decodeList(json: unknown): List {
  return {
    count: readNumber(json, 'count'),
    digest: readText(json, 'digest', DIGEST_LENGTH),
    changes: readNumber(json, 'changes') ?? 0,
    asideUntilMs: readNumber(json, 'asideUntilMs'),
  };
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

/** A field that is hexadecimal of this length. */
function readText(value: unknown, name: string, length: number): string | undefined {
  const field = readField(value, name);
  return typeof field === 'string' && field.length === length && /^[0-9a-f]+$/.test(field) ? field : undefined;
}

/** A field that is a number of things, or of milliseconds. */
function readNumber(value: unknown, name: string): number | undefined {
  const field = readField(value, name);
  return typeof field === 'number' && Number.isSafeInteger(field) && field >= 0 ? field : undefined;
}

function readField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
