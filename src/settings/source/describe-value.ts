import type { SecretKeys } from '../schema/values.ts';
import type { KeyPath } from './fault.ts';

/** Longer texts are truncated; the position shows where to find the rest. */
const TEXT_CHARS_MAX = 60;
/** Control characters that JSON leaves alone, and marks that reorder the text around them on a terminal. */
const UNPRINTABLE = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Describes the value at `path` in the file, before the environment is substituted. Never repeats a secret. */
export function describeValue(value: unknown, path: KeyPath, keys: SecretKeys): string {
  if (keys.isSensitive(path) && !(keys.isFileName(path) && isSurelyPath(value))) return describeKind(value);
  if (typeof value === 'string') return describeText(value);
  if (typeof value === 'number') return `the number ${value}`;
  if (typeof value === 'boolean') return String(value);
  return describeKind(value);
}

/** Texts that nobody has as a password: paths below a variable, a folder of the system or this one, and files with an extension. */
const PATHS = [
  /^\$\{[A-Za-z_]\w*\}(\/[\w.-]+)*\/?$/,
  /^\/[a-z]+(\/[\w.-]+)+$/,
  /^\.{1,2}(\/[\w.-]+)+$/,
  /^([\w-][\w.-]*\/)*[\w-][\w.-]*\.(pw|pass|passwd|password|secret|token|txt|key|pem|crt|cer|creds|nk|jwt)$/,
];

function isSurelyPath(value: unknown): boolean {
  return typeof value === 'string' && PATHS.some((form) => form.test(value));
}

/** Describes the kind of a value without its content. */
export function describeKind(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  if (typeof value === 'string') return value === '' ? 'empty text' : 'text';
  if (typeof value === 'number') return 'a number';
  if (typeof value === 'boolean') return 'true or false';
  return Object.getPrototypeOf(value) === Object.prototype ? 'a map' : 'a value of another kind';
}

/** Quotes text from the file so that it is safe to print. */
function quoteText(text: string): string {
  const cut = text.length > TEXT_CHARS_MAX ? `${text.slice(0, TEXT_CHARS_MAX)}…` : text;
  return JSON.stringify(cut).replace(UNPRINTABLE, '?');
}

function describeText(text: string): string {
  const quoted = quoteText(text);
  return text.includes('${') ? `${quoted} (before the environment was filled in)` : quoted;
}
