import { isRecord, parseJsonObject, Rejection, type RejectionReason } from '../rejection.ts';
import { checkValue, type Field, type Values } from './resource.ts';
import { readDefaults } from './state.ts';

/** An entry as a client sent it: identifiers, and unchecked values. */
export interface EntryInput {
  readonly list_uid: unknown;
  readonly index: unknown;
  readonly sublist_uid: unknown;
  readonly values: Readonly<Record<string, unknown>>;
  /** Absent if the entry has none. */
  readonly sublist: readonly EntryInput[] | undefined;
}

/** The body of POST and PUT. */
export interface Envelope {
  readonly profileName: string | undefined;
  /** True if the profile is to be activated after the change. */
  readonly activate: boolean;
  readonly unique: Readonly<Record<string, unknown>> | undefined;
  readonly list: readonly EntryInput[] | undefined;
}

/** Entries in one request. */
const ENTRIES_MAX = 5000;

/**
 * Parses a configuration envelope. Fields next to the name in `profile` are accepted, so that a client can change an answer and send it
 * back. Parameters directly in `config` count as single-valued ones.
 */
export function parseEnvelope(body: string | Rejection): Envelope | Rejection {
  const parsed = parseJsonObject(body, ['profile', 'config']);
  if (parsed instanceof Rejection) return parsed;
  const profile = parseProfile(parsed['profile']);
  if (profile instanceof Rejection) return profile;
  const { config } = parsed;
  if (!isRecord(config)) return Rejection.of(400, 'config', 'an object is required');
  const { unique, list, ...loose } = config;
  if (unique !== undefined && !isRecord(unique)) return Rejection.of(400, 'unique', 'must be an object');
  const entries = list === undefined ? undefined : parseEntries('list', list);
  if (entries instanceof Rejection) return entries;
  const isLoose = Object.keys(loose).length > 0;
  return { ...profile, unique: isLoose ? { ...unique, ...loose } : unique, list: entries };
}

function parseProfile(profile: unknown): Pick<Envelope, 'profileName' | 'activate'> | Rejection {
  if (profile === undefined) return { profileName: undefined, activate: false };
  if (!isRecord(profile)) return Rejection.of(400, 'profile', 'must be an object');
  const { name, activate, last_activated: _lastActivated, modified: _modified, ...others } = profile;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return Rejection.of(400, unknown, 'unknown parameter');
  if (name !== undefined && typeof name !== 'string') return Rejection.of(400, 'name', 'must be a string');
  if (activate !== undefined && activate !== '0' && activate !== '1') {
    return Rejection.of(400, 'activate', 'must be "0" or "1"');
  }
  return { profileName: name, activate: activate === '1' };
}

function parseEntries(key: 'list' | 'sublist', entries: unknown): readonly EntryInput[] | Rejection {
  if (!Array.isArray(entries)) return Rejection.of(400, key, 'must be a list of entries');
  if (entries.length > ENTRIES_MAX) return Rejection.of(400, key, `must not hold more than ${ENTRIES_MAX} entries`);
  const inputs: EntryInput[] = [];
  for (const entry of entries as readonly unknown[]) {
    const input = parseEntry(key, entry);
    if (input instanceof Rejection) return input;
    inputs.push(input);
  }
  return inputs;
}

function parseEntry(key: 'list' | 'sublist', entry: unknown): EntryInput | Rejection {
  if (!isRecord(entry)) return Rejection.of(400, key, 'an entry must be an object');
  const { list_uid, index, sublist_uid, sublist, ...values } = entry;
  if (sublist === undefined) return { list_uid, index, sublist_uid, values, sublist: undefined };
  if (key === 'sublist') return Rejection.of(400, 'sublist', 'lists are not nested deeper than this');
  const inner = parseEntries('sublist', sublist);
  return inner instanceof Rejection ? inner : { list_uid, index, sublist_uid, values, sublist: inner };
}

/** Of one error body. */
const REASONS_MAX = 20;
const KEY_LENGTH_MAX = 100;

/** Checks the values of a request against the fields; collects all faults, each with its parameter. */
export class ValueCheck {
  readonly #reasons: RejectionReason[] = [];

  /** The faults found so far. */
  get fault(): Rejection | undefined {
    return this.#reasons.length > 0 ? new Rejection(400, this.#reasons) : undefined;
  }

  add(key: string, text: string): void {
    if (this.#reasons.length < REASONS_MAX) this.#reasons.push({ key: key.slice(0, KEY_LENGTH_MAX), text });
  }

  /** Returns the values of a new entry: those given, and defaults for the rest. */
  complete(fields: readonly Field[], given: Readonly<Record<string, unknown>>): Values {
    for (const { name, required } of fields) {
      if (required && !Object.hasOwn(given, name)) this.add(name, 'is required');
    }
    return this.merge(fields, readDefaults(fields), given);
  }

  /** Returns the values of an existing entry, updated with those given. */
  merge(fields: readonly Field[], values: Values, given: Readonly<Record<string, unknown>>): Values {
    const merged: Record<string, string> = { ...values };
    for (const [name, value] of Object.entries(given)) {
      const field = fields.find((one) => one.name === name);
      const text = field ? checkValue(field, value) : 'unknown parameter';
      if (text === undefined) merged[name] = value as string;
      else this.add(name, text);
    }
    return merged;
  }
}
