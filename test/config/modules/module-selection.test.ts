import { describe, expect, it } from 'vitest';
import { load, type Outcome } from '../configuration-folder.ts';
import { configOf, moduleOf } from './module-text.ts';

const shipped = (metric: string, more = '') =>
  `${more}\nresources: [{ path: x, labels: { slot: $index }, metrics: [{ name: ${metric}, help: M., type: gauge, value: v }] }]\n`;

const FILES = {
  'shipped/base.yaml': shipped('router_base', 'identity: true\nmin_interval: 5m'),
  'shipped/extra.yaml': shipped('router_extra', 'default: false'),
  'shipped/modem.yaml': shipped('router_modem', 'help: Modems.'),
  'shipped/reader.yaml': 'reader: configuration\ndefault: true\n',
  'shipped/notes.txt': 'no module',
};

function loadWith(text: string, files: Record<string, string> = {}): Promise<Outcome> {
  return load(text, { files: { ...FILES, ...files }, options: { shippedModules: 'shipped' } });
}

function namesOf({ config }: Outcome): string[][] | undefined {
  return config?.routers.map(({ modules }) => modules.map(({ name }) => name));
}

function oneRouter(modules: string): string {
  return `routers: [{ name: a, url: "http://a", auth: none, modules: ${modules} }]\n`;
}

describe('loadConfig() on the modules of a router', () => {
  it.each([
    ['[default]', ['base', 'modem', 'reader']],
    ['[default, "!modem"]', ['base', 'reader']],
    ['["!modem", default]', ['base', 'reader']],
    ['[default, extra]', ['base', 'extra', 'modem', 'reader']],
    ['[modem, base, modem]', ['base', 'modem']],
    ['[own, extra]', ['extra', 'own']],
    ['[modem, "!default"]', []],
    ['[]', []],
  ])('takes %s in the order of definition', async (list, names) => {
    expect(namesOf(await loadWith(`modules:\n  ${moduleOf('own')}\n${oneRouter(list)}`))).toEqual([names]);
  });

  it('uses the default set when no layer sets modules, and the list of the defaults when the router has none', async () => {
    const routers = 'routers: [{ name: a, url: "http://a" }, { name: b, url: "http://b", modules: [default, extra] }]';
    expect(namesOf(await loadWith(`defaults: { auth: none }\n${routers}`))?.[0]).toEqual(['base', 'modem', 'reader']);
    expect(namesOf(await loadWith(`defaults: { auth: none, modules: [modem] }\n${routers}`))).toEqual([
      ['modem'],
      ['base', 'extra', 'modem', 'reader'],
    ]);
  });

  it('points at a name that is no module and suggests one', async () => {
    const { lines } = await loadWith(`defaults: { modules: [modm] }\n${oneRouter('[default, "!bsae", x]')}`);
    expect(lines).toEqual([
      'router-exporter.yaml:1:23: defaults.modules[0]: There is no module "modm"; did you mean "modem"?',
      'router-exporter.yaml:2:70: routers[0].modules[1]: There is no module "bsae"; did you mean "base"?',
      'router-exporter.yaml:2:79: routers[0].modules[2]: There is no module "x"; there are: default, base, extra, modem, reader',
    ]);
  });

  it.each(['["!modem"]', 'modem', '[7]', '[a b]', '[default, "!"]', '[default, "!!a"]'])(
    'refuses the list %s',
    async (list) => {
      const { lines } = await loadWith(oneRouter(list));
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(
        /: routers\[0\]\.modules(\[\d\])?: Expected (a list of modules such as|the name of a module)/,
      );
    },
  );

  it('gives routers with the same modules the same list, and different lists the same modules', async () => {
    const lists = ['[default]', '[modem, base, reader]', '[base]', '[base, "!extra"]'];
    const routers = lists.map((list, i) => `  - { name: r${i}, url: "http://a", auth: none, modules: ${list} }`);
    const { config } = await loadWith(`routers:\n${routers.join('\n')}\n`);
    const [a, b, c, d] = config?.routers.map(({ modules }) => modules) ?? [];
    expect(b).toBe(a);
    expect(d).toBe(c);
    expect(c?.[0]).toBe(a?.[0]);
    expect(c).not.toBe(a);
  });
});

