import { describe, expect, it } from 'vitest';
import type { LoadOptions } from '../../../src/config/index.ts';
import type { LogRuleSettings } from '../../../src/logs/index.ts';
import { SHIPPED_RULES } from '../../../src/logs/index.ts';
import { load, SHIPPED_MODULES, withRouter } from '../configuration-folder.ts';

const SHIPPED: LogRuleSettings = {
  name: 'router_log_logins_total',
  help: 'Logins.',
  type: 'counter',
  components: ['*'],
  pattern: 'login',
  labels: ['user'],
  fixed_labels: { result: 'success' },
};

/** Keys of a sound rule, by what is special about it. */
const RULE = {
  counter: 'name: a_total, help: A., type: counter, pattern: "x(?P<l>.)"',
  labelled: 'name: a_total, help: A., type: counter, pattern: "y(?P<l>.)", labels: [l]',
  gauge: 'name: a, help: A., type: gauge, pattern: "x(?P<v>.)", value: v',
};

function textOf(rules: readonly string[], more = ''): string {
  return `log_rules:\n${rules.map((rule) => `  - ${rule}\n`).join('')}${more}${withRouter()}`;
}

/** The faults of a list of rules whose first item stands on line 2. */
async function faultsOf(rules: readonly string[], options: LoadOptions = {}, more = ''): Promise<string[]> {
  const { shippedModules: _, ...rest } = options;
  const { lines } = await load(textOf(rules, more), { options: rest });
  return lines.map((line) => line.replace('router-exporter.yaml:', ''));
}

async function rulesOf(text: string, shippedRules: readonly LogRuleSettings[] = [SHIPPED]) {
  const { config, lines } = await load(text, { options: { shippedRules } });
  expect(lines).toEqual([]);
  return config?.log_rules;
}

describe('loadConfig() on log_rules', () => {
  it('fills in the defaults of a rule', async () => {
    const rule = { name: 'a', help: 'A.', type: 'gauge', components: ['*'], pattern: 'x(?P<v>.)', value: 'v' };
    expect(await rulesOf(textOf([`{ ${RULE.gauge} }`]))).toEqual([{ ...rule, labels: [], fixed_labels: {} }]);
  });

  it('takes every key of a rule', async () => {
    const keys = 'components: ["*", "!kernel"], labels: [l], fixed_labels: { kind: k, empty: "" }, value: l';
    expect(await rulesOf(textOf([`{ ${RULE.counter}, ${keys} }`]))).toMatchObject([
      { components: ['*', '!kernel'], labels: ['l'], fixed_labels: { kind: 'k', empty: '' }, value: 'l' },
    ]);
  });

  it('has the shipped rules without the key, and at the place of the word', async () => {
    expect(await rulesOf(withRouter())).toEqual([SHIPPED]);
    const other = 'name: b, help: B., type: gauge, pattern: "x(?P<v>.)", value: v';
    const rules = await rulesOf(textOf([`{ ${RULE.counter} }`, 'default', `{ ${other} }`]));
    expect(rules?.map(({ name }) => name)).toEqual(['a_total', SHIPPED.name, 'b']);
  });

  it('takes several rules with one name, type, help and labels, from groups or fixed', async () => {
    const fixed = 'name: a_total, help: A., type: counter, pattern: z, fixed_labels: { l: z }';
    const rules = await rulesOf(textOf([`{ ${RULE.labelled} }`, `{ ${fixed} }`]));
    expect(rules?.map(({ pattern }) => pattern)).toEqual(['y(?P<l>.)', 'z']);
  });

  it('finds nothing wrong with the rules that are shipped, as they would be written', async () => {
    const written = SHIPPED_RULES.map(({ fixed_labels, ...rule }) => ({ ...rule, fixed_labels }));
    const { lines, config } = await load(`log_rules: ${JSON.stringify(written)}\n${withRouter()}`, {
      options: { shippedModules: SHIPPED_MODULES },
    });
    expect(lines).toEqual([]);
    expect(config?.log_rules).toEqual(SHIPPED_RULES);
  });
});

