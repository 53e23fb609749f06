import { z } from 'zod';
import { configSchema } from './schema.ts';

/** A node of a JSON Schema, with the keys used here. `kind` is the name of the type in the reference, or says that it has none there. */
export interface JsonSchema {
  readonly description?: string;
  readonly default?: unknown;
  readonly kind?: string;
  /** True for a key that is seldom set. */
  readonly advanced?: boolean;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly propertyNames?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly anyOf?: readonly JsonSchema[];
  /** Maps of which each has its own value of one key. */
  readonly oneOf?: readonly JsonSchema[];
  readonly const?: string;
}

/** Text with a reference to the environment. Its value is checked only after substitution. */
const REFERENCE: JsonSchema = { type: 'string', pattern: '\\$\\{' };

/**
 * Renders the JSON Schema of the configuration file, for editors, as draft 7, which all of them support. It accepts
 * everything that `loadConfig` accepts, and more: it cannot express rules over several keys or other files.
 */
export function renderJsonSchema(): string {
  const schema = {
    title: 'router-exporter.yaml',
    ...toEditorSchema(toJsonSchema(configSchema)),
    anyOf: [{ required: ['routers'] }, { required: ['router_files'] }, { required: ['router_sources'] }],
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** Converts a schema to the JSON Schema of valid input, with the names of types that the reference needs. */
export function toJsonSchema(schema: z.core.$ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', target: 'draft-7' }) as JsonSchema;
}

/** Removes what only the reference needs, and allows a reference to the environment in place of any text. */
function toEditorSchema(schema: JsonSchema): JsonSchema {
  const node = withoutKind(schema);
  const { description, default: fallback, ...own } = node;
  if (own.type === 'string' && (own.enum !== undefined || own.pattern !== undefined)) {
    return {
      ...(description !== undefined && { description }),
      ...(fallback !== undefined && { default: fallback }),
      anyOf: [own, REFERENCE],
    };
  }
  const { items, propertyNames, additionalProperties, anyOf, oneOf } = node;
  const properties = node.properties && Object.entries(node.properties).filter(([, { kind }]) => kind !== 'removed');
  return {
    ...node,
    ...(properties && {
      properties: Object.fromEntries(properties.map(([key, value]) => [key, toEditorSchema(value)])),
    }),
    ...(items && { items: toEditorSchema(items) }),
    // The environment is not filled in where keys are.
    ...(propertyNames && { propertyNames: withoutKind(propertyNames) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: toEditorSchema(additionalProperties) }),
    ...(anyOf && { anyOf: anyOf.map(toEditorSchema) }),
    ...(oneOf && { oneOf: [...oneOf.map(toEditorSchema), ...listTagReferences(oneOf)] }),
  };
}

/** Allows maps whose variant is chosen by the environment. */
function listTagReferences(variants: readonly JsonSchema[]): JsonSchema[] {
  return listTags(variants).map((tag) => ({ type: 'object', properties: { [tag]: REFERENCE }, required: [tag] }));
}

/** Lists the keys whose values select a variant. */
export function listTags(variants: readonly JsonSchema[]): string[] {
  const [first] = variants;
  return Object.entries(first?.properties ?? {}).flatMap(([key, value]) => (value.const === undefined ? [] : [key]));
}

/** Removes what only the reference needs, and puts the default after the description. */
function withoutKind(schema: JsonSchema): JsonSchema {
  const { kind: _kind, advanced: _advanced, default: fallback, ...node } = schema;
  return fallback === undefined ? node : { ...node, default: fallback };
}
