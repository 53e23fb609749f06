import { z } from 'zod';
import { forEachYielding } from '../../base/index.ts';
import { findNearest } from '../schema/names.ts';
import {
  describeOwners,
  findSchema,
  type Issue,
  readSound,
  type SchemaAt,
  type SoundOf,
  unwrap,
} from '../schema/parts.ts';
import { describeValue } from '../schema/secret-keys.ts';
import type { ConfigFile } from './config-file.ts';
import { type KeyPath, renderKey } from './fault.ts';

/** Unknown keys of a map that are reported one by one. */
const UNKNOWN_KEYS_MAX = 20;
/** A shorter beginning of a key suggests none. */
const KEY_START_CHARS_MIN = 3;

/** Longer lists are checked item by item. */
const SHORT_LIST_MAX = 50;
/** A router has some forty. A larger item is not checked: that would block the main thread. */
const ITEM_VALUES_MAX = 10_000;

/**
 * Checks a file against its schema, after replacing variables if there is an environment. Returns the valid part; it is
 * complete if no fault was added. Yields between the items of long lists.
 */
export async function checkSettings<Schema extends z.core.$ZodType>(
  file: ConfigFile,
  env: Environment | undefined,
  schema: Schema,
): Promise<SoundOf<Schema> | undefined> {
  const { value } = file.source;
  const list = findLongList(schema, value);
  if (list) return (await checkItems(list, [], file, env)) as SoundOf<Schema>;
  if (!(schema instanceof z.ZodObject && isMap(value))) return checkPart(file, env, schema, value, []);
  const lists = Object.entries(schema.shape).flatMap(([key, part]) => {
    const found = findLongList(part, value[key]);
    return found ? [[key, found] as const] : [];
  });
  if (lists.length === 0) return checkPart(file, env, schema, value, []);
  const short = { ...value, ...Object.fromEntries(lists.map(([key]) => [key, []])) };
  const sound: object = checkPart(file, env, schema, short, []) ?? {};
  for (const [key, found] of lists) Reflect.set(sound, key, await checkItems(found, [key], file, env));
  return sound as SoundOf<Schema>;
}

interface LongList {
  readonly element: z.core.$ZodType;
  readonly items: readonly unknown[];
}

/** A list whose schema has checks of the whole list is checked at once. */
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
): Promise<unknown[]> {
  const sound: unknown[] = [];
  await forEachYielding(items.entries(), ([index, item]) => {
    if (file.faults.isFull) file.faults.end([...path, index]);
    else if (isTooLarge(item)) {
      file.faults.add([...path, index], `This holds more than ${ITEM_VALUES_MAX} values`);
      sound.push({});
    } else sound.push(checkPart(file, env, element, item, [...path, index]) ?? {});
  });
  return sound;
}

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

/** Checks one list item, at `path`, without the environment. Returns its valid part. */
export function checkItem<Schema extends z.core.$ZodType>(
  file: ConfigFile,
  schema: Schema,
  item: unknown,
  path: KeyPath,
): SoundOf<Schema> | undefined {
  return checkPart(file, undefined, schema, item, path);
}

/** `base`: path of the value in the file. */
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

/** Of a union, the issues inside the map that was written are reported. */
function toInnerIssues(issue: Issue, schema: z.core.$ZodType, value: unknown): Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  if (issue.discriminator !== undefined) return listUntaggedIssues(issue, schema, value);
  const ofMap = issue.errors.find((inner) =>
    inner.some(({ path, code }) => path.length > 0 || code === 'unrecognized_keys'),
  );
  const toOuter = (inner: Issue): Issue => ({ ...inner, path: [...issue.path, ...inner.path] });
  return ofMap?.flatMap((inner) => toInnerIssues(toOuter(inner), schema, value)) ?? [issue];
}

/** The tag is missing or invalid. */
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
  // A value whose variable is not set already has its fault.
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
    // In a map of headers, a key without a value may itself be a secret.
    { nearest: findNearestValue(issue, raw), isKeyHidden: raw === null && secretKeys.isInMap(path.slice(0, -1)) },
  );
}

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
    // In `{password, abc}`, with a comma instead of a colon, the password is a key without a value. The same holds in
    // the map of a secret.
    const isKeyHidden = source.valueAt(keyPath) === null || secretKeys.isSecret(path);
    const elsewhere = map?.union && describeOwners(map.union, map.value, key);
    const nearest = elsewhere === undefined ? findNearestKey(key, known) : undefined;
    const message = nearest === undefined ? `Unknown key; valid here: ${known.join(', ')}` : 'Unknown key';
    // Operators often write Prometheus labels like other keys.
    const label = nearest === undefined && known.includes('labels') ? '; labels of your own belong into "labels"' : '';
    faults.add(keyPath, elsewhere ?? `${message}${label}`, { aim: 'key', nearest, isKeyHidden });
  }
}

