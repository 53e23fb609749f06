import { areSameSettings, listLeaves, toComparable } from '../settings/index.ts';
import type { RouterSettings } from './config.ts';
import { routerSchema } from './router-schema.ts';

/**
 * Lists the keys of a router whose values differ between two settings, as they stand in the file, in alphabetical order:
 * `poll.interval`. Keys alone, because values may be secrets. A file or module with the same name and other content counts.
 */
export function listChangedKeys(before: RouterSettings, after: RouterSettings): readonly string[] {
  const [old, next] = [listLeaves(routerSchema, before), listLeaves(routerSchema, after)];
  const names = [...new Set([...old.keys(), ...next.keys()])];
  return names.filter((name) => !isSameSetting(old.get(name), next.get(name))).toSorted();
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
