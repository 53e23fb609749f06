type JsonObject = Readonly<Record<string, unknown>>;

/** Parses JSON from another system; `undefined` if invalid. Ignores a leading byte order mark and trailing zero bytes. */
export function parseJson(text: string): unknown {
  let end = text.length;
  while (text.charCodeAt(end - 1) === 0) end--;
  const start = text.startsWith('\uFEFF') ? 1 : 0;
  try {
    return JSON.parse(text.slice(start, end)) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns true if a JSON value is an object, neither an array nor null. */
export function isPlainObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value if it is a JSON object, neither an array nor null. */
export function decodeObject(value: unknown): JsonObject | undefined {
  return isPlainObject(value) ? value : undefined;
}

/** Returns a field if it is a string. */
export function readString(object: JsonObject, name: string): string | undefined {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** Returns a field if it is a whole number or a string of one. */
export function readInteger(object: JsonObject, name: string): number | undefined {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}
