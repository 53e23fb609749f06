import { parseJson } from '../base/index.ts';

/** Parses a text that an earlier process has stored; `undefined` if it is absent or no JSON. */
export function parseStored(text: string | undefined): unknown {
  return text === undefined ? undefined : parseJson(text);
}

/** Returns a field of an object; `undefined` for anything else. */
export function readField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
