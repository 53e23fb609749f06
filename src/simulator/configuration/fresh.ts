import type { Values } from './resource.ts';
import { resourceTable } from './resource-table.ts';
import { type Configuration, readFresh, readState } from './state.ts';

/** Returns the configuration of a fresh device, with the router's own single values by path and parameter. */
export function createFreshConfiguration(own: Readonly<Record<string, Values>>): Configuration {
  const states = Object.entries(own).flatMap(([path, values]) => {
    const definition = resourceTable.get(path);
    if (!definition) return [];
    const fresh = readFresh(definition);
    return [[path, { ...fresh, unique: { ...fresh.unique, ...values } }] as const];
  });
  return new Map(states);
}

/** Returns a single value of a configuration; empty if the parameter does not exist. */
export function readValue(configuration: Configuration, path: string, name: string): string {
  const definition = resourceTable.get(path);
  return definition ? (readState(configuration, definition).unique[name] ?? '') : '';
}

/** Returns the entries of a list in a configuration; empty if the list does not exist. */
export function readEntries(configuration: Configuration, path: string): ReturnType<typeof readFresh>['list'] {
  const definition = resourceTable.get(path);
  return definition ? readState(configuration, definition).list : [];
}
