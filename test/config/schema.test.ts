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
  readonly oneOf?: readonly JsonSchema[];
  readonly const?: string;
}

/** The end of a flow map, with the router of `withRouter`. */
const ROUTERS_IN_FLOW = ', routers: [{ name: plant-7, url: "https://192.0.2.10", username: monitor, password: pw }] }';

const root = z.toJSONSchema(configSchema, { io: 'input' }) as JsonSchema;

function toType({ properties }: JsonSchema): string | undefined {
  return properties?.['type']?.const;
}

/** Every key of the schema with its path. */
function listKeys(schema: JsonSchema, path = ''): { path: string; schema: JsonSchema }[] {
  const named = typeof schema.additionalProperties === 'object' ? schema.additionalProperties.properties : {};
  const item = schema.items?.anyOf?.find(({ properties }) => properties) ?? schema.items;
  const variants = (schema.items?.oneOf ?? []).flatMap((variant) => listKeys(variant, `${path}.${toType(variant)}`));
  const keys = { ...schema.properties, ...item?.properties, ...named };
  const own = Object.entries(keys).flatMap(([key, value]) => {
    const keyPath = path === '' ? key : `${path}.${key}`;
    return [{ path: keyPath, schema: value }, ...listKeys(value, keyPath)];
  });
  return [...own, ...variants];
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
    expect(keys.length).toBeGreaterThan(250);
    expect(keys.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['log_rules.fixed_labels', 'sinks.nats.tls.ca_file', 'dead_letters.max']),
    );
    const known = keys.filter(({ schema }) => !('kind' in schema && schema.kind === 'removed'));
    expect(
      known.filter(({ schema }) => !/^[A-Z`].*\.$/.test(schema.description ?? '')).map(({ path }) => path),
    ).toEqual([]);
  });

  it('states the defaults that apply when a key is absent', async () => {
    const layer = writeDefaults(root.properties?.['defaults']);
    const storage = writeDefaults(root.properties?.['storage']);
    expect([layer, storage]).toMatchObject([{ poll: {}, logs: {}, tls: {} }, { path: './data' }]);
    // A key of `tls` that is not written stays so.
    const { labels: _, tls: __, ...defaults } = layer;
    const lists = {
      router_files: [],
      module_files: [],
      modules: {},
      backup: {},
      sinks: [],
      dead_letters: writeDefaults(root.properties?.['dead_letters']),
      log_rules: ['default'],
      redact: root.properties?.['redact']?.default,
    };
    const explicit = await load(JSON.stringify({ storage, defaults, ...lists }).replace(/}$/, ROUTERS_IN_FLOW));
    const implicit = await load(withRouter());
    expect(explicit.lines).toEqual([]);
    expect({ ...explicit.config, origins: undefined, storage: explicit.config?.storage.spool_max }).toEqual({
      ...implicit.config,
      origins: undefined,
      storage: implicit.config?.storage.spool_max,
    });
  });

  it('states the defaults that apply to a sink of each type', async () => {
    const variants = root.properties?.['sinks']?.items?.oneOf ?? [];
    expect(variants).toHaveLength(8);
    const address = { path: 'a', url: 'https://a', address: 'a:1', servers: ['tls://a'] };
    const sinks = variants.map((variant) => {
      const type = toType(variant);
      const batch = / Default: `({.*})`\.$/.exec(variant.properties?.['batch']?.description ?? '')?.[1];
      const needed = Object.entries(address).filter(([key]) => key in (variant.properties ?? {}));
      const { tls: _, batch: __, ...defaults } = writeDefaults(variant);
      expect(batch).toBeDefined();
      return {
        implicit: JSON.stringify({ name: type, type, ...Object.fromEntries(needed) }),
        explicit: JSON.stringify({ name: type, type, ...Object.fromEntries(needed), ...defaults }).replace(
          /}$/,
          `, batch: ${batch} }`,
        ),
      };
    });
    const loadSinks = (texts: readonly string[]) => load(`sinks: [${texts.join(', ')}]\n${withRouter()}`);
    const implicit = await loadSinks(sinks.map((sink) => sink.implicit));
    const explicit = await loadSinks(sinks.map((sink) => sink.explicit));
    expect(explicit.lines).toEqual([]);
    const rename = (outcome: typeof implicit) => JSON.stringify(outcome.config?.sinks).replaceAll(outcome.folder, '');
    expect(rename(explicit)).toBe(rename(implicit));
    expect(sinks[1]?.explicit).toContain('"max_size":"100MiB"');
  });
});
