import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { Secret } from '../../base/index.ts';
import type { KeyPath } from '../source/fault.ts';
import { choice, findContent, section } from './values.ts';

/**
 * The type of the valid part of a value. In a map any key may be absent, even a required one. An invalid item of a list
 * of maps is an empty map; any other list is complete or absent.
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

type TaggedOf<Option, Tag extends string> =
  Option extends z.ZodObject<infer Shape>
    ? SoundOf<Option> & { [Key in Tag & keyof Shape]: z.output<Shape[Key]> }
    : never;

/** A map with an invalid tag. Only keys with the same meaning in all variants are checked. */
type UntaggedOf<Option, Tag extends string> = { [Key in Tag]?: undefined } & {
  [Key in Exclude<keyof z.output<Option>, Tag>]?: unknown;
};

export type Issue = z.core.$ZodIssue;

export function readSound<Schema extends z.core.$ZodType>(
  schema: Schema,
  value: unknown,
  issues: readonly Issue[],
): SoundOf<Schema> | undefined {
  return readPart(schema, value, issues) as SoundOf<Schema> | undefined;
}

/** Returns true if the valid part of a value has all that its schema requires. */
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
 * Removes the wrappers of a schema, and selects the map of a union: its only one, or in a tagged union the variant of
 * `value`.
 */
export function unwrap(schema: z.core.$ZodType, value: unknown): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodPrefault) {
    return unwrap(schema.unwrap(), value);
  }
  if (schema instanceof z.ZodPipe && schema.in instanceof z.ZodUnion) return unwrap(schema.in, value);
  if (schema instanceof z.ZodDiscriminatedUnion) return findVariant(schema, value) ?? toUntagged(schema);
  if (!(schema instanceof z.ZodUnion)) return schema;
  return schema.options.find((option) => option instanceof z.ZodObject) ?? schema;
}

export interface SchemaAt {
  readonly schema: z.core.$ZodType;
  readonly value: unknown;
  readonly union?: z.ZodDiscriminatedUnion;
}

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

/** Maps of several kinds; the value of one key, the tag, selects the variant. */
type TaggedUnion = z.ZodDiscriminatedUnion;

function findVariant(union: TaggedUnion, value: unknown): z.ZodObject | undefined {
  const tag = tagOf(union, value);
  return listVariants(union).find((variant) => toWord(union, variant) === tag);
}

/**
 * Schema for values with an invalid tag: keys with one schema in all variants are checked, the others accept any value,
 * and the tag is always invalid.
 */
function toUntagged(union: TaggedUnion): z.ZodObject {
  const variants = listVariants(union);
  const [first, ...words] = variants.map((variant) => toWord(union, variant));
  const shape: Record<string, z.core.$ZodType> = {};
  for (const variant of variants) {
    for (const [key, schema] of Object.entries(variant.shape)) {
      const isCommon = variants.every(({ shape: other }) => other[key] === schema);
      shape[key] ??= isCommon ? schema : z.unknown().optional();
    }
  }
  if (first !== undefined) shape[union.def.discriminator] = choice({ description: '' }, [first, ...words]);
  return z.strictObject(shape);
}

/** Renders a message about a key of other variants; `undefined` if no variant has it. */
export function describeOwners(union: TaggedUnion, value: unknown, key: string): string | undefined {
  const owners = listVariants(union)
    .filter(({ shape }) => Object.hasOwn(shape, key))
    .map((variant) => `"${toWord(union, variant)}"`);
  const tag = tagOf(union, value);
  if (owners.length === 0 || typeof tag !== 'string') return undefined;
  const list = [owners.slice(0, -1).join(', '), ...owners.slice(-1)].filter((part) => part !== '').join(' and ');
  const { discriminator } = union.def;
  return `The ${discriminator} "${tag}" has no such key; it belongs to ${list}`;
}

function listVariants(union: TaggedUnion): z.ZodObject[] {
  return union.options.filter((option) => option instanceof z.ZodObject);
}

function toWord(union: TaggedUnion, { shape }: z.ZodObject): string {
  const tag = shape[union.def.discriminator];
  return tag instanceof z.ZodLiteral ? String(tag.value) : '';
}

function tagOf({ def }: TaggedUnion, value: unknown): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, def.discriminator) : undefined;
}

/** Returns a section with defaults for keys that are absent or invalid. */
export function orDefaults<Section extends z.ZodObject>(
  schema: Section,
  keys: SoundOf<Section> | undefined,
): z.output<Section> {
  const defaults = decoded.get(schema) ?? z.parse(schema, {});
  decoded.set(schema, defaults);
  return Object.assign({}, defaults as z.output<Section>, keys);
}

const decoded = new WeakMap<z.ZodObject, object>();