describe('loadConfig() on modules over shipped ones', () => {
  it('changes the interval alone', async () => {
    const { config, lines } = await loadWith(
      `modules: { base: { interval: 30s }, modem: { min_interval: 10m } }\n${oneRouter('[default]')}`,
    );
    expect(lines).toEqual([]);
    const [base, modem] = config?.routers[0]?.modules ?? [];
    expect(base).toMatchObject({ name: 'base', isIdentity: true, intervalMs: 30_000, minIntervalMs: undefined });
    expect(base?.resources).toHaveLength(1);
    expect(modem).toMatchObject({ name: 'modem', help: 'Modems.', intervalMs: undefined, minIntervalMs: 600_000 });
  });

  it('replaces a module, which keeps its place and stays in or out of the default set', async () => {
    const outcome = await loadWith(
      configOf(`${moduleOf('modem')}\n${moduleOf('extra', 'name: y, help: Y, type: gauge, value: y')}`),
    );
    expect(outcome.lines).toEqual([]);
    expect(namesOf(outcome)).toEqual([['base', 'modem', 'reader']]);
    expect(outcome.config?.routers[0]?.modules[1]).toMatchObject({
      help: '',
      resources: [{ metrics: [{ name: 'router_x' }] }],
    });
  });

  it.each([
    [
      '{}',
      '2:10: modules.modem: Expected "interval" or "min_interval" to change the shipped module, or "resources" to replace it',
    ],
    [
      '{ help: H, interval: 1m }',
      '2:12: modules.modem.help: "help" requires "resources"; without it, only the interval of a shipped module can be changed',
    ],
    [
      '{ interval: 1m, identity: true }',
      '2:26: modules.modem.identity: "identity" requires "resources"; without it, only the interval of a shipped module can be changed',
    ],
    [
      '{ interval: 1m, min_interval: 1m }',
      '2:26: modules.modem.min_interval: Both "interval" and "min_interval" are set; keep one of them',
    ],
    [
      '{ interval: 1 }',
      '2:22: modules.modem.interval: Expected a duration with its unit from 100ms to 1w, such as 30s or 1h30m; found the number 1',
    ],
  ])('refuses to change it by %s', async (module, message) => {
    expect((await loadWith(configOf(`modem: ${module}`))).lines).toEqual([`router-exporter.yaml:${message}`]);
  });

  it('asks for the resources of a module that is not shipped', async () => {
    expect((await loadWith(configOf('moden: { interval: 30s }'))).lines).toEqual([
      'router-exporter.yaml:2:10: modules.moden.resources: Missing key; a module that is not shipped needs "resources"; did you mean "modem"?',
    ]);
  });

  it('refuses a name that is taken in another file, and names both places', async () => {
    const { lines } = await loadWith(`module_files: ["m/*.yaml"]\n${configOf(moduleOf('own'))}`, {
      'm/1.yaml': `${moduleOf('other', 'name: y, help: Y, type: gauge, value: y')}\n`,
      'm/2.yaml': `# 2\n${moduleOf('own')}\n${moduleOf('other', 'name: y, help: Y, type: gauge, value: y')}\n`,
    });
    expect(lines).toEqual([
      'm/2.yaml:2:1: own: The name "own" is already taken in router-exporter.yaml on line 3; each of the modules needs a name of its own',
      'm/2.yaml:3:1: other: The name "other" is already taken in m/1.yaml on line 1; each of the modules needs a name of its own',
    ]);
  });
});

