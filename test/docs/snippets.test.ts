import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { AGENT_FAMILIES } from '../../src/agent/index.ts';
import { configSchema } from '../../src/config/schema.ts';
import { load, SHIPPED_MODULES } from '../config/configuration-folder.ts';
import { readCatalogue, readLineLabels } from '../dashboards/catalogue.ts';
import { checkLogQl } from '../dashboards/check-logql.ts';
import { checkPromQl } from '../dashboards/check-promql.ts';
import { listInlineCode, type Page, parsePage, readPages } from './read-pages.ts';

/*
 * YAML in the documentation needs no marks: what a block is shows in its keys. Blocks of one page belong together, so a
 * module that one shows can be named by another. What is no configuration of ours is known by its first key.
 */

type Kind = 'configuration' | 'routers' | 'modules' | 'versions' | 'web' | 'foreign';

const pages = readPages();
const KEYS = new Set(Object.keys(configSchema.shape));
const KEYS_OF_WEB = new Set(['tls_server_config', 'http_server_config', 'basic_auth_users']);
/** First keys of files of Prometheus, Grafana and Vector. */
const KEYS_OF_OTHERS = new Set(['scrape_configs', 'apiVersion', 'sources', 'groups']);
/** A hash that is no longer than a line, in place of one that is cut. */
const HASH = '$2b$10$abcdefghijklmnopqrstuuGDMoH0Ub3nCcQzVbXxGyZJw2m0mK3eW';

function findKind(value: unknown): Kind | undefined {
  if (Array.isArray(value)) return value.every((one) => Object.hasOwn(Object(one), 'url')) ? 'routers' : undefined;
  const [first = '', ...rest] = Object.keys(Object(value));
  if (KEYS_OF_OTHERS.has(first)) return 'foreign';
  if ([first, ...rest].every((key) => KEYS_OF_WEB.has(key))) return 'web';
  if (first === 'versions') return 'versions';
  if (KEYS.has(first)) return 'configuration';
  return Object.values(Object(value)).every((one) => Object.hasOwn(Object(one), 'resources')) ? 'modules' : undefined;
}

