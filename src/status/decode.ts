/** Most entries of a list that are looked at: a device has a handful of boards and of profiles. */
const ENTRIES_MAX = 256;

/** The objects of `body[outer][inner]` (or of `body[outer]` without `inner`), or `undefined` when there is no such list. */
export function decodeEntries(body: unknown, outer: string, inner?: string): readonly object[] | undefined {
  const level = readField(body, outer);
  const list = inner === undefined ? level : readField(level, inner);
  if (!Array.isArray(list)) return undefined;
  return list.slice(0, ENTRIES_MAX).filter((entry): entry is object => typeof entry === 'object' && entry !== null);
}

/** A field of whatever `value` is; `undefined` when it has none of its own. */
export function readField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

/** A field as text; empty when it is absent or no plain value. */
export function readText(value: object, name: string): string {
  const field = readField(value, name);
  return typeof field === 'string' || typeof field === 'number' || typeof field === 'boolean' ? String(field) : '';
}
