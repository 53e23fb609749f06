import { z } from 'zod';
import { Steps } from '../../base/index.ts';
import { findNearest } from '../schema/nearest.ts';
import {
  describeOwners,
  findSchema,
  type Issue,
  readSound,
  type SchemaAt,
  type SoundOf,
  unwrap,
} from '../schema/parts.ts';
import type { ConfigFile } from './config-file.ts';
import { describeValue } from './describe-value.ts';
import { type Environment, fillIn, isMap } from './environment.ts';
import { type KeyPath, renderKey } from './fault.ts';

/** Maximum number of unknown keys of a map that are reported one by one. */
const UNKNOWN_KEYS_MAX = 20;
/** Shorter beginnings of a key suggest none. */
const KEY_START_CHARS_MIN = 3;

/** Lists that are longer are checked item by item. */
const SHORT_LIST_MAX = 50;
/** A router has some forty; what is larger is not checked, because that would be one long step. */
const ITEM_VALUES_MAX = 10_000;

/**
 * Checks a file against its schema, after substituting the environment if there is one. Returns the valid part, so that checks
 * of several keys can run on it; it is complete when no fault was added. Long lists are checked in steps, between which other
 * work gets its turn.
 */
export async function checkSettings<Schema extends z.core.$ZodType>(
  file: ConfigFile,
  env: Environment | undefined,
  schema: Schema,
): Promise<SoundOf<Schema> | undefined> {
  const steps = new Steps();
  const { value } = file.source;
  const list = findLongList(schema, value);
  if (list) return (await checkItems(list, [], file, env, steps)) as SoundOf<Schema>;
  if (!(schema instanceof z.ZodObject && isMap(value))) return checkPart(file, env, schema, value, []);
  const lists = Object.entries(schema.shape).flatMap(([key, part]) => {
    const found = findLongList(part, value[key]);
    return found ? [[key, found] as const] : [];
  });
  if (lists.length === 0) return checkPart(file, env, schema, value, []);
  const short = { ...value, ...Object.fromEntries(lists.map(([key]) => [key, []])) };
  const sound: object = checkPart(file, env, schema, short, []) ?? {};
  for (const [key, found] of lists) Reflect.set(sound, key, await checkItems(found, [key], file, env, steps));
  return sound as SoundOf<Schema>;
}

/** A list, and the schema of its items. */
interface LongList {
  readonly element: z.core.$ZodType;
  readonly items: readonly unknown[];
}

/** Finds a long list whose schema says nothing of the list as a whole. */
function findLongList(schema: z.core.$ZodType, value: unknown): LongList | undefined {
  if (!Array.isArray(value)) return undefined;
  if (value.length <= SHORT_LIST_MAX && !value.some(isTooLarge)) return undefined;
  const inner = unwrap(schema, value);
  if (!(inner instanceof z.ZodArray && unwrap(inner.element, undefined) instanceof z.ZodObject)) return undefined;
  return (inner.def.checks ?? []).length === 0 ? { element: inner.element, items: value } : undefined;
}

async function checkItems(
  { element, items }: LongList,
  path: KeyPath,
  file: ConfigFile,
  env: Environment | undefined,
  steps: Steps,
): Promise<unknown[]> {
  const sound: unknown[] = [];
  for (const [index, item] of items.entries()) {
    if (file.faults.isFull) {
      file.faults.end([...path, index]);
      break;
    }
    if (isTooLarge(item)) {
      file.faults.add([...path, index], `This holds more than ${ITEM_VALUES_MAX} values`);
      sound.push({});
    } else sound.push(checkPart(file, env, element, item, [...path, index]) ?? {});
    if (steps.isDue) await steps.next();
  }
  return sound;
}

