import { describe, expect, it, test } from 'vitest';
import { matchesStars } from '../../src/base/index.ts';
import { compileModules, mapDocument } from '../../src/status/index.ts';
import { load, SHIPPED_MODULES } from './configuration-folder.ts';

const MODULES = `
modules:
  doors:
    resources:
      - path: doors
        each: status.list
        labels: { door: name }
        metrics:
          - { name: router_door_open, help: Open., type: gauge, value: open }
          - { name: router_door_passages_total, help: Passages., type: counter, value: passages }
          - { name: router_door_state, help: State., type: stateset, value: state, states: [up, down] }
      - path: lifts
        metrics: [{ name: router_lift_level, help: Level., type: gauge, value: level }]
`;
const DOCUMENT = {
  status: {
    list: [
      { name: 'front', open: '1', passages: '5', state: 'up' },
      { name: 'back/1', open: '0', passages: '6', state: 'down' },
    ],
  },
};

/** Series of the document for a router with these keys, and the resources that are read. */
async function map(router: string, more = '') {
  const { config, lines } = await load(
    `${MODULES}${more}\nrouters: [{ name: a, url: "http://a", auth: none, modules: [doors], ${router} }]`,
  );
  expect(lines).toEqual([]);
  const modules = config?.routers[0]?.modules ?? [];
  const context = { resource: 'doors', readAtMs: 0, zone: undefined };
  const compiled = compileModules(modules).flatMap(({ resources }) => resources);
  const doors = compiled.filter(({ definition }) => definition.path === 'doors');
  const series = mapDocument(doors, DOCUMENT, context).families.flatMap(({ name, samples }) =>
    samples.map(({ labels }) => [name.replace('router_door_', ''), ...Object.values(labels)].join(' ')),
  );
  return { series, paths: modules.flatMap(({ resources }) => resources.map(({ path }) => path)) };
}