describe('loadConfig() on a faulty log rule', () => {
  it.each(
    [
      [
        '{ nam: a_total, name: a_total, help: A., type: counter, pattern: x }',
        '2:7',
        'nam: Unknown key; did you mean "name"?',
      ],
      [
        `{ ${RULE.counter}, labels: l }`,
        '2:77',
        'labels: Expected a list of at most 16 groups of the pattern; found "l"',
      ],
      [
        '{ name: a_total, help: A., type: countr, pattern: x }',
        '2:38',
        'type: Expected "gauge" or "counter"; found "countr"; did you mean "counter"?',
      ],
      [
        '{ name: a_total, help: A., type: counter }',
        '2:5',
        'pattern: Missing key; expected text of 1 to 4096 characters (a number needs quotes)',
      ],
      [
        `{ ${RULE.counter}, components: ["!a"] }`,
        '2:81',
        'components: Expected a list of globs such as "*" and "!kernel", at least one of them without "!"; found a list of 1',
      ],
      [
        `{ ${RULE.counter}, labels: [component] }`,
        '2:78',
        'labels[0]: Expected a label name that the exporter does not use itself; found "component"',
      ],
      [
        `{ ${RULE.counter}, fixed_labels: { router: x } }`,
        '2:85',
        'fixed_labels.router: Expected a label name that the exporter does not use itself; found "router"',
      ],
      [
        '{ name: a, help: A., type: counter, pattern: x }',
        '2:13',
        'name: The name of a metric of type "counter" must end in "_total"',
      ],
      [
        '{ name: a_total, help: A., type: gauge, pattern: "(?P<v>x)", value: v }',
        '2:13',
        'name: The name of a metric of type "gauge" must not end in "_total"',
      ],
      [
        '{ name: go_a, help: A., type: gauge, pattern: "(?P<v>x)", value: v }',
        '2:13',
        'name: The names that begin with "go_" belong to others; choose another one',
      ],
      [
        '{ name: a, help: A., type: gauge, pattern: x }',
        '2:5',
        'value: Missing key; a log rule of type "gauge" needs it',
      ],
      [
        '{ name: a_total, help: A., type: counter, pattern: "x(" }',
        '2:56',
        'pattern: A "(" is never closed; write \\( for the character',
      ],
      [`{ ${RULE.counter}, labels: [other] }`, '2:78', 'labels[0]: The pattern has no group of this name; it has: l'],
      [
        '{ name: a_total, help: A., type: counter, pattern: "(?P<user>x)", labels: [usr] }',
        '2:80',
        'labels[0]: The pattern has no group of this name; did you mean "user"?',
      ],
      [
        '{ name: a_total, help: A., type: counter, pattern: x, value: v }',
        '2:66',
        'value: The pattern has no group of this name; it has no named groups, such as (?P<name>…)',
      ],
      [`{ ${RULE.counter}, labels: [l, l] }`, '2:81', 'labels[1]: Duplicate label "l"'],
      [
        `{ ${RULE.labelled}, fixed_labels: { l: x } }`,
        '2:98',
        'fixed_labels.l: The label "l" is already taken from a group in "labels"',
      ],
    ].filter((row): row is [string, string, string] => row[1] !== undefined),
  )('refuses %s', async (rule, position, fault) => {
    expect(await faultsOf([rule])).toEqual([`${position}: log_rules[0].${fault}`]);
  });

  it.each([
    ['defaults', '"defaults"'],
    ['7', 'the number 7'],
  ])('refuses %s in place of a rule', async (item, found) => {
    expect(await faultsOf([item])).toEqual([
      `2:5: log_rules[0]: Expected a map of keys, or "default" for the shipped log rules; found ${found}`,
    ]);
  });

  it('refuses more rules than there may be, and the word twice', async () => {
    const many = Array.from({ length: 101 }, () => `{ ${RULE.counter} }`);
    expect(await faultsOf(many)).toEqual([
      '2:3: log_rules: Expected a list of at most 100 log rules; found a list of 101',
    ]);
    expect(await faultsOf(['default', `{ ${RULE.counter} }`, 'default'], { shippedRules: [SHIPPED] })).toEqual([
      '4:5: log_rules[2]: "default" is listed twice',
    ]);
  });

  it('reports the faults of several rules at once', async () => {
    const lines = await faultsOf(['{ name: a }', '{ help: 7 }', `{ ${RULE.counter}, labels: [m] }`]);
    expect(lines.map((line) => line.split(': ')[1])).toEqual([
      'log_rules[0].help',
      'log_rules[0].type',
      'log_rules[0].pattern',
      'log_rules[1].name',
      'log_rules[1].type',
      'log_rules[1].pattern',
      'log_rules[1].help',
      'log_rules[2].labels[0]',
    ]);
  });
});