describe('loadConfig() on files of modules', () => {
  it('takes the modules of every file', async () => {
    const files = { 'm/a.yaml': `${moduleOf('own')}\n`, 'm/b.yaml': '{}\n' };
    const outcome = await loadWith(`module_files: [m/*.yaml, m/a.yaml]\n${oneRouter('[own]')}`, files);
    expect([outcome.lines, namesOf(outcome)]).toEqual([[], [['own']]]);
    expect(outcome.watched.patterns).toEqual([]);
  });

  it('reports the faults of a file in that file, and of a missing one where it is named', async () => {
    const { lines } = await loadWith(`module_files: [a.yaml, b.yaml, c.yaml, d.yaml]\n${oneRouter('[default]')}`, {
      'a.yaml': 'own:\n  resorces: []\n',
      'b.yaml': '- own\n',
      'c.yaml': '# nothing\n',
    });
    expect(lines).toEqual([
      'router-exporter.yaml:1:40: module_files[3]: The file named here, "d.yaml", does not exist; relative paths start at FOLDER',
      'a.yaml:2:3: own.resorces: Unknown key; did you mean "resources"?',
      'b.yaml:1:1: Expected a map of modules such as "modem:" with "resources:" below; found a list of 1',
      'c.yaml:1:1: The file is empty; write "{}" where there is no module',
    ]);
  });
});

describe('loadConfig() on labels of a router', () => {
  const router = (labels: string, more = '') =>
    `routers:\n  - { name: a, url: "http://a", auth: none, ${more} labels: { ${labels} } }\n`;

  it('refuses one that a module of the router has, and names both places', async () => {
    const { lines } = await loadWith(router('site: x, slot: "1"'));
    expect(lines).toEqual([
      'router-exporter.yaml:2:65: routers[0].labels.slot: The label "slot" is also a label of router_modem of the module "modem" in shipped/modem.yaml on line 2; choose another name',
    ]);
  });

  it('takes one that only modules of other routers have', async () => {
    const { config, lines } = await loadWith(router('slot: "1"', 'modules: [reader],'));
    expect([lines, config?.routers[0]?.labels]).toEqual([[], { slot: '1' }]);
  });

  it('takes one whose value is empty, because there is none then', async () => {
    expect((await loadWith(`defaults: { labels: { site: x } }\n${router('slot: "", site: ""')}`)).lines).toEqual([]);
  });

  it('points at the defaults when they have it, once for all routers', async () => {
    const { lines } = await loadWith(`defaults: { auth: none, labels: { slot: x } }
routers: [{ name: a, url: "http://a" }, { name: b, url: "http://b" }]`);
    expect(lines).toEqual([
      expect.stringMatching(/^router-exporter\.yaml:1:35: defaults\.labels\.slot: The label "slot" is also/),
    ]);
  });

  it('knows labels of metrics and of state sets', async () => {
    const module = `own:
  resources:
  - path: x
    metrics:
    - { name: s, help: S, type: stateset, value: s, states: [t] }
    - { name: t, help: T, type: stateset, value: s, states: [t], state_label: mode }
    - { name: u_info, help: U, type: info, labels: { kind: k } }`;
    const { lines } = await loadWith(
      configOf(module, 'modules: [own], labels: { state: a, mode: b, kind: c, constructor: d }'),
    );
    expect(lines.map((line) => line.replace(/^\S+ /, ''))).toEqual([
      'routers[0].labels.state: The label "state" is also a label of s of the module "own" on line 6; choose another name',
      'routers[0].labels.mode: The label "mode" is also a label of t of the module "own" on line 7; choose another name',
      'routers[0].labels.kind: The label "kind" is also a label of u_info of the module "own" on line 8; choose another name',
    ]);
  });

  it('finds it where it is, whatever it is called', async () => {
    const module = moduleOf('own', 'name: x, help: X, type: gauge, value: x, labels: { constructor: y }');
    const { lines } = await loadWith(
      `defaults: { labels: { constructor: x } }\n${configOf(module, 'modules: [own], labels: { a: b }')}`,
    );
    expect(lines).toEqual([
      expect.stringMatching(/^router-exporter\.yaml:1:23: defaults\.labels\.constructor: The label/),
    ]);
  });

  it('refuses one of a family of the agent', async () => {
    const { lines } = await load(router('lane: x'), {
      options: { agentFamilies: [{ name: 'router_lanes', help: 'L', type: 'gauge', labels: ['lane'] }] },
    });
    expect(lines).toEqual([
      'router-exporter.yaml:2:56: routers[0].labels.lane: The label "lane" is also a label of router_lanes, which the agent itself exposes; choose another name',
    ]);
  });
});
