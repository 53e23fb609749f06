/** An object made by JSON, whose fields are looked up by name; never an array. */
type JsonObject = Readonly<Record<string, unknown>>;

/** Parses a text of another side; `undefined` if it is no JSON. A byte order mark before it and zero bytes behind it are no part of it. */
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

/** Returns a JSON value that is an object, neither an array nor null; `undefined` for every other. */
export function decodeObject(value: unknown): JsonObject | undefined {
  return isPlainObject(value) ? value : undefined;
}

/** Returns a field that is a text; `undefined` for every other. */
export function readString(object: JsonObject, name: string): string | undefined {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** Returns a field that is a whole number, or a text that is one. */
export function readInteger(object: JsonObject, name: string): number | undefined {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}
