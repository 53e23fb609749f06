import { renderDescriptor } from './field.ts';
import { renderPasswordHash } from './password-hash.ts';
import type { ListDefinition, ResourceDefinition } from './resource.ts';
import type { Entry, ResourceState } from './state.ts';

/** Renders the part `config` of an answer: single values, and `entries` of the list. */
export function renderConfig(
  definition: ResourceDefinition,
  state: ResourceState,
  entries: readonly Entry[] = state.list,
): object {
  const { unique, list } = definition;
  const withHashes = state.unique['password_hashes'] === '1';
  return {
    ...(unique.length > 0 && { unique: state.unique }),
    ...(list && { list: entries.map((entry) => renderEntry(list, entry, withHashes)) }),
  };
}

/** Renders the part `scheme` of an answer: all parameters of the resource with type and limits. */
export function renderScheme({ unique, list }: ResourceDefinition): object {
  return {
    parameters: {
      unique: unique.map(renderDescriptor),
      ...(list && { list: list.fields.map(renderDescriptor) }),
      ...(list?.sublist && { sublist: list.sublist.map(renderDescriptor) }),
    },
  };
}

/**
 * Renders values in the order of the fields. A write-only value appears as a hash if requested, and otherwise not at
 * all.
 */
function renderEntry(list: ListDefinition, entry: Entry, withHashes: boolean): object {
  const { uid, index, fields, sublist } = entry;
  const { nameKey = 'name' } = list;
  return {
    list_uid: uid,
    [nameKey]: index,
    ...Object.fromEntries(
      list.fields.flatMap(({ name, writeOnly }) => {
        const value = fields[name] ?? '';
        if (!writeOnly) return [[name, value]];
        return withHashes ? [[name, renderPasswordHash(value, uid)]] : [];
      }),
    ),
    ...(list.sublist && { sublist: sublist.map((sub) => ({ sublist_uid: sub.uid, ...sub.fields })) }),
  };
}