/** Returns what to write instead of a removed form of a secret. */
function describeRemoved(key: string, known: readonly string[]): string | undefined {
  const [, name = '', form] = /^(\w+)_(credential|command)$/.exec(key) ?? [];
  if (!known.includes(name) || !known.includes(`${name}_file`)) return undefined;
  return form === 'command'
    ? `There is no such key any more; write "${name}: { command: [program, argument] }"`
    : `There is no such key any more; write "${name}_file: \${CREDENTIALS_DIRECTORY}/NAME"`;
}

/** Prefers a similar spelling to the only key that begins like it. */
function findNearestKey(key: string, keys: readonly string[]): string | undefined {
  const longer = key.length < KEY_START_CHARS_MIN ? [] : keys.filter((candidate) => candidate.startsWith(key));
  return findNearest(key, keys) ?? (longer.length === 1 ? longer[0] : undefined);
}

function findNearestValue(issue: Issue, raw: unknown): string | undefined {
  const nearest: unknown = issue.code === 'custom' ? issue.params?.['nearest'] : undefined;
  if (typeof nearest === 'string') return nearest;
  return issue.code === 'invalid_value' && typeof raw === 'string'
    ? findNearest(raw, issue.values.map(String))
    : undefined;
}

/** Only keys that the reference names as valid. */
function listKeys(map: z.core.$ZodType): string[] {
  if (!(map instanceof z.ZodObject)) return [];
  const shape: Readonly<Record<string, z.core.$ZodType>> = map.shape;
  return Object.keys(shape).filter((key) => {
    const inner = shape[key];
    const kind = inner && z.globalRegistry.get(unwrap(inner, undefined))?.['kind'];
    return inner !== undefined && kind !== 'unsupported' && kind !== 'undocumented';
  });
}

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** `$${` is first, because it is an escape; `${` alone, the last, is a mistake. */
const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;

const CREDENTIALS_ADVICE = 'systemd sets it for a service with LoadCredential= or SetCredential=';

/**
 * Replaces `${NAME}` and `${NAME:-default}` in every text, not recursively. As in a shell, the default also replaces an
 * empty variable. A text with an unset variable is a fault, and is omitted.
 */
function fillIn(
  value: unknown,
  env: Environment,
  file: Pick<ConfigFile, 'faults' | 'secretKeys'>,
  path: KeyPath,
): unknown {
  if (typeof value === 'string') return value.includes('${') ? fillInText(value, env, file, path) : value;
  if (Array.isArray(value)) return value.map((item, index) => fillIn(item, env, file, [...path, index]));
  if (!isMap(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const itemPath = [...path, key];
    // An assignment would set the prototype instead.
    if (key === '__proto__') file.faults.add(itemPath, 'No key has this name', { aim: 'key' });
    else copy[key] = fillIn(item, env, file, itemPath);
  }
  return copy;
}

function fillInText(
  text: string,
  env: Environment,
  file: Pick<ConfigFile, 'faults' | 'secretKeys'>,
  path: KeyPath,
): string | undefined {
  const { faults, secretKeys } = file;
  const problems = new Set<string>();
  const filled = text.replaceAll(REFERENCE, (match, name?: string, fallback?: string) => {
    if (match === '$${') return '${';
    if (name === undefined) {
      problems.add(`Expected \${NAME} or \${NAME:-default}; write $\${ where the text itself has "\${"`);
      return '';
    }
    const found = Object.hasOwn(env, name) ? env[name] : undefined;
    if (fallback !== undefined) return found || fallback;
    if (found === undefined) {
      // In a password, what looks like a name may be part of the password.
      const isPerhapsSecret = secretKeys.isSecret(path) || (secretKeys.isSensitive(path) && text.includes('?'));
      const isNameable = match === text || !isPerhapsSecret;
      const advice = name === 'CREDENTIALS_DIRECTORY' ? CREDENTIALS_ADVICE : `set it, or write \${${name}:-default}`;
      problems.add(
        isNameable
          ? `The environment variable ${name} is not set; ${advice}`
          : `An environment variable in this text is not set; write $\${ where the text itself has "\${"`,
      );
    }
    return found ?? '';
  });
  for (const problem of problems) faults.add(path, problem);
  return problems.size === 0 ? filled : undefined;
}

/** False for the other objects that YAML tags can create. */
function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