/** True if a value has far more inside of it than any item of a list needs. */
function isTooLarge(item: unknown): boolean {
  let count = 0;
  const pending = [item];
  while (pending.length > 0) {
    const value = pending.pop();
    if (++count + pending.length > ITEM_VALUES_MAX) return true;
    if (Array.isArray(value)) {
      if (value.length > ITEM_VALUES_MAX) return true;
      pending.push(...(value as readonly unknown[]));
    } else if (isMap(value)) for (const key in value) pending.push(value[key]);
  }
  return false;
}

/** Checks the item of a list at `path` by itself, without the environment. Returns its valid part. */
export function checkItem<Schema extends z.core.$ZodType>(
  file: ConfigFile,
  schema: Schema,
  item: unknown,
  path: KeyPath,
): SoundOf<Schema> | undefined {
  return checkPart(file, undefined, schema, item, path);
}

/** Checks the value at `base`. */
function checkPart<Schema extends z.core.$ZodType>(
  file: ConfigFile,
  env: Environment | undefined,
  schema: Schema,
  written: unknown,
  base: KeyPath,
): SoundOf<Schema> | undefined {
  const value = env ? fillIn(written, env, file, base) : written;
  const result = z.safeParse(schema, value);
  if (result.success) return result.data as SoundOf<Schema>;
  const issues = result.error.issues.flatMap((issue) => toInnerIssues(issue, schema, value));
  for (const issue of issues) {
    if (file.faults.isFull) {
      file.faults.end(base);
      break;
    }
    addFaults(issue, schema, value, file, base);
  }
  return readSound(schema, value, issues);
}

/** Converts the issue of a union to the issues inside of the map that was written. */
function toInnerIssues(issue: Issue, schema: z.core.$ZodType, value: unknown): Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  if (issue.discriminator !== undefined) return listUntaggedIssues(issue, schema, value);
  const ofMap = issue.errors.find((inner) =>
    inner.some(({ path, code }) => path.length > 0 || code === 'unrecognized_keys'),
  );
  const toOuter = (inner: Issue): Issue => ({ ...inner, path: [...issue.path, ...inner.path] });
  return ofMap?.flatMap((inner) => toInnerIssues(toOuter(inner), schema, value)) ?? [issue];
}

/** Lists the issues of a map whose tag is missing or invalid. */
function listUntaggedIssues(issue: Issue, schema: z.core.$ZodType, value: unknown): Issue[] {
  const path = issue.path.slice(0, -1);
  const found = findSchema(schema, path as KeyPath, value);
  const result = found && z.safeParse(found.schema, found.value);
  return result?.error?.issues.map((inner) => ({ ...inner, path: [...path, ...inner.path] })) ?? [issue];
}

function addFaults(issue: Issue, schema: z.core.$ZodType, value: unknown, file: ConfigFile, base: KeyPath): void {
  const { source, faults, secretKeys } = file;
  const path = [...base, ...(issue.path as KeyPath)];
  if (issue.code === 'unrecognized_keys') {
    addUnknownKeys(issue.keys, findSchema(schema, issue.path as KeyPath, value), file, path);
    return;
  }
  // A value that could not be filled in from the environment already has its fault.
  if (faults.covers(path)) return;
  if (issue.code === 'invalid_key') {
    const expected = issue.issues[0]?.message ?? 'another key';
    const isKeyHidden = source.valueAt(path) === null;
    const found = isKeyHidden ? 'another one' : `"${renderKey(String(path.at(-1)))}"`;
    faults.add(path, `Expected ${expected}; found ${found}`, { aim: 'key', isKeyHidden });
    return;
  }
  if (issue.code === 'custom' && issue.params?.['isSentence'] === true) {
    faults.add(path, issue.message, { aim: 'key' });
    return;
  }
  const raw = source.valueAt(path);
  const described: unknown = issue.code === 'custom' ? issue.params?.['found'] : undefined;
  const found = typeof described === 'string' ? described : describeValue(raw, path, secretKeys);
  faults.add(
    path,
    raw === undefined ? `Missing key; expected ${issue.message}` : `Expected ${issue.message}; found ${found}`,
    // As with an unknown key: what has no value among headers may be the value of the one before it.
    { nearest: findNearestValue(issue, raw), isKeyHidden: raw === null && secretKeys.isInMap(path.slice(0, -1)) },
  );
}

