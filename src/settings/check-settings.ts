import { z } from 'zod';
import type { ConfigFile } from './config-file.ts';
import { describeValue, isInSinkHeaders } from './describe-value.ts';
import { type KeyPath, renderKey } from './fault.ts';
import { type Environment, fillIn } from './fill-in.ts';
import { findNearest } from './nearest.ts';
import { YAML_DEPTH_MAX } from './parse-source.ts';
import { describeOwners, findVariant, toUntagged } from './tagged-union.ts';

type Issue = z.core.$ZodIssue;

/** What a file, or a part of one, has to look like. */
export interface Form<Sound> {
  readonly schema: z.core.$ZodType<Sound>;
  /** The same without what is required: reads the sound rest of a faulty value, so that all its faults are told at once. */
  readonly incomplete: z.ZodType<Sound>;
}

/**
 * Checks a file, with the environment filled in if there is one. Returns what is sound of it, so that the checks which look at several
 * keys can go on; it is complete when no fault was added.
 */
export function checkSettings<Sound>(
  file: ConfigFile,
  env: Environment | undefined,
  form: Form<Sound>,
): Sound | undefined {
  // A copy in any case, because what is faulty is taken out of it.
  const value = env ? fillIn(file.source.value, env, file.faults) : structuredClone(file.source.value);
  const result = z.safeParse(form.schema, value);
  if (result.success) return result.data;
  const issues = result.error.issues.flatMap((issue) => toInnerIssues(issue, form.schema, value));
  for (const issue of issues) addFaults(issue, form.schema, value, file);
  return readSound(value, form, issues);
}

/** What is wrong with a map where something else could stand, too, or a map of another kind: what is wrong inside of it. */
function toInnerIssues(issue: Issue, schema: z.core.$ZodType, value: unknown): Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  if (issue.discriminator !== undefined) return listUntaggedIssues(issue, schema, value);
  const ofMap = issue.errors.find((inner) =>
    inner.some(({ path, code }) => path.length > 0 || code === 'unrecognized_keys'),
  );
  const toOuter = (inner: Issue): Issue => ({ ...inner, path: [...issue.path, ...inner.path] });
  return ofMap?.flatMap((inner) => toInnerIssues(toOuter(inner), schema, value)) ?? [issue];
}

/** What is wrong with a map that does not say of which kind it is. */
function listUntaggedIssues(issue: Issue, schema: z.core.$ZodType, value: unknown): Issue[] {
  const path = issue.path.slice(0, -1);
  const found = findSchema(schema, path as KeyPath, value);
  const result = found && z.safeParse(found.schema, found.value);
  return result?.error?.issues.map((inner) => ({ ...inner, path: [...path, ...inner.path] })) ?? [issue];
}

/** What is left of a value without its faulty parts. */
function readSound<Sound>(value: unknown, form: Form<Sound>, issues: readonly Issue[]): Sound | undefined {
  let pending = issues;
  // What is left of a part can be faulty in its turn, such as an empty map; no part has more levels than the deepest key.
  for (let round = 0; round < YAML_DEPTH_MAX; round++) {
    for (const issue of pending) {
      const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
      for (const path of paths) prune(value, path as KeyPath, form.schema);
    }
    const result = form.incomplete.safeParse(value);
    if (result.success) return result.data;
    pending = result.error.issues;
  }
  return undefined;
}

