import { z } from 'zod';
import { backupSchema } from '../backup/index.ts';
import { connectionsSchema } from '../client/index.ts';
import { clusterSchema } from '../cluster/index.ts';
import { sourcesSchema } from '../inventory/index.ts';
import { logRulesSchema, redactSchema } from '../logs/index.ts';
import { scheduleSchema } from '../schedule/index.ts';
import { filePatterns, type SoundOf, section } from '../settings/index.ts';
import { sinksSchema } from '../sinks/index.ts';
import { modulesSchema } from '../status/index.ts';
import { deadLettersSchema, storageSchema } from '../store/index.ts';
import { webSectionSchema } from '../web/index.ts';
import { credentialsSchema, groupsSchema, layerSchema, routerSchema, tlsSetsSchema } from './router-schema.ts';

export const AT_LEAST_ONE_ROUTER =
  'a list of at least one router, such as "- name: plant-7" with "url: https://192.0.2.10" below';

export const configSchema = section('Configuration of router-exporter.', {
  web: webSectionSchema.optional(),
  storage: storageSchema.optional(),
  cluster: clusterSchema.optional(),
  schedule: scheduleSchema.optional(),
  connections: connectionsSchema.optional(),
  defaults: layerSchema.optional(),
  groups: groupsSchema.optional(),
  credentials: credentialsSchema.optional(),
  tls_sets: tlsSetsSchema.optional(),
  routers: z
    .array(routerSchema, { error: AT_LEAST_ONE_ROUTER })
    .meta({ description: 'Routers. At least one is required, unless there is `router_files` or `router_sources`.' })
    .optional(),
  router_files: filePatterns({
    description:
      'Files with lists of routers, as YAML or JSON, watched for changes. Their routers are added to `routers`; `defaults` applies to them.',
  }).prefault([]),
  router_sources: sourcesSchema.prefault([]),
  modules: modulesSchema
    .meta({
      description:
        'Modules of your own, by name. One with the name of a shipped module replaces it; with `interval` or `min_interval` alone it changes how often the shipped one is read.',
    })
    .optional(),
  module_files: filePatterns({
    description: 'Files with more modules, each a map as in `modules`. They are read again on reload.',
  }).prefault([]),
  firmware_version_files: filePatterns({
    description:
      'Files with the firmware versions that there are, each a map `versions: [{version, date, notes, severity}]`. Routers that run an older one are reported. They are read again on reload.',
  }).prefault([]),
  backup: backupSchema.optional(),
  sinks: sinksSchema.optional(),
  dead_letters: deadLettersSchema.optional(),
  log_rules: logRulesSchema.optional(),
  redact: redactSchema.prefault([]),
});

export type Settings = SoundOf<typeof configSchema>;

/** The keys of JSON Schema that are used here. `kind`: name of the type in the reference. */
export interface JsonSchema {
  readonly description?: string;
  readonly default?: unknown;
  readonly kind?: string;
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
  readonly oneOf?: readonly JsonSchema[];
  readonly const?: string;
}

const REFERENCE: JsonSchema = { type: 'string', pattern: '\\$\\{' };

/**
 * Renders the JSON Schema of the configuration file (draft 7, for editors). It accepts everything that `loadConfig`
 * accepts, and more: it cannot express rules over several keys or files.
 */
export function renderJsonSchema(): string {
  const schema = {
    title: 'router-exporter.yaml',
    ...toEditorSchema(toJsonSchema(configSchema)),
    anyOf: [{ required: ['routers'] }, { required: ['router_files'] }, { required: ['router_sources'] }],
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

export function toJsonSchema(schema: z.core.$ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', target: 'draft-7' }) as JsonSchema;
}

/** Allows a reference to the environment in place of any text. */
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
  return {
    ...node,
    ...(node.properties && {
      properties: Object.fromEntries(
        Object.entries(node.properties).map(([key, value]) => [key, toEditorSchema(value)]),
      ),
    }),
    ...(items && { items: toEditorSchema(items) }),
    ...(propertyNames && { propertyNames: withoutKind(propertyNames) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: toEditorSchema(additionalProperties) }),
    ...(anyOf && { anyOf: anyOf.map(toEditorSchema) }),
    ...(oneOf && { oneOf: [...oneOf.map(toEditorSchema), ...listTagReferences(oneOf)] }),
  };
}

function listTagReferences(variants: readonly JsonSchema[]): JsonSchema[] {
  return listTags(variants).map((tag) => ({ type: 'object', properties: { [tag]: REFERENCE }, required: [tag] }));
}

export function listTags(variants: readonly JsonSchema[]): string[] {
  const [first] = variants;
  return Object.entries(first?.properties ?? {}).flatMap(([key, value]) => (value.const === undefined ? [] : [key]));
}

function withoutKind(schema: JsonSchema): JsonSchema {
  const { kind: _kind, advanced: _advanced, default: fallback, ...node } = schema;
  return fallback === undefined ? node : { ...node, default: fallback };
}
