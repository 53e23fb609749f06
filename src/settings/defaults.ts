import { z } from 'zod';
import type { Secret } from '../base/index.ts';
import type { SoundOf } from './sound.ts';
import { section } from './values.ts';

/** Returns a section with defaults for keys that are absent or invalid. */
export function orDefaults<Section extends z.ZodObject>(
  schema: Section,
  keys: SoundOf<Section> | undefined,
): z.output<Section> {
  const defaults = decoded.get(schema) ?? z.parse(schema, {});
  decoded.set(schema, defaults);
  return Object.assign({}, defaults as z.output<Section>, keys);
}

/** Tens of thousands of routers have the same defaults. */
const decoded = new WeakMap<z.ZodObject, object>();

type Shape = Readonly<Record<string, z.core.$ZodType>>;

/** The keys of a section without their defaults. */
export type Inheritable<Keys> = {
  [Key in keyof Keys]: Keys[Key] extends z.ZodPrefault<infer Inner>
    ? z.ZodOptional<Inner>
    : Keys[Key] extends z.ZodOptional<z.ZodObject<infer Inner>>
      ? z.ZodOptional<z.ZodObject<Inheritable<Inner>>>
      : Keys[Key];
};

/**
 * Keys that may also be set in a layer below, here or in the sections among them: each is described with its default, but an
 * absent one stays absent, so that the layers can be merged. {@link orDefaults} then applies the defaults.
 */
export function inheritable<Keys extends Shape>(keys: Keys): Inheritable<Keys> {
  const entries = Object.entries(keys).map(([key, schema]) => [key, withoutDefault(schema)]);
  return Object.fromEntries(entries);
}

function withoutDefault(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodPrefault) return z.optional(describeDefault(schema.unwrap(), schema.def.defaultValue));
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : undefined;
  if (!(inner instanceof z.ZodObject)) return schema;
  return section(inner.meta()?.description ?? '', inheritable(inner.shape)).optional();
}

/** Adds the default to the description, of a parsed value to what is written: JSON Schema shows none behind a step of parsing. */
function describeDefault(schema: z.core.$ZodType, written: unknown): z.core.$ZodType {
  if (schema instanceof z.ZodPipe)
    return schema.clone({ ...schema.def, in: describeDefault(schema.in, written) }, { parent: true });
  return schema instanceof z.ZodType ? schema.meta({ default: written }) : schema;
}

/** Settings, which nobody changes: read-only throughout. */
export type Settled<Value> = Value extends Secret
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly Settled<Item>[]
    : Value extends object
      ? { readonly [Key in keyof Value]: Settled<Value[Key]> }
      : Value;

/** Renders keys of a section as they would be written: the way back through its schema. */
export function renderKeys<Section extends z.ZodObject>(schema: Section, keys: Settled<z.output<Section>>): object {
  // Encoding changes nothing of what it is given.
  return Object(z.encode(schema, keys as z.output<Section>));
}
