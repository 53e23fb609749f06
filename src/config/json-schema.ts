import { z } from 'zod';
import { configSchema } from './schema.ts';

/** A node of a JSON Schema, as far as it is used here. `kind` is what the reference calls the type. */
export interface JsonSchema {
  readonly description?: string;
  readonly default?: unknown;
  readonly kind?: string;
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

/** Such text is judged when the environment has been filled in. */
const REFERENCE: JsonSchema = { type: 'string', pattern: '\\$\\{' };

/**
 * Renders the JSON Schema of the configuration file, for editors. Draft 7, which all of them know. It accepts whatever
 * `loadConfig` accepts, and more: what several keys or other files decide is beyond it.
 */
export function renderJsonSchema(): string {
  const schema = {
    title: 'router-exporter.yaml',
    ...toEditorSchema(toJsonSchema(configSchema)),
    anyOf: [{ required: ['routers'] }, { required: ['router_files'] }],
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** The JSON Schema of what may be written, with the words of the reference in it. */
export function toJsonSchema(schema: z.core.$ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', target: 'draft-7' }) as JsonSchema;
}

/** Takes out what only the reference needs, and lets a reference to the environment stand for any text. */
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
  const { properties, items, propertyNames, additionalProperties, anyOf, oneOf } = node;
  return {
    ...node,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, toEditorSchema(value)])),
    }),
    ...(items && { items: toEditorSchema(items) }),
    // The environment is not filled in where keys are.
    ...(propertyNames && { propertyNames: withoutKind(propertyNames) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: toEditorSchema(additionalProperties) }),
    ...(anyOf && { anyOf: anyOf.map(toEditorSchema) }),
    ...(oneOf && { oneOf: [...oneOf.map(toEditorSchema), ...listTagReferences(oneOf)] }),
  };
}

/** Maps that leave it to the environment which one of `variants` they are. */
function listTagReferences(variants: readonly JsonSchema[]): JsonSchema[] {
  return listTags(variants).map((tag) => ({ type: 'object', properties: { [tag]: REFERENCE }, required: [tag] }));
}

/** The keys whose values tell maps from each other. */
export function listTags(variants: readonly JsonSchema[]): string[] {
  const [first] = variants;
  return Object.entries(first?.properties ?? {}).flatMap(([key, value]) => (value.const === undefined ? [] : [key]));
}

/** Without what is only for the reference, and the default behind the description. */
function withoutKind(schema: JsonSchema): JsonSchema {
  const { kind: _kind, default: fallback, ...node } = schema;
  return fallback === undefined ? node : { ...node, default: fallback };
}