/** What the checker of the program finds in the configurations of a page; files that are not there do not count. */
async function findFaults(page: Page): Promise<readonly string[]> {
  const blocks = page.blocks
    .filter(({ language }) => language === 'yaml')
    .map(({ text, line }) => {
      const value: unknown = parse(text.replaceAll('$2b$10$…', HASH));
      return { value, kind: findKind(value), place: `${page.path}:${line}` };
    });
  const faults = blocks.filter(({ kind }) => !kind).map(({ place }) => `${place}: no configuration that is known`);
  const env = Object.fromEntries([...page.text.matchAll(/\$\{(\w+)/g)].map(([, name]) => [name ?? '', 'value']));
  const files = {
    'routers/none.yaml': '[]',
    ...toFiles(blocks, 'routers', 'routers/'),
    ...toFiles(blocks, 'modules', 'modules/'),
    ...toFiles(blocks, 'versions', 'versions/'),
    ...toFiles(blocks, 'web', 'web-'),
  };
  for (const [index, { value, kind, place }] of blocks.entries()) {
    if (!kind || kind === 'foreign') continue;
    const { lines } = await load(stringify(complete(value, kind, index)), { env, files, options });
    const own = lines.filter((line) => !/does not exist|lead to no file|cannot be run \(ENOENT\)/.test(line));
    faults.push(...own.map((line) => `${place}: ${line}`));
  }
  return faults;
}

const options = { shippedModules: SHIPPED_MODULES, agentFamilies: AGENT_FAMILIES };

function toFiles(
  blocks: readonly { readonly kind: Kind | undefined; readonly value: unknown }[],
  kind: Kind,
  prefix: string,
): Record<string, string> {
  const ofKind = [...blocks.entries()].filter(([, block]) => block.kind === kind);
  return Object.fromEntries(ofKind.map(([index, { value }]) => [`${prefix}${index}.yaml`, stringify(value)]));
}

/** Puts around a block what it leaves out. */
function complete(value: unknown, kind: Kind, index: number): object {
  const settings = kind === 'configuration' ? Object(value) : {};
  const { defaults, routers, router_files: files, web } = settings;
  const needsRouter = routers === undefined && files === undefined;
  return {
    ...settings,
    defaults: { auth: 'none', ...defaults },
    ...(needsRouter && { routers: [{ name: 'plant-0', url: 'https://192.0.2.1' }] }),
    ...(kind === 'routers' && { router_files: [`routers/${index}.yaml`] }),
    ...(kind === 'modules' && { module_files: [`modules/${index}.yaml`] }),
    ...(kind === 'versions' && { firmware_version_files: [`versions/${index}.yaml`] }),
    web: kind === 'web' ? { config_file: `web-${index}.yaml` } : web,
  };
}

test('every configuration that the documentation shows passes the checker of the program', async () => {
  const faults: string[] = [];
  for (const page of pages) faults.push(...(await findFaults(page)));
  expect(faults).toEqual([]);
  const kinds = pages.flatMap(({ blocks }) =>
    blocks.flatMap(({ language, text }) => (language === 'yaml' ? [findKind(parse(text))] : [])),
  );
  for (const kind of ['configuration', 'routers', 'modules', 'versions', 'web', 'foreign'])
    expect(kinds).toContain(kind);
});

test('a configuration with a mistake is found', async () => {
  const check = (text: string) => findFaults(parsePage('page.md', `\`\`\`yaml\n${text}\n\`\`\`\n`));
  expect(await check('sinks: [{ name: a, type: stdou }]')).toEqual([expect.stringContaining('sinks[0].type')]);
  expect(await check('- { name: a, url: "https://192.0.2.1", pol: {} }')).toEqual([expect.stringContaining('pol')]);
  expect(await check('m: { resources: [{ path: lte2, metrics: [{ name: x }] }] }')).toHaveLength(2);
  expect(await check('basic_auth_users: { a: plain }')).toEqual([expect.stringContaining('basic_auth_users')]);
  expect(await check('router: []')).toEqual(['page.md:1: no configuration that is known']);
  expect(await check('defaults: { tls: { ca_file: none.pem } }')).toEqual([]);
});

/** Names of metrics in YAML and in what commands print: those of examples. */
function listExampleMetrics({ blocks }: Page): readonly string[] {
  return blocks.flatMap(({ text }) => [...text.matchAll(/\brouter_\w+/g)].map(([name]) => name));
}

/** Whether code in a sentence is a query, or the name of a metric. */
function isQuery(code: string): boolean {
  if (/[…*]|_$/.test(code) || KEYS.has(code)) return false;
  return /^router_\w+$/.test(code) || (/^[a-z].*\brouter_\w+/s.test(code) && /^\w+[\s\w()]*[({]|[=<>]=?/.test(code));
}

test('every metric in the documentation exists, and every query is PromQL of metrics that exist', async () => {
  const catalogue = new Map(await readCatalogue());
  // A histogram is called by the name of its family.
  for (const [name, labels] of [...catalogue]) catalogue.set(name.replace(/_bucket$/, ''), labels);
  const faults: string[] = [];
  let queries = 0;
  for (const page of pages.filter(({ path }) => !/^docs\/(runbooks|decisions)\//.test(path))) {
    const examples = new Set(listExampleMetrics(page).filter((name) => !catalogue.has(name)));
    const known = new Map([...catalogue, ...[...examples].map((name) => [name, new Set<string>()] as const)]);
    const shown = page.blocks.filter(({ language }) => language === 'promql').map(({ text }) => text);
    for (const query of [...listInlineCode(page).filter(isQuery), ...shown]) {
      queries++;
      faults.push(...checkPromQl(query, known).map((fault) => `${page.path}: ${query}: ${fault}`));
    }
  }
  expect(faults).toEqual([]);
  expect(queries).toBeGreaterThan(150);
});

test('every LogQL query in the documentation is one, of labels that lines have', () => {
  const labels = readLineLabels();
  const known = { ...labels, line: new Set([...labels.line, 'details_certainty', 'details_gap_uid']) };
  const queries = pages.flatMap(({ blocks }) => blocks.filter(({ language }) => language === 'logql'));
  expect(queries.length).toBeGreaterThan(5);
  for (const { text } of queries) expect([text, checkLogQl(text.trim(), known)]).toEqual([text, []]);
});

test('every JSON in the documentation can be read', () => {
  const texts = pages.flatMap(({ blocks }) => blocks.filter(({ language }) => language === 'json'));
  expect(texts.length).toBeGreaterThan(10);
  for (const { text } of texts) expect(() => JSON.parse(text), text).not.toThrow();
});