type Inheritable<Keys> = {
  [Key in keyof Keys]: Keys[Key] extends z.ZodPrefault<infer Inner>
    ? z.ZodOptional<Inner>
    : Keys[Key] extends z.ZodOptional<z.ZodObject<infer Inner>>
      ? z.ZodOptional<z.ZodObject<Inheritable<Inner>>>
      : Keys[Key];
};

/**
 * Returns keys whose defaults are described but not applied, also in nested sections, so that layers can be merged.
 * {@link orDefaults} then applies the defaults.
 */
export function inheritable<Keys extends Readonly<Record<string, z.core.$ZodType>>>(keys: Keys): Inheritable<Keys> {
  const entries = Object.entries(keys).map(([key, schema]) => [key, withoutDefault(schema)]);
  return Object.fromEntries(entries);
}

function withoutDefault(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodPrefault) return z.optional(describeDefault(schema.unwrap(), schema.def.defaultValue));
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : undefined;
  if (!(inner instanceof z.ZodObject)) return schema;
  return section(inner.meta()?.description ?? '', inheritable(inner.shape)).optional();
}

/** JSON Schema does not show the defaults of parsed values. */
function describeDefault(schema: z.core.$ZodType, written: unknown): z.core.$ZodType {
  if (schema instanceof z.ZodPipe)
    return schema.clone({ ...schema.def, in: describeDefault(schema.in, written) }, { parent: true });
  return schema instanceof z.ZodType ? schema.meta({ default: written }) : schema;
}

/** Settings: read-only at all depths. */
export type Settled<Value> = Value extends Secret
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly Settled<Item>[]
    : Value extends object
      ? { readonly [Key in keyof Value]: Settled<Value[Key]> }
      : Value;

/**
 * Renders settings as they would be written. Secrets are `[secret]`, contents of files are in brackets, and keys
 * without a value are omitted.
 */
export function renderKeys(schema: z.core.$ZodType, value: unknown): unknown {
  if (value instanceof Secret) return value.toString();
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodPrefault) {
    return renderKeys(schema.unwrap(), value);
  }
  if (findContent(schema) === 'certificates') return renderCertificates(String(value));
  if (schema instanceof z.ZodPipe) return z.encode(schema, value);
  if (typeof value !== 'object' || value === null) return value;
  const inner = unwrap(schema, value);
  if (inner instanceof z.ZodArray) return Object.values(value).map((item) => renderKeys(inner.element, item));
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const part: z.core.$ZodType | undefined = inner instanceof z.ZodObject ? inner.shape[key] : undefined;
    const own = inner instanceof z.ZodRecord ? inner.valueType : part;
    return own && item !== undefined ? [[key, renderKeys(own, item)]] : [];
  });
  return Object.fromEntries(entries);
}

/** Lists the values in nested maps by their dotted keys. */
export function listLeaves(
  schema: z.core.$ZodType,
  keys: object,
  prefix = '',
  leaves = new Map<string, unknown>(),
): ReadonlyMap<string, unknown> {
  const inner = unwrap(schema, keys);
  for (const [key, value] of Object.entries(keys)) {
    const own: z.core.$ZodType | undefined = inner instanceof z.ZodObject ? inner.shape[key] : undefined;
    const part = own instanceof z.ZodOptional || own instanceof z.ZodPrefault ? own.unwrap() : own;
    const map = part && !(part instanceof z.ZodPipe) ? unwrap(part, value) : undefined;
    const hasKeys = map instanceof z.ZodObject || map instanceof z.ZodRecord;
    if (part && hasKeys && typeof value === 'object' && value !== null && !(value instanceof Secret)) {
      listLeaves(part, value, `${prefix}${key}.`, leaves);
    } else if (value !== undefined) leaves.set(prefix + key, value);
  }
  return leaves;
}

function renderCertificates(pem: string): string {
  const count = pem.split('-----BEGIN CERTIFICATE').length - 1;
  return `[${count} certificate${count === 1 ? '' : 's'}]`;
}

/**
 * Copies settings only to compare or hash them: secrets are in clear text. A secret with an origin is identified by
 * that, not by its value. Keys are sorted, because their order depends on the layers. Keys without effect are omitted:
 * no value, a flag that is off, an empty map.
 */
export function toComparable(value: unknown): unknown {
  if (value instanceof Secret) return value.source ? { source: value.source.id } : { secret: value.reveal() };
  if (value instanceof Map || value instanceof Set) return [...value].map(toComparable);
  if (Array.isArray(value)) return value.map(toComparable);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, one]) => [key, toComparable(one)] as const);
  return Object.fromEntries(entries.filter(([, one]) => !saysNothing(one)).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Defaults are already applied, so an absent flag is never on. */
function saysNothing(value: unknown): boolean {
  if (value === undefined || value === false) return true;
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

/** Compares settings, including secrets. */
export function areSameSettings(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(toComparable({ value: a }), toComparable({ value: b }));
}

/** Returns a digest of settings, including secrets. */
export function renderSettingsHash(settings: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(toComparable(settings)))
    .digest('base64');
}
