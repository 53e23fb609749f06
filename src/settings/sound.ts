import { z } from 'zod';
import type { KeyPath } from './fault.ts';
import { findVariant, toUntagged } from './tagged-union.ts';

/**
 * The valid part of a value. In a map any key may be absent, even a required one; an invalid item of a list of maps is an empty
 * map; any other list is complete or absent.
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

/** A variant, selected by its tag. */
type TaggedOf<Option, Tag extends string> =
  Option extends z.ZodObject<infer Shape>
    ? SoundOf<Option> & { [Key in Tag & keyof Shape]: z.output<Shape[Key]> }
    : never;

/** A map whose tag is invalid. Only keys with the same meaning in all variants are checked. */
type UntaggedOf<Option, Tag extends string> = { [Key in Tag]?: undefined } & {
  [Key in Exclude<keyof z.output<Option>, Tag>]?: unknown;
};

/** An issue that zod found: its path from the checked value, and the reason. */
export type Issue = z.core.$ZodIssue;

/** Reads the valid part of `value`; `issues` are all its issues. */
export function readSound<Schema extends z.core.$ZodType>(
  schema: Schema,
  value: unknown,
  issues: readonly Issue[],
): SoundOf<Schema> | undefined {
  return readPart(schema, value, issues) as SoundOf<Schema> | undefined;
}

/** True if the valid part of a value has everything that its schema requires. */
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
 * Removes the wrappers of a schema. Of a union with one map, returns the map; of a tagged union, the variant that `value`
 * has.
 */
export function unwrap(schema: z.core.$ZodType, value: unknown): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodPrefault) {
    return unwrap(schema.unwrap(), value);
  }
  if (schema instanceof z.ZodDiscriminatedUnion) return findVariant(schema, value) ?? toUntagged(schema);
  if (!(schema instanceof z.ZodUnion)) return schema;
  return schema.options.find((option) => option instanceof z.ZodObject) ?? schema;
}

/** A part of a value, and its schema. */
export interface SchemaAt {
  readonly schema: z.core.$ZodType;
  readonly value: unknown;
  /** The tagged union of which `schema` is a variant. */
  readonly union?: z.ZodDiscriminatedUnion;
}

/** Finds the schema of the value at `path` in `value`. */
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
