import { z } from 'zod';
import { describeValue } from './describe-value.ts';
import { type KeyPath, renderKey } from './fault.ts';
import type { FaultList } from './fault-list.ts';
import { findNearest } from './nearest.ts';
import { configSchema, incompleteConfigSchema, type Settings } from './schema.ts';
import type { ConfigSource } from './source.ts';

type Issue = z.core.$ZodIssue;

/**
 * Checks the filled-in value of a file against the schema. Returns what is sound of it, so that the checks which look at
 * several keys can go on; it is complete when no fault was added.
 */
export function checkSettings(value: unknown, source: ConfigSource, faults: FaultList): Settings {
  const result = configSchema.safeParse(value);
  if (result.success) return result.data;
  for (const issue of result.error.issues) addFaults(issue, source, faults);
  for (const issue of result.error.issues) {
    const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    for (const path of paths) prune(value, path as KeyPath);
  }
  return incompleteConfigSchema.safeParse(value).data ?? {};
}

function addFaults(issue: Issue, source: ConfigSource, faults: FaultList): void {
  const path = issue.path as KeyPath;
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) addUnknownKey([...path, key], key, source, faults);
    return;
  }
  // What could not be filled in from the environment has its fault already.
  if (faults.covers(path)) return;
  if (issue.code === 'invalid_key') {
    const expected = issue.issues[0]?.message ?? 'another key';
    faults.add(path, `Expected ${expected}; found "${renderKey(String(path.at(-1)))}"`, { aim: 'key' });
    return;
  }
  const raw = source.valueAt(path);
  const nearest: unknown = issue.code === 'custom' ? issue.params?.['nearest'] : undefined;
  faults.add(
    path,
    raw === undefined
      ? `Missing key; expected ${issue.message}`
      : `Expected ${issue.message}; found ${describeValue(raw, path)}`,
    { nearest: typeof nearest === 'string' ? nearest : undefined },
  );
}

function addUnknownKey(path: KeyPath, key: string, source: ConfigSource, faults: FaultList): void {
  const keys = listKeys(configSchema, path.slice(0, -1));
  const nearest = findNearest(key, keys);
  const message = nearest === undefined ? `Unknown key; valid here: ${keys.join(', ')}` : 'Unknown key';
  // In `{password, abc}`, with a comma for a colon, the password has become a key without a value.
  faults.add(path, message, { aim: 'key', nearest, isKeyHidden: source.valueAt(path) === null });
}

/** The keys that the schema knows for the map at `path`. */
function listKeys(schema: z.core.$ZodType, path: KeyPath): string[] {
  const inner = unwrap(schema);
  const [step, ...rest] = path;
  if (inner instanceof z.ZodArray) return step === undefined ? [] : listKeys(inner.element, rest);
  if (!(inner instanceof z.ZodObject)) return [];
  if (step === undefined) return Object.keys(inner.shape);
  const next: z.core.$ZodType | undefined = inner.shape[step];
  return next ? listKeys(next, rest) : [];
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional ? unwrap(schema.unwrap()) : schema;
}

/**
 * Takes away the faulty part of `root`: the innermost key that holds `path`, since taking away a list item would move the
 * others. A faulty router or sink becomes an empty one.
 */
function prune(root: unknown, path: KeyPath): void {
  let holder: unknown = root;
  let cut: (() => void) | undefined;
  for (const [index, step] of path.entries()) {
    if (typeof holder !== 'object' || holder === null) break;
    const map: object = holder;
    const isListedSection = index === 1 && typeof step === 'number';
    if (typeof step === 'string') cut = () => void Reflect.deleteProperty(map, step);
    else if (isListedSection) cut = () => void Reflect.set(map, step, {});
    holder = Reflect.get(map, step);
  }
  cut?.();
}
