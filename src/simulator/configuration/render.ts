import { createHash } from 'node:crypto';
import { type ListDefinition, type ResourceDefinition, renderDescriptor } from './resource.ts';
import type { Entry, ResourceState } from './state.ts';

const HASH = /^\$6\$([^$]{1,16})\$[A-Za-z0-9+.]{86}$/;

/**
 * Returns a password as the device exports it: in the form of SHA-512 crypt, at most 106 characters. The digest is a plain salted one: it
 * protects no secret, and logins have to be cheap.
 */
export function renderPasswordHash(password: string, salt: string): string {
  if (HASH.test(password)) return password;
  const digest = createHash('sha512').update(`${salt}$${password}`).digest('base64');
  return `$6$${salt}$${digest.replaceAll('/', '.').slice(0, 86)}`;
}

/** Returns true if `given` is the password; `stored` may also be an exported hash. */
export function isPassword(given: string, stored: string): boolean {
  const salt = HASH.exec(stored)?.[1];
  return salt === undefined ? given === stored : renderPasswordHash(given, salt) === stored && !HASH.test(given);
}

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

/** In the order of the fields. A write-only value appears as a hash if requested, otherwise it is left out. */
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
