import type { KeyPath } from './fault.ts';

/** Values of these keys are never repeated: passwords, and where a person may have put one by mistake. */
const WITHHELD_KEYS: ReadonlySet<unknown> = new Set([
  'password',
  'password_file',
  'url',
  'basic_auth_users',
  'key',
  'key_file',
  'bearer_token',
  'bearer_token_file',
  'api_key',
  'api_key_file',
  'credentials_file',
  'servers',
]);
/** Maps of a sink whose values are secrets or may be by mistake, and whose keys a person chose. */
const HEADER_KEYS: ReadonlySet<unknown> = new Set(['headers', 'header_files']);
/** Longer texts are cut: the position tells where the rest stands. */
const TEXT_CHARS_MAX = 60;
/** Control characters that JSON leaves alone, and marks that reorder the text around them on a terminal. */
const UNPRINTABLE = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Says in words what stands at `path` in the file, before the environment was filled in. Never repeats a secret. */
export function describeValue(value: unknown, path: KeyPath): string {
  if (path.some((step) => WITHHELD_KEYS.has(step)) || isInSinkHeaders(path)) return describeKind(value);
  if (typeof value === 'string') return describeText(value);
  if (typeof value === 'number') return `the number ${value}`;
  if (typeof value === 'boolean') return String(value);
  return describeKind(value);
}

/** Whether a path is that of the headers of a sink, or inside of them. */
export function isInSinkHeaders([list, , key]: KeyPath): boolean {
  return list === 'sinks' && HEADER_KEYS.has(key);
}

/** Says what a value is, and nothing of what it holds. */
export function describeKind(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  if (typeof value === 'string') return value === '' ? 'empty text' : 'text';
  if (typeof value === 'number') return 'a number';
  if (typeof value === 'boolean') return 'true or false';
  return Object.getPrototypeOf(value) === Object.prototype ? 'a map' : 'a value of another kind';
}

/** Quotes text from the file so that it is safe to print. */
export function quoteText(text: string): string {
  const cut = text.length > TEXT_CHARS_MAX ? `${text.slice(0, TEXT_CHARS_MAX)}…` : text;
  return JSON.stringify(cut).replace(UNPRINTABLE, '?');
}

function describeText(text: string): string {
  const quoted = quoteText(text);
  return text.includes('${') ? `${quoted} (before the environment was filled in)` : quoted;
}
