import { describe, expect, it } from 'vitest';
import type { ModuleDefinition } from '../../../src/status/index.ts';
import { load } from '../configuration-folder.ts';
import { configOf, moduleOf } from './module-text.ts';

/** What the module `m` of a configuration becomes. */
async function define(module: string): Promise<ModuleDefinition | undefined> {
  const { config, lines } = await load(configOf(`m:\n${module}`, 'modules: [m]'));
  expect(lines).toEqual([]);
  return config?.routers[0]?.modules[0];
}

describe('loadConfig() on a module', () => {
  it('applies every default when it has only what is required', async () => {
    expect(await define('  resources: [{ path: x, metrics: [{ name: x, help: X, type: gauge, value: f }] }]')).toEqual({
      name: 'm',
      help: '',
      isIdentity: false,
      resources: [
        {
          path: 'x',
          isOptional: false,
          each: 'status.unique',
          labels: {},
          metrics: [
            {
              name: 'x',
              help: 'X. Polled from f of x.',
              type: 'gauge',
              value: 'f',
              hasBinaryPrefixes: false,
              nullValues: ['', '---'],
              stateLabel: 'state',
              labels: {},
            },
          ],
        },
      ],
    });
  });

  it('takes every key', async () => {
    const module = await define(`
  help: >
    About
    this.
  interval: 90s
  identity: true
  resources:
    - path: dsl*/status
      optional: "true"
      each: status.list[].sublist
      labels: { at: $slot, of: $resource, index: $index, outer: ..name, fixed: "= text", field: Field_1-a }
      metrics:
        - { name: a_volts, help: A, type: gauge, value: "in_*", unit: V, labels: { input: $match }, source: observed }
        - { name: b_total, help: B, type: counter, value: f, form: fraction, part: "2", unit: B, prefixes: binary, null_values: [] }
        - { name: a_up, help: C, type: gauge, value: f, map: { up: 1, 2: -0.5, "*": 0 }, null_when: { values: ["0"], fields: { g: ["99"] } } }
        - { name: a_state, help: D, type: stateset, value: f, states: [On, "Off"], state_label: mode }
        - { name: a_info, help: E, type: info, labels: { a: b }, null_values: ["0"] }
        - { name: a_rows, help: F, type: gauge, value: $count, labels: { a: =b, s: $slot, r: $resource } }
`);
    expect(module).toMatchObject({ help: 'About this.', intervalMs: 90_000, isIdentity: true });
    const [resource] = module?.resources ?? [];
    expect(resource).toMatchObject({
      path: 'dsl*/status',
      isOptional: true,
      each: 'status.list[].sublist',
      labels: {
        at: '$slot',
        of: '$resource',
        index: '$index',
        outer: '..name',
        fixed: '= text',
        field: 'Field_1-a',
      },
    });
    expect(resource?.metrics).toMatchObject([
      { name: 'a_volts', value: 'in_*', unit: 'V', labels: { input: '$match' }, source: 'observed' },
      { type: 'counter', form: 'fraction', part: 2, unit: 'B', hasBinaryPrefixes: true, nullValues: [] },
      { map: { up: 1, 2: -0.5, '*': 0 }, nullWhen: { values: ['0'], fields: { g: ['99'] } } },
      { type: 'stateset', states: ['On', 'Off'], stateLabel: 'mode' },
      { type: 'info', labels: { a: 'b' }, nullValues: ['0'] },
      { value: '$count', labels: { a: '=b', s: '$slot', r: '$resource' } },
    ]);
  });

  it.each(['lte2', 'lte*', 'LTE_serial2', 'sysdetail/system', 'dsl*/status', '2a'])(
    'takes the path %s',
    async (path) => {
      expect((await define(`  resources: [{ path: ${path}, metrics: [] }]`))?.resources[0]?.path).toBe(path);
    },
  );

  it.each(['/profiles', '/configuration/services/dns', '/firmware?a=1', '/a?a_b=1,2.3&c=%20-'])(
    'takes the path %s with its rows',
    async (path) => {
      const module = await define(`  resources: [{ path: "${path}", each: profiles, metrics: [] }]`);
      expect(module?.resources[0]).toMatchObject({ path, each: 'profiles' });
    },
  );

  it('reads ..field of the map around the rows of a list, and next to a list', async () => {
    const rows = (each: string) => `  resources: [{ path: x, each: "${each}", labels: { a: ..name }, metrics: [] }]`;
    for (const each of ['status.list', 'status.list[].sublist', 'list[].unique']) {
      expect((await define(rows(each)))?.resources[0]?.labels).toEqual({ a: '..name' });
    }
  });

  it('fills in the environment', async () => {
    const { config } = await load(
      configOf(moduleOf('m', 'name: x, help: "${HELP}", type: gauge, value: f'), 'modules: [m]'),
      {
        env: { HELP: 'From outside.' },
      },
    );
    expect(config?.routers[0]?.modules[0]?.resources[0]?.metrics[0]?.help).toBe('From outside. Polled from f of x.');
  });
});
