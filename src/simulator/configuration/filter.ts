import { Rejection } from '../rejection.ts';
import type { ListDefinition } from './resource.ts';
import type { Entry, SubEntry } from './state.ts';

interface Filter {
  readonly parameter: string;
  readonly operator: 'eq' | 'like';
  readonly values: readonly string[];
}

/** An entry that meets all conditions, and the matching entries of its sublist. */
export interface Selected {
  readonly entry: Entry;
  readonly sublist: readonly SubEntry[];
}

/** More conditions or values do not fit into a request line. */
const CONDITIONS_MAX = 256;

/** Parses `filter`: a JSON object `{p, o, v}` or a list. An empty list is rejected: on DELETE it would match all entries. */
export function parseFilter(json: string): readonly Filter[] | Rejection {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return Rejection.of(400, 'filter', 'malformed JSON');
  }
  const conditions: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (conditions.length === 0 || conditions.length > CONDITIONS_MAX) {
    return Rejection.of(400, 'filter', `from 1 to ${CONDITIONS_MAX} conditions are expected`);
  }
  const filters: Filter[] = [];
  for (const condition of conditions) {
    const filter = parseCondition(condition);
    if (filter instanceof Rejection) return filter;
    filters.push(filter);
  }
  return filters;
}

/** Returns the entries that meet every condition. One sublist entry must meet all conditions on the sublist. */
export function selectEntries(
  list: ListDefinition,
  entries: readonly Entry[],
  filters: readonly Filter[],
): readonly Selected[] | Rejection {
  const nameKey = list.nameKey ?? 'name';
  const outer = new Set(['list_uid', nameKey, ...readable(list.fields)]);
  const inner = new Set(list.sublist ? ['sublist_uid', ...readable(list.sublist)] : []);
  const unknown = filters.find(({ parameter }) => !outer.has(parameter) && !inner.has(parameter));
  if (unknown) return Rejection.of(400, 'filter', `${unknown.parameter.slice(0, 100)} is no parameter of the entries`);
  const onEntry = filters.filter(({ parameter }) => outer.has(parameter));
  const onSublist = filters.filter(({ parameter }) => !outer.has(parameter));
  return entries.flatMap((entry) => {
    const { uid, index, fields } = entry;
    if (!meetsAll(onEntry, { [nameKey]: index, ...fields, list_uid: uid })) return [];
    const sublist = entry.sublist.filter((sub) => meetsAll(onSublist, { ...sub.fields, sublist_uid: sub.uid }));
    return onSublist.length > 0 && sublist.length === 0 ? [] : [{ entry, sublist }];
  });
}

function parseCondition(condition: unknown): Filter | Rejection {
  if (typeof condition !== 'object' || condition === null || Array.isArray(condition)) {
    return Rejection.of(400, 'filter', 'a condition is an object {p, o, v}');
  }
  const { p, o, v, ...others } = condition as Record<string, unknown>;
  if (Object.keys(others).length > 0) return Rejection.of(400, 'filter', 'a condition has only p, o and v');
  if (typeof p !== 'string') return Rejection.of(400, 'filter', 'p must be the name of a parameter');
  if (o !== 'eq' && o !== 'like') return Rejection.of(400, 'filter', 'o must be eq or like');
  const values: readonly unknown[] = Array.isArray(v) ? v : [v];
  if (values.length === 0 || values.length > CONDITIONS_MAX || !values.every((one) => typeof one === 'string')) {
    return Rejection.of(400, 'filter', 'v must be a string or a list of strings');
  }
  return { parameter: p, operator: o, values };
}

function meetsAll(filters: readonly Filter[], values: Readonly<Record<string, string>>): boolean {
  return filters.every(({ parameter, operator, values: wanted }) => {
    const value = values[parameter] ?? '';
    if (operator === 'eq') return wanted.includes(value);
    const lower = value.toLowerCase();
    return wanted.some((part) => lower.includes(part.toLowerCase()));
  });
}

/** A filter on a hidden value would allow finding it piece by piece. */
function readable(fields: ListDefinition['fields']): string[] {
  return fields.filter(({ writeOnly }) => !writeOnly).map(({ name }) => name);
}
