import { z } from 'zod';
import { choice } from './values.ts';

/** Maps of several kinds; one key, the tag, selects the variant. */
export type TaggedUnion = z.ZodDiscriminatedUnion;

/** Finds the variant of a value by its tag; `undefined` if the tag is invalid. */
export function findVariant(union: TaggedUnion, value: unknown): z.ZodObject | undefined {
  const tag = tagOf(union, value);
  return listVariants(union).find((variant) => toWord(union, variant) === tag);
}

/**
 * Builds a schema for values with an invalid tag, with the keys of all variants. Keys with one schema in all variants are
 * checked, the others accept any value, and the tag is always invalid.
 */
export function toUntagged(union: TaggedUnion): z.ZodObject {
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

/** Renders a message about a key that belongs to other variants; `undefined` when no variant has it. */
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
