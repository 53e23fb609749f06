import { describe, expect, it } from 'vitest';
import type { AgentFamily } from '../../../src/status/index.ts';
import { load } from '../configuration-folder.ts';
import { configOf, moduleOf } from './module-text.ts';

const METRICS = {
  gauge: 'name: router_a, help: A., type: gauge, value: f',
  states: 'name: router_a, help: A., type: stateset, value: f, states: [s]',
  otherHelp: 'name: router_a, help: B., type: gauge, value: f',
  counter: 'name: router_a_total, help: A., type: counter, value: f',
  info: 'name: router_a_info, help: A., type: info, labels: { l: f }',
};

async function linesOf(modules: string, agentFamilies: AgentFamily[] = []): Promise<string[]> {
  const { lines } = await load(configOf(modules), { options: { agentFamilies } });
  return lines.map((line) => line.replace('router-exporter.yaml:', '').replace(/^(\d+):\d+: /, '$1: '));
}

describe('loadConfig() on metrics of one name', () => {
  it('takes one metric from several modules, resources and fields', async () => {
    const twice = `b: { resources: [{ path: x, metrics: [{ ${METRICS.gauge} }, { ${METRICS.gauge} }] }, { path: y, metrics: [{ ${METRICS.gauge} }] }] }`;
    expect(await linesOf(`${moduleOf('a', METRICS.gauge)}\n${twice}`)).toEqual([]);
  });

  it.each([
    ['states', 'type', 'router_a of the module "a" on line 2 has the type "gauge"; a name has one type everywhere'],
    ['otherHelp', 'help', 'router_a of the module "a" on line 2 has another help; a name has one help everywhere'],
    [
      'counter',
      'name',
      'OpenMetrics cannot distinguish this name from router_a of the module "a" on line 2; choose another one',
    ],
    [
      'info',
      'name',
      'OpenMetrics cannot distinguish this name from router_a of the module "a" on line 2; choose another one',
    ],
  ] as const)('refuses another module whose metric differs (%s), and names the first', async (other, key, message) => {
    expect(await linesOf(`${moduleOf('a', METRICS.gauge)}\n${moduleOf('b', METRICS[other])}`)).toEqual([
      `3: modules.b.resources[0].metrics[0].${key}: ${message}`,
    ]);
  });

  it('names in the help what a metric is polled from, and keeps it when one more module has the metric', async () => {
    const helpsOf = async (modules: string) => {
      const { config } = await load(configOf(modules));
      const all = config?.modules.flatMap(({ resources }) => resources.flatMap(({ metrics }) => metrics));
      return all?.map(({ help }) => help);
    };
    const bare = 'name: router_b, help: "No stop", type: gauge, value: g';
    const first = `a: { resources: [{ path: x, metrics: [{ ${METRICS.gauge} }, { ${bare} }] }, { path: y, metrics: [{ ${METRICS.gauge} }] }] }`;
    const helps = ['A. Polled from f of x, y.', 'No stop. Polled from g of x.', 'A. Polled from f of x, y.'];
    expect(await helpsOf(first)).toEqual(helps);
    const another = moduleOf('b', METRICS.gauge);
    expect(await helpsOf(`${first}\n${another}`)).toEqual([...helps, 'A. Polled from f of x, y.']);
  });

  it('refuses a difference within one module', async () => {
    const module = `a: { resources: [{ path: x, metrics: [{ ${METRICS.counter} }, { ${METRICS.info} }] }] }`;
    expect(await linesOf(module)).toEqual([
      '2: modules.a.resources[0].metrics[1].name: OpenMetrics cannot distinguish this name from router_a_total of the module "a" on line 2; choose another one',
    ]);
  });

  it.each(['gauge', 'counter', 'info'] as const)('refuses a %s that the agent itself exposes', async (type) => {
    const name = { gauge: 'router_a', counter: 'router_a_total', info: 'router_a_info' }[type];
    expect(await linesOf(moduleOf('a', METRICS[type]), [{ name, help: 'A.', type }])).toEqual([
      '2: modules.a.resources[0].metrics[0].name: The agent itself exposes this metric; choose another name',
    ]);
  });

  it('refuses a metric that OpenMetrics cannot distinguish from one of the agent', async () => {
    expect(
      await linesOf(moduleOf('a', METRICS.gauge), [{ name: 'router_a_total', help: 'A.', type: 'counter' }]),
    ).toEqual([
      '2: modules.a.resources[0].metrics[0].name: The agent itself exposes router_a_total, which OpenMetrics cannot distinguish from this one; choose another name',
    ]);
  });

  it('compares modules of all files', async () => {
    const { lines } = await load(`module_files: [m.yaml]\n${configOf(moduleOf('a', METRICS.gauge))}`, {
      files: {
        'm.yaml': `# b\n${moduleOf('b', METRICS.states)}\n`,
        'shipped/c.yaml': `resources: [{ path: x, metrics: [{ ${METRICS.otherHelp} }] }]\n`,
      },
      options: { shippedModules: 'shipped' },
    });
    expect(lines).toEqual([
      expect.stringMatching(
        /^router-exporter\.yaml:3:\d+: \S+\.help: router_a of the module "c" in shipped\/c\.yaml on line 1 has another help;/,
      ),
      expect.stringMatching(
        /^m\.yaml:2:\d+: b\.resources\[0\]\.metrics\[0\]\.type: router_a of the module "c" in shipped\/c\.yaml on line 1 has the type "gauge";/,
      ),
    ]);
  });

  it('forgets the metrics of a shipped module that was replaced', async () => {
    const { lines } = await load(configOf(`${moduleOf('c', METRICS.states)}\n${moduleOf('d', METRICS.states)}`), {
      files: { 'shipped/c.yaml': `resources: [{ path: x, metrics: [{ ${METRICS.gauge} }] }]` },
      options: { shippedModules: 'shipped' },
    });
    expect(lines).toEqual([]);
  });
});
