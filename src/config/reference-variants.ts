import { type JsonSchema, listTags } from './json-schema.ts';

/** One of several maps that can stand at a place. */
export interface Variant {
  /** Value of the key that tells it from the others. */
  readonly word: string;
  readonly schema: JsonSchema;
}

/** Divides maps of which each has its own value of one key: what all of them have, and what is left of each. */
export function splitVariants({ oneOf = [], ...union }: JsonSchema): { common: JsonSchema; variants: Variant[] } {
  const [tag = ''] = listTags(oneOf);
  const [first] = oneOf;
  const isCommon = (key: string) => {
    const text = JSON.stringify(first?.properties?.[key]);
    return text !== undefined && oneOf.every(({ properties }) => JSON.stringify(properties?.[key]) === text);
  };
  const pick = (schema: JsonSchema | undefined, isPicked: (key: string) => boolean): JsonSchema => ({
    ...schema,
    properties: Object.fromEntries(Object.entries(schema?.properties ?? {}).filter(([key]) => isPicked(key))),
  });
  const common = pick(first, isCommon);
  const words = oneOf.map(({ properties }) => properties?.[tag]?.const ?? '');
  return {
    common: {
      ...common,
      ...union,
      properties: { [tag]: { ...first?.properties?.[tag], enum: words }, ...common.properties },
    },
    variants: oneOf.map((schema, index) => ({
      word: words[index] ?? '',
      schema: pick(schema, (key) => key !== tag && !isCommon(key)),
    })),
  };
}