describe('loadConfig() on the metric of a log rule', () => {
  const OF_FIRST = 'a_total of the log rule on line 2';

  it.each([
    [
      'name: a_total, help: B., type: counter, pattern: "(?P<l>x)", labels: [l]',
      'help',
      `${OF_FIRST} has another help; a name has one help everywhere`,
    ],
    [
      'name: a_total, help: A., type: counter, pattern: x',
      'labels',
      `${OF_FIRST} has the labels l; a name has the same labels everywhere`,
    ],
    [
      'name: a, help: A., type: gauge, pattern: "(?P<v>x)", value: v',
      'name',
      `OpenMetrics cannot distinguish this name from ${OF_FIRST}; choose another one`,
    ],
  ])('refuses {%s} together with another rule', async (rule, key, message) => {
    const [line, ...rest] = await faultsOf([`{ ${RULE.labelled} }`, `{ ${rule} }`]);
    expect(rest).toEqual([]);
    expect(line?.replace(/^3:\d+: /, '')).toBe(`log_rules[1].${key}: ${message}`);
  });

  it('compares labels whatever their order, and not at all when one of them is faulty', async () => {
    const start = 'name: a_total, help: A., type: counter, pattern: "(?P<l>x)(?P<m>y)"';
    expect(await faultsOf([`{ ${start}, labels: [l, m] }`, `{ ${start}, labels: [m, l] }`])).toEqual([]);
    const lines = await faultsOf([`{ ${start}, labels: [l, m] }`, `{ ${start}, labels: [l, 7] }`]);
    expect(lines).toEqual([expect.stringContaining('log_rules[1].labels[1]: Expected a label name')]);
  });

  it('says that the other rule has no labels, where it has none', async () => {
    const [line] = await faultsOf([`{ ${RULE.counter} }`, `{ ${RULE.labelled} }`]);
    expect(line).toContain(`log_rules[1].labels: ${OF_FIRST} has no labels;`);
  });

  it('refuses a difference from a shipped rule, also where the word stands later', async () => {
    const own = '{ name: router_log_logins_total, help: L., type: counter, pattern: x }';
    const there = 'router_log_logins_total of the shipped log rules ("default" in log_rules)';
    expect(await faultsOf([own, 'default'], { shippedRules: [SHIPPED] })).toEqual([
      `2:44: log_rules[0].help: ${there} has another help; a name has one help everywhere`,
    ]);
    expect(await faultsOf([own], { shippedRules: [SHIPPED] })).toEqual([]);
  });

  it('refuses the name of a metric of a module or of the agent', async () => {
    const metric = 'name: a, help: A., type: gauge, value: f';
    const module = `modules: { m: { resources: [{ path: x, metrics: [{ ${metric} }] }] } }\n`;
    expect(await faultsOf([`{ ${RULE.counter} }`], {}, module)).toEqual([
      '2:13: log_rules[0].name: There is a of the module "m" on line 3 already; choose another name',
    ]);
    const agentFamilies = [{ name: 'a_total', help: 'A.', type: 'counter' }] as const;
    expect(await faultsOf([`{ ${RULE.counter} }`, `{ ${RULE.gauge} }`], { agentFamilies })).toEqual([
      '2:13: log_rules[0].name: The agent itself exposes this metric; choose another name',
      '3:13: log_rules[1].name: The agent itself exposes a_total, which OpenMetrics cannot distinguish from this one; choose another name',
    ]);
  });

  it('refuses a metric of a module that a shipped rule has, at the module', async () => {
    const metric = 'name: router_log_logins_total, help: A., type: counter, value: f';
    const module = `modules: { m: { resources: [{ path: x, metrics: [{ ${metric} }] }] } }\n`;
    const { lines } = await load(`${module}${withRouter()}`, { options: { shippedRules: [SHIPPED] } });
    expect(lines).toEqual([
      'router-exporter.yaml:1:58: modules.m.resources[0].metrics[0].name: There is router_log_logins_total of the shipped log rules ("default" in log_rules) already; choose another name',
    ]);
    expect(
      (await load(`log_rules: []\n${module}${withRouter()}`, { options: { shippedRules: [SHIPPED] } })).lines,
    ).toEqual([]);
  });

  it.each(['user', 'result'])('refuses the label %s of a router, which a rule has', async (label) => {
    const router = withRouter(`labels: { ${label}: x }`);
    expect((await load(router, { options: { shippedRules: [SHIPPED] } })).lines).toEqual([
      `router-exporter.yaml:6:15: routers[0].labels.${label}: The label "${label}" is also a label of router_log_logins_total of the shipped log rules ("default" in log_rules); choose another name`,
    ]);
    expect((await load(`log_rules: []\n${router}`, { options: { shippedRules: [SHIPPED] } })).lines).toEqual([]);
    const own = `log_rules: [{ name: a_total, help: A., type: counter, pattern: "(?P<${label}>x)", labels: [${label}] }]\n`;
    expect((await load(`${own}${router}`)).lines).toEqual([
      `router-exporter.yaml:7:15: routers[0].labels.${label}: The label "${label}" is also a label of a_total of the log rule on line 1; choose another name`,
    ]);
  });
});