describe('metrics of a router', () => {
  it('are all of its modules without lists', async () => {
    const { series, paths } = await map('labels: {}');
    expect(series).toHaveLength(10);
    expect(paths).toEqual(['doors', 'lifts']);
  });

  it('are those that match a glob of allow; what no metric needs is not read', async () => {
    expect(await map('metrics: { allow: [router_door_*n, router_door_pass*] }')).toEqual({
      series: ['open front', 'open back/1', 'passages_total front', 'passages_total back/1'],
      paths: ['doors'],
    });
  });

  it('are not those that match a glob of deny, also when they are allowed', async () => {
    const { series, paths } = await map('metrics: { allow: ["*"], deny: [router_door_s?ate, router_*_total] }');
    expect(series).toEqual(['open front', 'open back/1']);
    expect(paths).toEqual(['doors', 'lifts']);
  });

  it('are chosen by labels, of which all must match, one entry for each alternative', async () => {
    const allow =
      '{ name: router_door_*, labels: { door: "back*", state: "" } }, { name: router_door_state, labels: { state: up } }';
    const { series } = await map(`metrics: { allow: [${allow}] }`);
    expect(series).toEqual(['open back/1', 'passages_total back/1', 'state front up', 'state back/1 up']);
    const denied = await map('metrics: { deny: [{ name: "*", labels: { door: front } }] }');
    expect(denied.series.filter((one) => one.includes('front'))).toEqual([]);
    expect(denied.series).toHaveLength(5);
  });

  it('come from the layers below, list by list', async () => {
    const more =
      'defaults: { metrics: { deny: [router_door_state] } }\ngroups: { g: { metrics: { allow: [router_door_*] } } }';
    expect((await map('groups: [g]', more)).series.map((one) => one.split(' ')[0])).toEqual([
      'open',
      'open',
      'passages_total',
      'passages_total',
    ]);
    expect((await map('groups: [g], metrics: { deny: [] }', more)).series).toHaveLength(10);
  });

  it('share their modules between routers with the same lists', async () => {
    const keys = 'url: "http://a", auth: none, modules: [doors], metrics: { deny: [router_lift_level] }';
    const { config } = await load(`${MODULES}\nrouters: [{ name: a, ${keys} }, { name: b, ${keys} }]`);
    expect(config?.routers[0]?.modules).toBe(config?.routers[1]?.modules);
  });

  it('keep the reading of who the router is', async () => {
    const { config } = await load(
      'routers: [{ name: a, url: "http://a", auth: none, modules: [device, modem], metrics: { deny: ["*"] } }]',
      { options: { shippedModules: SHIPPED_MODULES } },
    );
    const paths = config?.routers[0]?.modules.map(({ name, resources }) => [name, resources.length > 0]);
    expect(paths).toEqual([
      ['device', true],
      ['modem', false],
    ]);
  });

  it('leave values of other forms to metrics that the router does not have', async () => {
    const { config } = await load(
      'routers: [{ name: a, url: "http://a", auth: none, modules: [system], metrics: { allow: [router_load1] } }]',
      { options: { shippedModules: SHIPPED_MODULES } },
    );
    const [system] = compileModules(config?.routers[0]?.modules ?? []);
    const context = { resource: 'sysdetail/system', readAtMs: 0, zone: undefined };
    const faults = (text: string) =>
      mapDocument(system?.resources ?? [], { status: { unique: { load: text } } }, context).faults;
    expect(faults('45 %')).toEqual([]);
    expect(faults('12 V').map(({ metric, reason }) => `${metric} ${reason}`)).toEqual([
      'router_load1 other_form',
      'router_load1 other_form',
    ]);
  });

  it('have names that a module has, which is checked in every layer', async () => {
    const { lines } = await load(
      `${MODULES}
defaults: { auth: none, metrics: { deny: [router_door_opne] } }
groups: { g: { metrics: { allow: [{ name: nothing_*, labels: { a: b } }] } } }
routers: [{ name: a, url: "http://a", metrics: { allow: [7, "a b", { name: x }], deny: [up] } }]`,
    );
    const none = 'metrics of the agent itself and of log rules cannot be chosen here';
    const item = 'Expected a glob of names of metrics, such as router_modem_*, or a map with "name" and "labels"';
    expect(lines.map((line) => line.replace(/^router-exporter\.yaml:\d+:\d+: /, ''))).toEqual([
      `defaults.metrics.deny[0]: No module has a metric "router_door_opne"; ${none}; did you mean "router_door_open"?`,
      `groups.g.metrics.allow[0]: No module has a metric "nothing_*"; ${none}`,
      `routers[0].metrics.allow[0]: ${item}; found the number 7`,
      `routers[0].metrics.allow[1]: ${item}; found "a b"`,
      'routers[0].metrics.allow[2].labels: Missing key; expected a map of 1 to 16 label names to globs',
      `routers[0].metrics.deny[0]: No module has a metric "up"; ${none}`,
    ]);
  });
});

test('matchesStars() matches a whole text, in a time that no glob makes long', () => {
  const cases = { 'a*c': ['abc', 'ac', 'a/b.c'], '*': ['', 'x'], 'a?': ['ab'], '**b*': ['b', 'ab', 'abc'], '': [''] };
  for (const [glob, texts] of Object.entries(cases))
    for (const text of texts) expect(matchesStars(text, glob)).toBe(true);
  for (const [glob, text] of [
    ['a*c', 'abcd'],
    ['a?', 'a'],
    ['', 'a'],
    ['a', 'A'],
    ['*b', 'bc'],
    ['a.c', 'abc'],
  ] as const) {
    expect(matchesStars(text, glob)).toBe(false);
  }
  expect(matchesStars('a'.repeat(256), `${'*a'.repeat(127)}*b`)).toBe(false);
});

test('loadConfig() with the settings of a router whose metrics have a fault says what it is', async () => {
  const { config, lines } = await load(
    'routers: [{ name: a, url: "http://a", auth: none, metrics: { deny: [{ name: router_* }] } }]',
  );
  expect(config).toBeUndefined();
  expect(lines).toEqual([expect.stringContaining('deny[0]')]);
});
