import { Secret } from '../base/index.ts';
import { areSameSettings, toComparable } from '../settings/index.ts';
import type { RouterSettings } from './config.ts';
import { toRouterKeys } from './render-effective.ts';

/** Settings whose key in the file has another name. */
const KEY_NAMES: Readonly<Partial<Record<keyof RouterSettings, string>>> = {
  byteBudget: 'byte_budget',
  byteBudgetStatusShare: 'byte_budget',
  lifecycle: 'state',
  bearerToken: 'bearer_token',
  sourceAddress: 'source_address',
};

/**
 * Lists the keys of a router whose values differ between two settings, as they stand in the file, in alphabetical order:
 * `poll.interval`. Keys alone, because values may be secrets. A file or module with the same name and other content counts.
 */
export function listChangedKeys(before: RouterSettings, after: RouterSettings): readonly string[] {
  const [old, next] = [flatten(toRouterKeys(before)), flatten(toRouterKeys(after))];
  const names = [...new Set([...old.keys(), ...next.keys()])];
  const changed = new Set(names.filter((name) => !areSameSettings(old.get(name), next.get(name))));
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof RouterSettings>) {
    const key = KEY_NAMES[name] ?? name;
    const isKnown = [...changed].some((one) => one === key || one.startsWith(`${key}.`));
    if (!isKnown && !isSameSetting(before[name], after[name])) changed.add(key);
  }
  return [...changed].toSorted();
}

/** Lists the values of nested maps by their dotted keys. */
function flatten(keys: object, prefix = '', flat = new Map<string, unknown>()): Map<string, unknown> {
  for (const [key, value] of Object.entries(keys)) {
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Secret);
    if (isMap) flatten(value as object, `${prefix}${key}.`, flat);
    else if (value !== undefined) flat.set(prefix + key, value);
  }
  return flat;
}

/** Routers share lists of modules, which are long. */
const texts = new WeakMap<object, string>();

function isSameSetting(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return areSameSettings(a, b);
  const [one, other] = [a, b].map((list) => {
    const text = texts.get(list) ?? JSON.stringify(toComparable(list));
    texts.set(list, text);
    return text;
  });
  return one === other;
}
