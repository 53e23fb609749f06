import { Rejection } from '../rejection.ts';
import type { Selected } from './filter.ts';
import { type EntryInput, type Envelope, ValueCheck } from './request-body.ts';
import type { ListDefinition, ResourceDefinition } from './resource.ts';
import { type CreateUid, type Entry, nameEntry, type ResourceState, type SubEntry } from './state.ts';

const ENTRIES_MAX = 2000;
const SUBLIST_ENTRIES_MAX = 100;

/** POST: returns the state with entries added to the list, or to the sublist of a named entry. */
export function addEntries(
  { list, unique }: ResourceDefinition,
  state: ResourceState,
  envelope: Envelope,
  createUid: CreateUid,
): ResourceState | Rejection {
  if (!list) return Rejection.of(405, 'method', 'this resource is no list; change it with PUT');
  const inputs = envelope.list ?? [];
  if (inputs.length === 0) return Rejection.of(400, 'list', 'at least one entry is required');
  if (state.list.length + inputs.length > ENTRIES_MAX)
    return Rejection.of(400, 'list', `the list ends at ${ENTRIES_MAX}`);
  const check = new ValueCheck();
  const changed = envelope.unique ? check.merge(unique, state.unique, envelope.unique) : state.unique;
  let number = readHighestNumber(list, state.list);
  let entries = state.list;
  for (const input of inputs) {
    if (input.list_uid !== undefined) {
      entries = extendEntry(check, list, entries, input, createUid);
      continue;
    }
    refuseIdentifiers(check, input);
    number += 1;
    const index = `${list.indexPrefix}${number}`;
    const added: Entry = {
      uid: createUid(),
      index,
      fields: nameEntry(check.complete(list.fields, input.values), index),
      sublist: addSubEntries(check, list, input.sublist ?? [], createUid),
    };
    entries = [...entries, added];
  }
  checkKey(check, list, entries);
  return check.fault ?? { unique: changed, list: entries };
}

/**
 * PUT: returns the state with changed single values and entries. `needsListUid`: an entry must have its `list_uid`, as on icom OS 9.5;
 * otherwise `index` or `sublist_uid` identify it as well.
 */
export function changeEntries(
  { unique, list }: ResourceDefinition,
  state: ResourceState,
  envelope: Envelope,
  needsListUid: boolean,
): ResourceState | Rejection {
  if (!envelope.unique && !envelope.list) return Rejection.of(400, 'config', 'nothing to change');
  if (envelope.list && !list) return Rejection.of(400, 'list', 'this resource has no list');
  const check = new ValueCheck();
  const changed = envelope.unique ? check.merge(unique, state.unique, envelope.unique) : state.unique;
  let entries = state.list;
  for (const [number, sent] of (list ? (envelope.list ?? []) : []).entries()) {
    const input = needsListUid ? sent : addListUid(entries, sent);
    const position = entries.findIndex(({ uid }) => uid === input.list_uid);
    const entry = entries[position];
    if (!list || !entry) check.add(...explainMissing(input, number + 1, needsListUid));
    else entries = entries.with(position, changeEntry(check, list, entry, input));
  }
  if (list) checkKey(check, list, entries);
  return check.fault ?? { unique: changed, list: entries };
}

/** DELETE: returns the state without the selected entries, or without the selected entries of the sublists. */
export function deleteEntries(
  state: ResourceState,
  selected: readonly Selected[],
  target: 'list' | 'sublist',
): ResourceState {
  if (target === 'list') {
    const gone = new Set(selected.map(({ entry }) => entry.uid));
    return { ...state, list: state.list.filter(({ uid }) => !gone.has(uid)) };
  }
  const gone = new Set(selected.flatMap(({ sublist }) => sublist.map(({ uid }) => uid)));
  const list = state.list.map((entry) => ({ ...entry, sublist: entry.sublist.filter(({ uid }) => !gone.has(uid)) }));
  return { ...state, list };
}

function changeEntry(check: ValueCheck, list: ListDefinition, entry: Entry, input: EntryInput): Entry {
  if (input.sublist_uid !== undefined) check.add('sublist_uid', 'belongs into sublist');
  if (input.index !== undefined && input.index !== entry.index) check.add('index', 'cannot be changed');
  if (input.sublist && !list.sublist) check.add('sublist', 'unknown parameter');
  let { sublist } = entry;
  for (const one of input.sublist ?? []) sublist = changeSubEntry(check, list, sublist, one);
  const values = takeOwnName(check, list, entry, input.values);
  return { ...entry, fields: nameEntry(check.merge(list.fields, entry.fields, values), entry.index), sublist };
}

/** The name assigned by the router may be sent back unchanged. */
function takeOwnName(
  check: ValueCheck,
  { nameKey = 'name', fields }: ListDefinition,
  { index }: Entry,
  values: EntryInput['values'],
): EntryInput['values'] {
  if (nameKey === 'index' || fields.some(({ name }) => name === 'name') || !Object.hasOwn(values, 'name'))
    return values;
  const { name, ...others } = values;
  if (name !== index) check.add('name', 'cannot be changed');
  return others;
}

