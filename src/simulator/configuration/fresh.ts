import type { Values } from './resource.ts';
import { resourceTable } from './resource-table.ts';
import { type Configuration, readFresh, readState } from './state.ts';

/** The configuration of a fresh device, with some single values that only this router has. By path, then by parameter. */
export function createFreshConfiguration(own: Readonly<Record<string, Values>>): Configuration {
  const states = Object.entries(own).flatMap(([path, values]) => {
    const definition = resourceTable.get(path);
    if (!definition) return [];
    const fresh = readFresh(definition);
    return [[path, { ...fresh, unique: { ...fresh.unique, ...values } }] as const];
  });
  return new Map(states);
}

/** A single value of a configuration; empty when there is no such parameter. */
export function readValue(configuration: Configuration, path: string, name: string): string {
  const definition = resourceTable.get(path);
  return definition ? (readState(configuration, definition).unique[name] ?? '') : '';
}

/** The entries of a configuration's list; empty when there is no such list. */
export function readEntries(configuration: Configuration, path: string): ReturnType<typeof readFresh>['list'] {
  const definition = resourceTable.get(path);
  return definition ? readState(configuration, definition).list : [];
}
