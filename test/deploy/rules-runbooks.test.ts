import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../cli/run-command.ts';
import { readCatalogue } from '../dashboards/catalogue.ts';
import { checkPromQl } from '../dashboards/check-promql.ts';
import { LOKI_RULES, listAlerts, PROJECT_FOLDER, type Rule, readRules, readShippedRules } from './rules-files.ts';

const RUNBOOKS = ['routers', 'links', 'configuration', 'logs', 'agent'];
const PARTS = ['Means', 'Confirm', 'Do', 'Do not'];
/** Alerts that say what another one says, of another source, and share its section. */
const SHARED: Readonly<Record<string, string>> = { RouterLogGapRecorded: 'routerloggap' };

function readRunbook(name: string): string {
  return readFileSync(join(PROJECT_FOLDER, 'docs/runbooks', `${name}.md`), 'utf8');
}

/** Sections by the anchors that a Markdown page gives them. */
function readSections(text: string): ReadonlyMap<string, string> {
  const parts = text.split(/^## /m).slice(1);
  return new Map(parts.map((part) => [(part.split('\n')[0] ?? '').toLowerCase(), part]));
}

/** What is wrong with the link of an alert; `undefined` when nothing is. */
function checkLink({ alert = '', annotations = {} }: Rule): string | undefined {
  const [page = '', anchor = ''] = (annotations['runbook_url'] ?? '').split('#');
  if (!existsSync(join(PROJECT_FOLDER, page))) return `there is no page ${page}`;
  if (anchor !== (SHARED[alert] ?? alert.toLowerCase())) return `the anchor ${anchor} is not that of ${alert}`;
  return readSections(readFileSync(join(PROJECT_FOLDER, page), 'utf8')).has(anchor)
    ? undefined
    : `no section ${anchor}`;
}

function listBlocks(text: string, language: string): readonly string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, block]) => block ?? '',
  );
}

const alerts = [...readShippedRules(), ...readRules(LOKI_RULES)].filter(({ alert }) => alert !== undefined);

test('the runbook of every alert is a section that exists', () => {
  for (const rule of alerts) expect([rule.alert, checkLink(rule)]).toEqual([rule.alert, undefined]);
});

test('a link to a page or a section that does not exist is found', () => {
  const link = (url: string) => checkLink({ alert: 'RouterDown', expr: '', annotations: { runbook_url: url } });
  expect(link('docs/runbooks/routers.md#routerdown')).toBeUndefined();
  expect(link('docs/runbooks/router.md#routerdown')).toBe('there is no page docs/runbooks/router.md');
  expect(link('docs/runbooks/links.md#routerdown')).toBe('no section routerdown');
  expect(link('docs/runbooks/routers.md#routersitedown')).toBe('the anchor routersitedown is not that of RouterDown');
  expect(link('docs/runbooks/routers.md')).toBe('the anchor  is not that of RouterDown');
});

test('every section of the runbooks is about an alert, and says what it means, how to confirm it, what to do and what not', () => {
  const names = new Set(listAlerts(alerts).map((alert) => alert.toLowerCase()));
  for (const [anchor, text] of RUNBOOKS.flatMap((name) => [...readSections(readRunbook(name))])) {
    const parts = [...text.matchAll(/^\*\*([A-Z][a-z ]+)\*\*/gm)].map(([, part]) => part);
    expect({ anchor, isAlert: names.has(anchor), parts }).toEqual({ anchor, isAlert: true, parts: PARTS });
  }
});

test('every query in the runbooks is PromQL of metrics that exist', async () => {
  const catalogue = new Map(await readCatalogue());
  const every = new Set(['operator', ...[...catalogue.values()].flatMap((labels) => [...labels])]);
  for (const { record } of readShippedRules()) if (record !== undefined) catalogue.set(record, every);
  const queries = RUNBOOKS.flatMap((name) => listBlocks(readRunbook(name), 'promql'));
  expect(queries.length).toBeGreaterThan(40);
  // A pattern of names is checked by what it would match.
  for (const query of queries.filter((one) => !one.includes('__name__')))
    expect([query, checkPromQl(query, catalogue)]).toEqual([query, []]);
});

test('every command in the runbooks is one of the program, with options that it has', async () => {
  const lines = RUNBOOKS.flatMap((name) => {
    const text = readRunbook(name);
    const inText = [...text.matchAll(/`(router-exporter [^`]+)`/g)].map(([, line]) => line ?? '');
    return [...listBlocks(text, 'sh').flatMap((block) => block.trim().split('\n')), ...inText];
  });
  const commands = [...new Set(lines.filter((line) => line.startsWith('router-exporter ')))];
  expect(commands.length).toBeGreaterThan(10);
  for (const line of commands) {
    const [, first = '', second = ''] = line.split(/\s+/);
    const groups = ['cluster', 'dead-letters', 'logs', 'profiles'];
    const words = groups.includes(first) ? [first, second] : [first];
    const { stdout: text } = await runCommand([...words, '--help']);
    expect([line, text]).toEqual([line, expect.stringContaining(`Usage: router-exporter ${words.join(' ')}`)]);
    for (const [option] of line.matchAll(/--[a-z.-]+/g))
      expect([line, text]).toEqual([line, expect.stringContaining(option)]);
  }
});