function addFaults(issue: Issue, schema: z.core.$ZodType, value: unknown, { source, faults }: ConfigFile): void {
  const path = issue.path as KeyPath;
  if (issue.code === 'unrecognized_keys') {
    const map = findSchema(schema, path, value);
    const keys = map ? listKeys(map.schema) : [];
    for (const key of issue.keys) {
      const keyPath = [...path, key];
      // In `{password, abc}`, with a comma for a colon, the password has become a key without a value.
      const isKeyHidden = source.valueAt(keyPath) === null;
      const elsewhere = map?.union && describeOwners(map.union, map.value, key);
      const nearest = elsewhere === undefined ? findNearest(key, keys) : undefined;
      const message = nearest === undefined ? `Unknown key; valid here: ${keys.join(', ')}` : 'Unknown key';
      faults.add(keyPath, elsewhere ?? message, { aim: 'key', nearest, isKeyHidden });
    }
    return;
  }
  // What could not be filled in from the environment has its fault already.
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
  faults.add(
    path,
    raw === undefined
      ? `Missing key; expected ${issue.message}`
      : `Expected ${issue.message}; found ${describeValue(raw, path)}`,
    // As with an unknown key: what has no value among headers may be the value of the one before it.
    { nearest: findNearestValue(issue, raw), isKeyHidden: raw === null && isInSinkHeaders(path.slice(0, -1)) },
  );
}

/** What was probably meant instead of `raw`: a check may know, and of a few words it is the nearest one. */
function findNearestValue(issue: Issue, raw: unknown): string | undefined {
  const nearest: unknown = issue.code === 'custom' ? issue.params?.['nearest'] : undefined;
  if (typeof nearest === 'string') return nearest;
  return issue.code === 'invalid_value' && typeof raw === 'string'
    ? findNearest(raw, issue.values.map(String))
    : undefined;
}

/** The keys of a map, without those that it knows only to refuse them. */
function listKeys(map: z.core.$ZodType): string[] {
  if (!(map instanceof z.ZodObject)) return [];
  const shape: Readonly<Record<string, z.core.$ZodType>> = map.shape;
  return Object.keys(shape).filter((key) => {
    const inner = shape[key];
    return inner !== undefined && z.globalRegistry.get(unwrap(inner))?.['kind'] !== 'unsupported';
  });
}

/** A part of a value, and what it has to look like. */
interface SchemaAt {
  readonly schema: z.core.$ZodType;
  readonly value: unknown;
  /** Of which `schema` is one of the maps. */
  readonly union?: z.ZodDiscriminatedUnion;
}

/** The schema of what stands at `path` in `value`. */
function findSchema(schema: z.core.$ZodType, path: KeyPath, value: unknown): SchemaAt | undefined {
  const inner = unwrap(schema);
  const [step, ...rest] = path;
  if (inner instanceof z.ZodDiscriminatedUnion) {
    const found = findSchema(findVariant(inner, value) ?? toUntagged(inner), path, value);
    return found && step === undefined ? { ...found, union: inner } : found;
  }
  if (step === undefined) return { schema: inner, value };
  const part: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined;
  if (inner instanceof z.ZodArray) return findSchema(inner.element, rest, part);
  if (inner instanceof z.ZodRecord) return findSchema(inner.valueType, rest, part);
  if (!(inner instanceof z.ZodObject)) return undefined;
  const next: z.core.$ZodType | undefined = inner.shape[step];
  return next && findSchema(next, rest, part);
}

/** What a key or item is without its wrapping. Where a map is one of several kinds of values, the map. */
function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return unwrap(schema.unwrap());
  if (!(schema instanceof z.ZodUnion) || schema instanceof z.ZodDiscriminatedUnion) return schema;
  return schema.options.find((option) => option instanceof z.ZodObject) ?? schema;
}

/**
 * Takes away the faulty part of `root`: the innermost key that holds `path`, since taking away a list item would move the
 * others. An item that is faulty as a whole, where a map is expected, becomes an empty map.
 */
function prune(root: unknown, path: KeyPath, schema: z.core.$ZodType): void {
  let holder: unknown = root;
  let cut: (() => void) | undefined;
  for (const [index, step] of path.entries()) {
    if (typeof holder !== 'object' || holder === null) break;
    const map: object = holder;
    if (typeof step === 'string') cut = () => void Reflect.deleteProperty(map, step);
    else if (findSchema(schema, path.slice(0, index + 1), root)?.schema instanceof z.ZodObject)
      cut = () => void Reflect.set(map, step, {});
    holder = Reflect.get(map, step);
  }
  cut?.();
}
