import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { configSchema } from '../../src/config/schema.ts';
import { load, withRouter } from './configuration-folder.ts';

interface JsonSchema {
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly anyOf?: readonly JsonSchema[];
}

/** The end of a flow map, with the router of `withRouter`. */
const ROUTERS_IN_FLOW = ', routers: [{ name: plant-7, url: "https://192.0.2.10", username: monitor, password: pw }] }';

const root = z.toJSONSchema(configSchema, { io: 'input' }) as JsonSchema;

/** Every key of the schema with its path. */
function listKeys(schema: JsonSchema, path = ''): { path: string; schema: JsonSchema }[] {
  const named = typeof schema.additionalProperties === 'object' ? schema.additionalProperties.properties : {};
  const item = schema.items?.anyOf?.find(({ properties }) => properties) ?? schema.items;
  const keys = { ...schema.properties, ...item?.properties, ...named };
  return Object.entries(keys).flatMap(([key, value]) => {
    const keyPath = path === '' ? key : `${path}.${key}`;
    return [{ path: keyPath, schema: value }, ...listKeys(value, keyPath)];
  });
}

/** What a map would have to say to repeat the defaults of its keys. */
function writeDefaults(schema: JsonSchema | undefined): Record<string, unknown> {
  const entries = Object.entries(schema?.properties ?? {}).map(([key, value]) => [
    key,
    value.properties ? writeDefaults(value) : value.default,
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

describe('configSchema', () => {
  it('describes every key in a sentence', () => {
    const keys = listKeys(root);
    expect(keys.length).toBeGreaterThan(90);
    expect(keys.map(({ path }) => path)).toContain('log_rules.fixed_labels');
    expect(keys.filter(({ schema }) => !/^[A-Z`].*\.$/.test(schema.description ?? '')).map(({ path }) => path)).toEqual(
      [],
    );
  });

  it('states the defaults that apply when a key is absent', async () => {
    const layer = writeDefaults(root.properties?.['defaults']);
    const storage = writeDefaults(root.properties?.['storage']);
    expect([layer, storage]).toMatchObject([{ poll: {}, logs: {}, tls: {} }, { path: './data' }]);
    const { labels: _, ...defaults } = layer;
    const lists = {
      router_files: [],
      module_files: [],
      modules: {},
      backup: {},
      log_rules: ['default'],
      redact: root.properties?.['redact']?.default,
    };
    const explicit = await load(JSON.stringify({ storage, defaults, ...lists }).replace(/}$/, ROUTERS_IN_FLOW));
    const implicit = await load(withRouter());
    expect(explicit.lines).toEqual([]);
    expect({ ...explicit.config, storage: explicit.config?.storage.spoolBytesMax }).toEqual({
      ...implicit.config,
      storage: implicit.config?.storage.spoolBytesMax,
    });
  });
});
