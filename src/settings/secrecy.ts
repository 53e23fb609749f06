import { z } from 'zod';
import type { KeyPath } from './fault.ts';

/**
 * Secrecy of a value. `secret`: it is a secret. `possible`: it is none, but an operator may put one there by mistake, as in a URL
 * or instead of the name of a file. Messages repeat neither.
 */
type Secrecy = 'secret' | 'possible';

const SECRECIES = z.registry<{ readonly secrecy: Secrecy }>();

/** Registers the schema of a value that messages never repeat. No other list names such keys. */
export function withSecrecy<Schema extends z.core.$ZodType>(secrecy: Secrecy, schema: Schema): Schema {
  SECRECIES.add(schema, { secrecy });
  return schema;
}

/** The keys of a schema whose values messages never repeat, at any path: a misplaced secret is still a secret. */
export interface SecretKeys {
  /** True if the value at a path, or a value that contains it, is a secret or may be one. */
  isSensitive(path: KeyPath): boolean;
  /** True if the value at a path, or a value that contains it, is a secret. */
  isSecret(path: KeyPath): boolean;
  /** True for a map of secrets by names that a person chose, such as headers, and for what is in it. */
  isInMap(path: KeyPath): boolean;
}

const known = new WeakMap<z.core.$ZodType, SecretKeys>();

/** Lists the keys that have a secrecy anywhere in a schema. */
export function listSecretKeys(schema: z.core.$ZodType): SecretKeys {
  const found = known.get(schema) ?? collectKeys(schema);
  known.set(schema, found);
  return found;
}

function collectKeys(root: z.core.$ZodType): SecretKeys {
  const sensitive = new Set<unknown>();
  const secret = new Set<unknown>();
  const maps = new Set<unknown>();
  const visit = (schema: z.core.$ZodType, key: string, isInMap: boolean) => {
    const secrecy = SECRECIES.get(schema)?.secrecy;
    if (secrecy !== undefined) sensitive.add(key);
    if (secrecy === 'secret') secret.add(key);
    if (secrecy === 'secret' && isInMap) maps.add(key);
    for (const [step, part] of listParts(schema)) visit(part, step ?? key, schema instanceof z.ZodRecord);
  };
  visit(root, '', false);
  const has = (keys: ReadonlySet<unknown>) => (path: KeyPath) => path.some((step) => keys.has(step));
  return { isSensitive: has(sensitive), isSecret: has(secret), isInMap: has(maps) };
}

/** The schemas that a schema is made of, with their key where they have one of their own. */
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
