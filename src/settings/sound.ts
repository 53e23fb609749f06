import { z } from 'zod';
import type { KeyPath } from './fault.ts';
import { findVariant, toUntagged } from './tagged-union.ts';

/**
 * What is left of a value without its faulty parts. Of a map any key may be absent, also a required one; an item of a list of maps
 * that is none of them is an empty map; a list of anything else is there as a whole or not at all.
 */
export type SoundOf<Schema> =
  Schema extends z.ZodOptional<infer Inner>
    ? SoundOf<Inner> | undefined
    : Schema extends z.ZodNullable<infer Inner>
      ? SoundOf<Inner> | null
      : Schema extends z.ZodPrefault<infer Inner>
        ? SoundOf<Inner>
        : Schema extends z.ZodObject<infer Shape>
          ? { [Key in keyof Shape & string]?: SoundOf<Shape[Key]> | undefined }
          : Schema extends z.ZodArray<infer Item>
            ? SoundOf<Item>[]
            : Schema extends z.ZodRecord<infer Key, infer Item>
              ? Record<z.output<Key>, SoundOf<Item>>
              : Schema extends z.ZodDiscriminatedUnion<infer Options, infer Tag>
                ? TaggedOf<Options[number], Tag> | UntaggedOf<Options[number], Tag>
                : Schema extends z.ZodUnion<infer Options>
                  ? SoundOf<Options[number]>
                  : z.output<Schema>;

/** One of several maps, as its tag says. */
type TaggedOf<Option, Tag extends string> =
  Option extends z.ZodObject<infer Shape>
    ? SoundOf<Option> & { [Key in Tag & keyof Shape]: z.output<Shape[Key]> }
    : never;

/** A map whose tag is faulty: of the keys that all of the maps have, those with one meaning are checked. */
type UntaggedOf<Option, Tag extends string> = { [Key in Tag]?: undefined } & {
  [Key in Exclude<keyof z.output<Option>, Tag>]?: unknown;
};

/** What zod says about a value: where, from that value on, and why. */
export type Issue = z.core.$ZodIssue;

/** Reads what is sound of `value`, of which `issues` are all that is wrong. */
export function readSound<Schema extends z.core.$ZodType>(
  schema: Schema,
  value: unknown,
  issues: readonly Issue[],
): SoundOf<Schema> | undefined {
  return readPart(schema, value, issues) as SoundOf<Schema> | undefined;
}

/** Tells whether a sound part of a value lacks nothing that its schema asks for. */
export function isWhole<Schema extends z.core.$ZodType>(
  schema: Schema,
  part: SoundOf<Schema>,
): part is SoundOf<Schema> & z.output<Schema> {
  const inner = unwrap(schema, part);
  if (inner instanceof z.ZodArray) return Object.values(Object(part)).every((item) => isWhole(inner.element, item));
  if (!(inner instanceof z.ZodObject)) return true;
  return Object.entries(inner.shape).every(([key, keySchema]) => {
    const value: unknown = Reflect.get(Object(part), key);
    return value === undefined ? keySchema instanceof z.ZodOptional : isWhole(keySchema, value);
  });
}

function readPart(schema: z.core.$ZodType, value: unknown, issues: readonly Issue[]): unknown {
  if (issues.length === 0) return z.safeParse(schema, value).data;
  if (issues.some(({ path, code }) => path.length === 0 && code !== 'unrecognized_keys')) return undefined;
  const inner = unwrap(schema, value);
  const readAt = (step: string | number, part: z.core.$ZodType) =>
    readPart(
      part,
      Reflect.get(Object(value), step),
      issues.flatMap((issue) => toPart(issue, step)),
    );
  if (Array.isArray(value)) {
    if (!(inner instanceof z.ZodArray && isMap(inner.element))) return undefined;
    const { element } = inner;
    return value.map((_, index) => readAt(index, element) ?? {});
  }
  if (inner instanceof z.ZodObject) return keepPresent(Object.entries(inner.shape), readAt);
  if (!(inner instanceof z.ZodRecord)) return undefined;
  const { valueType } = inner;
  return keepPresent(
    Object.keys(Object(value)).map((key) => [key, valueType]),
    readAt,
  );
}

function toPart(issue: Issue, step: string | number): Issue[] {
  return issue.path[0] === step ? [{ ...issue, path: issue.path.slice(1) }] : [];
}

function keepPresent(
  keys: readonly (readonly [string, z.core.$ZodType])[],
  read: (key: string, schema: z.core.$ZodType) => unknown,
): object {
  const entries = keys.map(([key, schema]) => [key, read(key, schema)] as const);
  return Object.fromEntries(entries.filter(([, part]) => part !== undefined));
}

function isMap(schema: z.core.$ZodType): boolean {
  const inner = unwrap(schema, undefined);
  return inner instanceof z.ZodObject;
}

/**
 * What a schema is without its wrapping. Where a map is one of several kinds of values, the map; of maps with a tag the one that
 * `value` is.
 */
export function unwrap(schema: z.core.$ZodType, value: unknown): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodPrefault) {
    return unwrap(schema.unwrap(), value);
  }
  if (schema instanceof z.ZodDiscriminatedUnion) return findVariant(schema, value) ?? toUntagged(schema);
  if (!(schema instanceof z.ZodUnion)) return schema;
  return schema.options.find((option) => option instanceof z.ZodObject) ?? schema;
}

/** A part of a value, and what it has to look like. */
export interface SchemaAt {
  readonly schema: z.core.$ZodType;
  readonly value: unknown;
  /** Of which `schema` is one of the maps. */
  readonly union?: z.ZodDiscriminatedUnion;
}

/** The schema of what stands at `path` in `value`. */
export function findSchema(schema: z.core.$ZodType, path: KeyPath, value: unknown): SchemaAt | undefined {
  const bare = schema instanceof z.ZodPipe ? schema.in : schema;
  const inner = unwrap(bare, value);
  const [step, ...rest] = path;
  if (step === undefined) {
    const wrapped = bare instanceof z.ZodOptional ? bare.unwrap() : bare;
    return { schema: inner, value, ...(wrapped instanceof z.ZodDiscriminatedUnion && { union: wrapped }) };
  }
  const part: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined;
  if (inner instanceof z.ZodArray) return findSchema(inner.element, rest, part);
  if (inner instanceof z.ZodRecord) return findSchema(inner.valueType, rest, part);
  if (!(inner instanceof z.ZodObject)) return undefined;
  const next: z.core.$ZodType | undefined = inner.shape[step];
  return next && findSchema(next, rest, part);
}
