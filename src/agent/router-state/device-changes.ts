import type { Sample } from '../../model/index.ts';
import type { PollResult } from '../../status/index.ts';

/** A fact that differs from its last known value; `before` is `undefined` at first contact. */
interface DeviceChange {
  readonly kind: string;
  /** Modem or profile; empty for a fact of the whole device. */
  readonly of: string;
  readonly before: string | undefined;
  readonly after: string;
}

/** Family of a shipped module, the kind of its changes, and its value, which is followed for each modem or profile. */
const FOLLOWED: readonly (readonly [family: string, kind: string, read: (sample: Sample) => string | undefined])[] = [
  ['router_modem_used_sim', 'sim', ({ labels }) => labels['used_sim']],
  ['router_modem_info', 'operator', ({ labels }) => labels['provider_name']],
  ['router_modem_access_technology', 'access_technology', ({ labels }) => labels['access_technology']],
  ['router_modem_cell_info', 'cell', ({ labels }) => labels['cell_id']],
  ['router_modem_online', 'modem', ({ value }) => (value === 1 ? 'online' : 'offline')],
  ['router_wan_active_info', 'wan', ({ labels }) => labels['chain']],
  ['router_profile_modified', 'profile', ({ value }) => (value === 1 ? 'changed since its activation' : 'unchanged')],
];
const UPTIME = 'router_uptime_seconds';
/** Resource with the hash of the configuration. */
const SYSTEM = 'sysdetail/system';
/** Kinds whose changes are counted: values of the label `fact`. */
const COUNTED: ReadonlySet<string> = new Set(['serial', 'sim', 'operator', 'access_technology', 'cell']);
/** Facts of one router: more than modems and a dozen profiles have. A router may invent others. */
const FACTS_MAX = 48;
const TEXT_CHARS_MAX = 64;
/** Digits of the hash of a configuration that are kept, as its metric has. */
const HASH_CHARS = 12;

/**
 * The last known facts of a router whose changes are counted or are events. A fact that is unknown for a while keeps its
 * value. They are stored, so that a change during a restart is seen, except cells: these are where the router is, and change
 * often.
 */
export class DeviceChanges {
  /** By kind and modem or profile. */
  readonly #facts = new Map<string, string>();
  #configHash: string | undefined;
  /** What the last poll, or {@link recall}, has changed. */
  latest: readonly DeviceChange[] = [];
  /** As read in the last poll; `readAtMs` is monotonic. */
  uptime: { readonly seconds: number; readonly readAtMs: number } | undefined;

  /** The changes of {@link latest} that are counted. */
  get counted(): readonly DeviceChange[] {
    return this.latest.filter(({ kind }) => COUNTED.has(kind));
  }

  /** Replaces the facts by those that {@link list} returned. */
  recall(facts: Readonly<Record<string, string>>): void {
    this.#facts.clear();
    this.latest = Object.entries(facts).flatMap(([key, value]) => this.#follow(key, value));
  }

  /** Compares the values of a poll with the last known ones. */
  record({ resources, serialNumber, firmwareVersion, configHash }: PollResult): void {
    // A router may report one modem many times.
    const seen = new Set<string>();
    this.uptime = undefined;
    const changes = resources.flatMap(({ families, readAtMs }) =>
      families.flatMap(({ name, samples }) => {
        const [first] = samples;
        if (name === UPTIME && first) this.uptime = { seconds: first.value, readAtMs };
        return FOLLOWED.filter(([family]) => family === name).flatMap(([, kind, readValue]) =>
          samples.flatMap((sample) => {
            const key = `${kind} ${sample.labels['modem'] ?? sample.labels['profile'] ?? ''}`.slice(0, TEXT_CHARS_MAX);
            if (seen.has(key)) return [];
            seen.add(key);
            return this.#follow(key, readValue(sample));
          }),
        );
      }),
    );
    this.#forgetProfiles(seen);
    this.latest = [
      ...this.#follow('serial ', serialNumber),
      ...this.#follow('firmware ', firmwareVersion),
      ...(resources.some(({ name, state }) => name === SYSTEM && state === 'read')
        ? this.#followConfig(configHash?.slice(0, HASH_CHARS))
        : []),
      ...changes,
    ];
  }

  find(kind: 'serial' | 'firmware'): string | undefined {
    return this.#facts.get(`${kind} `);
  }

  /** Returns the facts to be kept over a restart. */
  list(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#facts].filter(([key]) => !key.startsWith('cell ')));
  }

  /** Those that are gone leave their place to others, unless none was read: operators create and delete profiles. */
  #forgetProfiles(read: ReadonlySet<string>): void {
    const isProfile = (key: string) => key.startsWith('profile ');
    if (![...read].some(isProfile)) return;
    for (const key of this.#facts.keys()) if (isProfile(key) && !read.has(key)) this.#facts.delete(key);
  }

  /** Some firmware reports another hash every time: one counts when it is reported twice in a row. */
  #followConfig(hash: string | undefined): readonly DeviceChange[] {
    if (hash === undefined) return [];
    const isSteady = hash === this.#configHash;
    this.#configHash = hash;
    return isSteady ? this.#follow('config ', hash) : [];
  }

  #follow(longKey: string, value = ''): readonly DeviceChange[] {
    const [key, after] = [longKey.slice(0, TEXT_CHARS_MAX), value.slice(0, TEXT_CHARS_MAX).toWellFormed()];
    const before = this.#facts.get(key);
    if (after === '' || after === before || (before === undefined && this.#facts.size >= FACTS_MAX)) return [];
    this.#facts.set(key, after);
    const [kind = '', of = ''] = key.split(/ (.*)/s);
    return [{ kind, of, before, after }];
  }
}
