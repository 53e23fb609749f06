import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { configSchema, toJsonSchema } from '../../src/config/schema.ts';
import { webFileSchema } from '../../src/web/server/web-file.ts';
import { renderConfigReference } from '../../tools/config-reference.ts';
import { toAnchor } from '../../tools/reference-tables.ts';
import { CERTIFICATE, load, SHIPPED_MODULES } from './configuration-folder.ts';

const reference = renderConfigReference();

/** Names of keys, wherever they stand in a schema. */
function listNames(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const keys = Reflect.get(node, 'properties') ?? {};
  const inner = [...Object.values(node), ...Object.values(keys)].flatMap(listNames);
  return [...new Set([...Object.keys(keys), ...inner])];
}

/** Keys that a section about all secrets describes. */
const SECRET_FORMS = [
  'token_file',
  'file',
  'command',
  'password_file',
  'bearer_token_file',
  'notify_token_file',
  'api_key_file',
];

/** Names of the rows of tables. */
const listRows = (text: string) => [...text.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name ?? '');

describe('renderConfigReference()', () => {
  it('is what stands in docs/config.md (`npm run docs` writes it)', async () => {
    const page = await readFile(new URL('../../docs/config.md', import.meta.url), 'utf8');
    expect(page).toBe(reference);
  });

  it('has a row for every key of the configuration and of the web configuration', () => {
    const names = [...listNames(toJsonSchema(configSchema)), ...listNames(toJsonSchema(webFileSchema))];
    expect(names.length).toBeGreaterThan(80);
    expect(names.filter((name) => !reference.includes(`\n| \`${name}\` | `))).toEqual([...SECRET_FORMS]);
  });

  it('says type and meaning of every key, and what is required', () => {
    const rows = reference.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows.filter((row) => !/^\| `[\w-]+` \| \S.* \| .* \| [A-Z`].*\. \|$/.test(row))).toEqual([]);
    expect(rows).toContain(
      '| `url` | URL | required | Address of the router: http or https, host, port and an optional path prefix. |',
    );
    expect(rows).toContain(
      '| `log_rules` | list of `default` and [maps](#log-rules) |  | Rules that turn log lines into metrics. `default` stands for the shipped rules; an empty list: none. Default: `[default]`. |',
    );
    expect(rows).toContain(
      '| `timeout` | duration | `10s` | Limit of one request. The default shrinks to `deadline` when that is shorter. |',
    );
  });

  it('lists the keys of each type of sink, and those that all have once', () => {
    const [, loki = ''] = reference.split('### `sinks[]`: `loki`');
    const [table = ''] = loki.split('### ');
    expect(table).toContain('\n| `tenant` | name |');
    expect(table).toContain(
      '\n| `batch` | [map](#sinks-batch) |  | Size of a batch; omitted keys keep their default. Default: `{ records: 1000, bytes: 1MiB, wait: 1s }`. |',
    );
    expect(table).not.toContain('`name`');
    expect(table).not.toContain('`type`');
    expect(reference.split('\n| `severities` |')).toHaveLength(2);
    expect(reference).toContain('\n| `type` | `stdout`, `file`, `http`, ');
  });

  it('has keys that are seldom set in a second table, and a format only where there are several', () => {
    const [, section = ''] = reference.split('### `sinks[]`: `loki`');
    const [usual = '', rare = ''] = section.split('### ', 1)[0]?.split('Advanced, seldom needed:') ?? [];
    expect(listRows(rare)).toEqual(['layout', 'stream_limit', 'shards', 'max_age', 'headers', 'header_files']);
    expect(listRows(usual)).toEqual(expect.arrayContaining(['url', 'tenant', 'batch']));
    expect(reference.split('\n| `format` | `native`')).toHaveLength(5);
    expect(listRows(reference.split('### `schedule`')[1]?.split('### ')[0] ?? '')).toEqual(['concurrent_runs']);
  });

  it('has one table for maps of the same name in several types of sinks, because they are the same', () => {
    const { items } = toJsonSchema(configSchema).properties?.['sinks'] ?? {};
    for (const key of ['batch', 'tls']) {
      const maps = (items?.oneOf ?? []).flatMap(({ properties }) => properties?.[key]?.properties ?? []);
      expect(maps.length).toBeGreaterThan(1);
      expect(new Set(maps.map((map) => JSON.stringify(map))).size).toBe(1);
    }
  });

  it('links only to places that are there, each once', () => {
    const anchors = [...reference.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, anchor]) => anchor);
    const links = [...reference.matchAll(/\]\(#([^)]+)\)/g)].map(([, link]) => link);
    expect(new Set(anchors).size).toBe(anchors.length);
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter((link) => !anchors.includes(link))).toEqual([]);
  });

  it('shows files that can be loaded', async () => {
    const [
      secrets = '',
      groups = '',
      way = '',
      routers = '',
      sources = '',
      modules = '',
      versions = '',
      sinks = '',
      rules = '',
    ] = [...reference.matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text ?? '');
    const { lines, config } = await load(
      `defaults: { auth: none, modules: [fuel_level] }\nrouter_files: [routers.yaml]\nfirmware_version_files: [versions.yaml]\n${modules}${sinks}${rules}`,
      {
        files: { 'routers.yaml': routers, 'versions.yaml': versions, 'loki.pw': 'x' },
        options: { shippedModules: SHIPPED_MODULES },
      },
    );
    expect(lines).toEqual([]);
    const files = { 'plants.pw': 'x', 'ca.pem': CERTIFICATE, 'inventory.token': 'x', 'netbox.token': 'x' };
    const sourced = await load(sources, { files });
    expect([sourced.lines, sourced.config?.router_sources.map(({ name }) => name)]).toEqual([
      [],
      ['inventory', 'netbox'],
    ]);
    const secret = await load(secrets.replace('pass, show, plant-9', 'echo, x'), {
      files: { 'plant-7.pw': 'x', 'plant-8.pw': 'x' },
      env: { ROUTER_PASSWORD: 'x' },
    });
    expect([secret.lines, secret.config?.routers.length]).toEqual([[], 3]);
    const grouped = await load(groups, { files });
    expect(grouped.lines).toEqual([]);
    expect(grouped.config?.routers[0]).toMatchObject({ labels: { site: 'munich' }, poll: { interval: 300_000 } });
    const gateway = { 'gateway.token': 'x', 'other.header': 'x', 'proxy.pw': 'x' };
    const routed = await load(`${way}routers: [{ name: a, url: "https://a", groups: [remote] }]`, { files: gateway });
    expect(routed.lines).toEqual([]);
    expect(routed.config?.routers[0]).toMatchObject({ auth: 'bearer', proxy: { username: 'agent' } });
    expect(config?.log_rules.map(({ name }) => name)).toEqual([
      'router_dhcp_acks_total',
      'router_ntp_adjustment_seconds',
    ]);
    expect(config?.redact).toHaveLength(2);
    expect(config?.firmware_versions?.map(({ version }) => version)).toEqual(['9.5', '9.6']);
    expect(config?.sinks.map(({ name }) => name)).toEqual(['loki', 'archive', 'search']);
    expect(config?.routers.map(({ name, modules: [module] }) => [name, module?.name])).toEqual([
      ['plant-8', 'fuel_level'],
    ]);
  });
});

/** True if a file has a key, also in a comment. */
const hasKey = (text: string, name: string) => new RegExp(`^[ #-]*(- )?\\{? ?${name}:|[{,] ${name}:`, 'm').test(text);

describe('the documented example', () => {
  it('is short, and has no key that is seldom set', async () => {
    const text = await readFile(new URL('../../docs/router-exporter.example.yaml', import.meta.url), 'utf8');
    expect(text.split('\n').length).toBeLessThanOrEqual(61);
    expect(['path', 'routers', 'sinks', 'groups', 'backup'].filter((name) => !hasKey(text, name))).toEqual([]);
    const parts = reference.split('<a id=').map((part) => part.split('Advanced, seldom needed:'));
    const rare = parts.flatMap(([, second = '']) => listRows(second));
    expect(rare.length).toBeGreaterThan(20);
    // Such as `schedule`, which is another key in `backup`.
    const usual = new Set(listRows(parts.map(([first = '']) => first).join('\n')));
    expect(rare.filter((name) => !usual.has(name) && hasKey(text, name))).toEqual([]);
  });
});

describe('the file with every key, which other tests load', () => {
  it('has every key of the configuration, except for those of sinks, which the test of each sink has', async () => {
    const text = await readFile(new URL('every-key.yaml', import.meta.url), 'utf8');
    const names = listNames(toJsonSchema(configSchema.omit({ sinks: true })));
    expect(names.filter((name) => !hasKey(text, name))).toEqual([]);
  });
});

describe('toAnchor()', () => {
  it('makes a path to an anchor', () => {
    expect(toAnchor('modules.NAME.resources[].metrics[]')).toBe('modules-name-resources-metrics');
  });
});
