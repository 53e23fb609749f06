import { z } from 'zod';
import type { KeyPath } from '../source/fault.ts';
import { SECRECIES } from './values.ts';

/**
 * Decides which values messages must not repeat. The keys count at any path, because a misplaced secret is still a
 * secret.
 */
export interface SecretKeys {
  /** The value at a path, or one that contains it, is a secret, or may be one by mistake. */
  isSensitive(path: KeyPath): boolean;
  /** The value at a path, or one that contains it, is a secret; false for a file name or a command. */
  isSecret(path: KeyPath): boolean;
  isFileName(path: KeyPath): boolean;
  /** A map of secrets whose names the operator chooses, such as headers, or its content. */
  isInMap(path: KeyPath): boolean;
}

const known = new WeakMap<z.core.$ZodType, SecretKeys>();

export function listSecretKeys(schema: z.core.$ZodType): SecretKeys {
  const found = known.get(schema) ?? collectKeys(schema);
  known.set(schema, found);
  return found;
}

function collectKeys(root: z.core.$ZodType): SecretKeys {
  const sensitive = new Set<unknown>();
  const secrets = new Set<unknown>();
  const maps = new Set<unknown>();
  const paths = new Set<unknown>();
  const visit = (schema: z.core.$ZodType, key: string, isInMap: boolean) => {
    const secrecy = SECRECIES.get(schema)?.secrecy;
    if (secrecy !== undefined) sensitive.add(key);
    if (secrecy === 'secret') secrets.add(key);
    if (z.globalRegistry.get(schema)?.['kind'] === 'path') paths.add(key);
    if (secrecy === 'secret' && isInMap) maps.add(key);
    for (const [step, part] of listParts(schema)) visit(part, step ?? key, schema instanceof z.ZodRecord);
  };
  visit(root, '', false);
  const has = (keys: ReadonlySet<unknown>) => (path: KeyPath) => path.some((step) => keys.has(step));
  const isOrigin = (step: unknown) => step === 'file' || step === 'command';
  return {
    isSensitive: has(sensitive),
    // In a map of secrets, the next step is a name that the operator chose.
    isSecret: (path) =>
      path.some((step, index) => secrets.has(step) && !isOrigin(path[index + (maps.has(step) ? 2 : 1)])),
    isInMap: has(maps),
    isFileName: (path) => paths.has(path.at(-1)),
  };
}

function listParts(schema: z.core.$ZodType): readonly (readonly [string | undefined, z.core.$ZodType])[] {
  if (schema instanceof z.ZodObject) return Object.entries(schema.shape);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodPrefault) {
    return [[undefined, schema.unwrap()]];
  }
  if (schema instanceof z.ZodArray) return [[undefined, schema.element]];
  if (schema instanceof z.ZodRecord) return [[undefined, schema.valueType]];
  if (schema instanceof z.ZodUnion) return schema.options.map((option) => [undefined, option]);
  return schema instanceof z.ZodPipe ? [[undefined, schema.in]] : [];
}

/** Longer text is truncated; the position shows where the rest is. */
const TEXT_CHARS_MAX = 60;
/** Control characters that JSON does not escape, and marks that reorder text on a terminal. */
const UNPRINTABLE = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Describes the value at `path` as written, before the environment is substituted. Never repeats a secret. */
export function describeValue(value: unknown, path: KeyPath, keys: SecretKeys): string {
  if (keys.isSensitive(path) && !(keys.isFileName(path) && isSurelyPath(value))) return describeKind(value);
  if (typeof value === 'string') return describeText(value);
  if (typeof value === 'number') return `the number ${value}`;
  if (typeof value === 'boolean') return String(value);
  return describeKind(value);
}

/** Certainly no passwords: paths below a variable, a system folder or `./`, and files with an extension. */
const PATHS = [
  /^\$\{[A-Za-z_]\w*\}(\/[\w.-]+)*\/?$/,
  /^\/[a-z]+(\/[\w.-]+)+$/,
  /^\.{1,2}(\/[\w.-]+)+$/,
  /^([\w-][\w.-]*\/)*[\w-][\w.-]*\.(pw|pass|passwd|password|secret|token|txt|key|pem|crt|cer|creds|nk|jwt)$/,
];

function isSurelyPath(value: unknown): boolean {
  return typeof value === 'string' && PATHS.some((form) => form.test(value));
}

export function describeKind(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  if (typeof value === 'string') return value === '' ? 'empty text' : 'text';
  if (typeof value === 'number') return 'a number';
  if (typeof value === 'boolean') return 'true or false';
  return Object.getPrototypeOf(value) === Object.prototype ? 'a map' : 'a value of another kind';
}

function quoteText(text: string): string {
  const cut = text.length > TEXT_CHARS_MAX ? `${text.slice(0, TEXT_CHARS_MAX)}…` : text;
  return JSON.stringify(cut).replace(UNPRINTABLE, '?');
}

function describeText(text: string): string {
  const quoted = quoteText(text);
  return text.includes('${') ? `${quoted} (before the environment was filled in)` : quoted;
}