/** Apart from its identifiers, only a sublist may be given. */
function extendEntry(
  check: ValueCheck,
  list: ListDefinition,
  entries: readonly Entry[],
  { list_uid, index, sublist_uid, values, sublist }: EntryInput,
  createUid: CreateUid,
): readonly Entry[] {
  const position = entries.findIndex(({ uid }) => uid === list_uid);
  const entry = entries[position];
  const isOnlySublist = Object.keys(values).every((name) => name === 'name' && values['name'] === entry?.index);
  if (!sublist || !isOnlySublist || index !== undefined || sublist_uid !== undefined) {
    check.add('error', 'list_uid_given: with a list_uid, only a sublist with new entries may be given');
    return entries;
  }
  if (!entry) {
    check.add('list_uid', 'not found');
    return entries;
  }
  const added = [...entry.sublist, ...addSubEntries(check, list, sublist, createUid)];
  if (added.length > SUBLIST_ENTRIES_MAX) check.add('sublist', `the list ends at ${SUBLIST_ENTRIES_MAX}`);
  return entries.with(position, { ...entry, sublist: added });
}

function changeSubEntry(
  check: ValueCheck,
  list: ListDefinition,
  sublist: readonly SubEntry[],
  input: EntryInput,
): readonly SubEntry[] {
  for (const key of ['list_uid', 'index'] as const) {
    if (input[key] !== undefined) check.add(key, 'does not belong into sublist');
  }
  const position = sublist.findIndex(({ uid }) => uid === input.sublist_uid);
  const entry = sublist[position];
  if (!entry) {
    check.add('sublist_uid', input.sublist_uid === undefined ? 'is required' : 'not found');
    return sublist;
  }
  return sublist.with(position, { ...entry, fields: check.merge(list.sublist ?? [], entry.fields, input.values) });
}

/** `index`, or the `sublist_uid` of an inner entry, can replace `list_uid`. */
function addListUid(entries: readonly Entry[], input: EntryInput): EntryInput {
  const { list_uid, index, sublist_uid, sublist } = input;
  if (list_uid !== undefined) return input;
  const inner = sublist_uid ?? sublist?.[0]?.sublist_uid;
  const owner =
    inner === undefined
      ? entries.find((entry) => sublist === undefined && entry.index === index)
      : entries.find((entry) => entry.sublist.some(({ uid }) => uid === inner));
  if (!owner) return input;
  if (sublist_uid === undefined) return { ...input, list_uid: owner.uid };
  // The inner entry is in the list itself.
  const changed = { ...input, index: undefined, sublist: undefined };
  return { list_uid: owner.uid, index, sublist_uid: undefined, values: {}, sublist: [changed] };
}

function explainMissing(input: EntryInput, number: number, needsListUid: boolean): [string, string] {
  if (input.list_uid !== undefined) return ['list_uid', 'not found'];
  if (!needsListUid && input.sublist_uid !== undefined) return ['sublist_uid', 'not found'];
  if (!needsListUid && input.index !== undefined && !input.sublist) return ['index', 'not found'];
  return ['list', `no_list_uid_given: entry ${number} has no list_uid`];
}

function refuseIdentifiers(check: ValueCheck, input: EntryInput): void {
  for (const key of ['list_uid', 'index', 'sublist_uid'] as const) {
    if (input[key] !== undefined) check.add(key, 'is assigned by the router and must not be given');
  }
}

function addSubEntries(
  check: ValueCheck,
  list: ListDefinition,
  inputs: readonly EntryInput[],
  createUid: CreateUid,
): SubEntry[] {
  const { sublist } = list;
  if (inputs.length > 0 && !sublist) check.add('sublist', 'unknown parameter');
  if (inputs.length > SUBLIST_ENTRIES_MAX)
    check.add('sublist', `must not hold more than ${SUBLIST_ENTRIES_MAX} entries`);
  if (!sublist) return [];
  return inputs.slice(0, SUBLIST_ENTRIES_MAX).map((input) => {
    refuseIdentifiers(check, input);
    return { uid: createUid(), fields: check.complete(sublist, input.values) };
  });
}

function checkKey(check: ValueCheck, { key }: ListDefinition, entries: readonly Entry[]): void {
  if (key === undefined) return;
  const values = entries.map(({ fields }) => fields[key]);
  if (new Set(values).size < values.length) check.add(key, 'exists already');
}

/** Above all existing numbers, so that an index is never reused. */
function readHighestNumber({ indexPrefix }: ListDefinition, entries: readonly Entry[]): number {
  return Math.max(0, ...entries.map(({ index }) => Number(index.slice(indexPrefix.length))));
}