/** Adds a fault for each unknown key of a map. `map` is its schema and value. */
function addUnknownKeys(
  unknown: readonly string[],
  map: SchemaAt | undefined,
  { source, faults, secretKeys }: ConfigFile,
  path: KeyPath,
): void {
  const known = map ? listKeys(map.schema) : [];
  const excess = unknown.length - UNKNOWN_KEYS_MAX;
  for (const [index, key] of unknown.slice(0, UNKNOWN_KEYS_MAX + 1).entries()) {
    const keyPath = [...path, key];
    const removed = describeRemoved(key, known);
    if (removed !== undefined) {
      faults.add(keyPath, removed, { aim: 'key' });
      continue;
    }
    if (index === UNKNOWN_KEYS_MAX && excess > 1) {
      const message = `This and ${excess - 1} more keys of the same map are unknown`;
      faults.add(keyPath, message, { aim: 'key', isKeyHidden: true });
      return;
    }
    // In `{password, abc}`, with a comma for a colon, the password has become a key without a value.
    // So it has in the map of a secret.
    const isKeyHidden = source.valueAt(keyPath) === null || secretKeys.isSecret(path);
    const elsewhere = map?.union && describeOwners(map.union, map.value, key);
    const nearest = elsewhere === undefined ? findNearestKey(key, known) : undefined;
    const message = nearest === undefined ? `Unknown key; valid here: ${known.join(', ')}` : 'Unknown key';
    // Prometheus has labels of its own, and people write them like other keys.
    const label = nearest === undefined && known.includes('labels') ? '; labels of your own belong into "labels"' : '';
    faults.add(keyPath, elsewhere ?? `${message}${label}`, { aim: 'key', nearest, isKeyHidden });
  }
}

/** Says what to write instead of a removed key of a secret; `undefined` if a key is none. */
function describeRemoved(key: string, known: readonly string[]): string | undefined {
  const [, name = '', form] = /^(\w+)_(credential|command)$/.exec(key) ?? [];
  if (!known.includes(name) || !known.includes(`${name}_file`)) return undefined;
  return form === 'command'
    ? `There is no such key any more; write "${name}: { command: [program, argument] }"`
    : `There is no such key any more; write "${name}_file: \${CREDENTIALS_DIRECTORY}/NAME"`;
}

/** Returns the key that was probably intended: one that is spelt alike, or the only one that the written key begins. */
function findNearestKey(key: string, keys: readonly string[]): string | undefined {
  const longer = key.length < KEY_START_CHARS_MIN ? [] : keys.filter((candidate) => candidate.startsWith(key));
  return findNearest(key, keys) ?? (longer.length === 1 ? longer[0] : undefined);
}

/** Returns the value that was probably intended instead of `raw`: the suggestion of a check, or the nearest of a few words. */
function findNearestValue(issue: Issue, raw: unknown): string | undefined {
  const nearest: unknown = issue.code === 'custom' ? issue.params?.['nearest'] : undefined;
  if (typeof nearest === 'string') return nearest;
  return issue.code === 'invalid_value' && typeof raw === 'string'
    ? findNearest(raw, issue.values.map(String))
    : undefined;
}

/** Lists the keys of a map that the reference names as valid. */
function listKeys(map: z.core.$ZodType): string[] {
  if (!(map instanceof z.ZodObject)) return [];
  const shape: Readonly<Record<string, z.core.$ZodType>> = map.shape;
  return Object.keys(shape).filter((key) => {
    const inner = shape[key];
    const kind = inner && z.globalRegistry.get(unwrap(inner, undefined))?.['kind'];
    return inner !== undefined && kind !== 'unsupported' && kind !== 'removed' && kind !== 'undocumented';
  });
}
