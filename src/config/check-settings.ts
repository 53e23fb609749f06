import { z } from 'zod';
import type { ConfigFile } from './config-file.ts';
import { YAML_DEPTH_MAX } from './defaults.ts';
import { describeValue } from './describe-value.ts';
import { type Environment, fillIn } from './environment.ts';
import { type KeyPath, renderKey } from './fault.ts';
import { findNearest } from './nearest.ts';

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
  const issues = result.error.issues.flatMap(toInnerIssues);
  for (const issue of issues) addFaults(issue, form.schema, file);
  return readSound(value, form, issues);
}

/** What is wrong with a map where something else could stand, too: what is wrong inside of it. */
function toInnerIssues(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const ofMap = issue.errors.find((inner) =>
    inner.some(({ path, code }) => path.length > 0 || code === 'unrecognized_keys'),
  );
  return ofMap?.flatMap((inner) => toInnerIssues({ ...inner, path: [...issue.path, ...inner.path] })) ?? [issue];
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

function addFaults(issue: Issue, schema: z.core.$ZodType, { source, faults }: ConfigFile): void {
  const path = issue.path as KeyPath;
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) {
      const keys = listKeys(schema, path);
      const nearest = findNearest(key, keys);
      const message = nearest === undefined ? `Unknown key; valid here: ${keys.join(', ')}` : 'Unknown key';
      const keyPath = [...path, key];
      // In `{password, abc}`, with a comma for a colon, the password has become a key without a value.
      faults.add(keyPath, message, { aim: 'key', nearest, isKeyHidden: source.valueAt(keyPath) === null });
    }
    return;
  }
  // What could not be filled in from the environment has its fault already.
  if (faults.covers(path)) return;
  if (issue.code === 'invalid_key') {
    const expected = issue.issues[0]?.message ?? 'another key';
    faults.add(path, `Expected ${expected}; found "${renderKey(String(path.at(-1)))}"`, { aim: 'key' });
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
    { nearest: findNearestValue(issue, raw) },
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

/** The keys that the schema knows for the map at `path`, without those that it knows only to refuse them. */
function listKeys(schema: z.core.$ZodType, path: KeyPath): string[] {
  const map = findSchema(schema, path);
  if (!(map instanceof z.ZodObject)) return [];
  const shape: Readonly<Record<string, z.core.$ZodType>> = map.shape;
  return Object.keys(shape).filter((key) => {
    const inner = shape[key];
    return inner !== undefined && z.globalRegistry.get(unwrap(inner))?.['kind'] !== 'unsupported';
  });
}

/** The schema of what stands at `path`. */
function findSchema(schema: z.core.$ZodType, path: KeyPath): z.core.$ZodType | undefined {
  const inner = unwrap(schema);
  const [step, ...rest] = path;
  if (step === undefined) return inner;
  if (inner instanceof z.ZodArray) return findSchema(inner.element, rest);
  if (inner instanceof z.ZodRecord) return findSchema(inner.valueType, rest);
  if (!(inner instanceof z.ZodObject)) return undefined;
  const next: z.core.$ZodType | undefined = inner.shape[step];
  return next && findSchema(next, rest);
}

/** What a key or item is without its wrapping. Where a map is one of several kinds of values, the map. */
function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return unwrap(schema.unwrap());
  if (!(schema instanceof z.ZodUnion)) return schema;
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
    else if (findSchema(schema, path.slice(0, index + 1)) instanceof z.ZodObject)
      cut = () => void Reflect.set(map, step, {});
    holder = Reflect.get(map, step);
  }
  cut?.();
}
