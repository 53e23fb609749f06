/** Parses a text that an earlier process has stored; `undefined` if it is absent or no JSON. */
export function parseStored(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

/** Returns a field of an object; `undefined` for anything else. */
export function readField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
