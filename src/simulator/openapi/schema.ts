/** A JSON schema in the dialect of OpenAPI 3.0. */
export type Schema = Readonly<Record<string, unknown>>;

/** Any text, or text within the given bounds. */
export function textSchema(bounds: Schema = {}): Schema {
  return { type: 'string', ...bounds };
}

/** One of a closed set of texts. */
export function choiceSchema(values: readonly string[]): Schema {
  return { type: 'string', enum: [...values] };
}

/** An object of exactly these properties; all are required unless `optional` names them. */
export function objectSchema(properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  // The dialect refuses an empty list of required properties.
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

/** An object of exactly these properties, none of which is required. */
export function partialSchema(properties: Readonly<Record<string, Schema>>): Schema {
  return objectSchema(properties, Object.keys(properties));
}

/** A list of equal items. */
export function listSchema(items: Schema, bounds: Schema = {}): Schema {
  return { type: 'array', items, ...bounds };
}

/** A schema that stands in the components. */
export function schemaRef(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}
