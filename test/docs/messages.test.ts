import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { explainFailure, ROUTER_FAILURES } from '../../src/model/index.ts';
import { listInlineCode, type Page, PROJECT, parsePage, readPages } from './read-pages.ts';

/** Pages that quote messages of the program. */
const QUOTING = ['docs/troubleshooting.md', 'docs/modules.md', 'docs/operations.md'];
/** Shorter code is no message. */
const WORDS_MIN = 4;
/** How much of a message has to stand in the source. */
const SHARE_MIN = 0.6;

const source = readdirSync(join(PROJECT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.startsWith('simulator/'))
  .map((name) => readFileSync(join(PROJECT, 'src', name), 'utf8'))
  .join('\n');

/** Messages in sentences and tables, and in lines of the agent's log. */
function listMessages(page: Page): readonly string[] {
  const lines = page.blocks
    .filter(({ language }) => language === 'text')
    .flatMap(({ text }) => [...text.matchAll(/^(?:WARN|ERROR) +(.+)$/gm)].map(([, line]) => line ?? ''));
  return [...lines, ...listInlineCode(page)].filter(
    (code) => /^(?:… )?[A-Z]/.test(code) && code.split(' ').length >= WORDS_MIN,
  );
}

/** Words of a message that stand behind each other, with no name, number or other value between them. */
function listRuns(message: string, length: number): readonly string[] {
  const parts = message.replace(/^Expected /, '').split(/[\\"…:;,.$=()[\]]|\S*[\d/_]\S*/);
  return parts.flatMap((part) => {
    const words = part.split(' ').filter((word) => word !== '');
    return words.slice(length - 1).map((_word, index) => words.slice(index, index + length).join(' '));
  });
}

/** Messages whose words the source has not, or not in this order. What it puts together from parts need not fit whole. */
function findStrangers(page: Page): readonly string[] {
  return listMessages(page).filter((message) => {
    const threes = listRuns(message, 3);
    const runs = threes.length > 0 ? threes : listRuns(message, 2);
    return runs.filter((run) => source.includes(run)).length < runs.length * SHARE_MIN || runs.length === 0;
  });
}

test('every message that the documentation quotes is one of the program', () => {
  const pages = readPages().filter(({ path }) => QUOTING.includes(path));
  expect(pages.flatMap(listMessages).length).toBeGreaterThan(35);
  for (const page of pages) expect([page.path, findStrangers(page)]).toEqual([page.path, []]);
});

test('a message that the program does not have is found', () => {
  const page = parsePage(
    'page.md',
    '`The router refused to log in user "x"`, `The router was not willing to log in user "x"`',
  );
  expect(findStrangers(page)).toEqual(['The router was not willing to log in user "x"']);
});

test('the runbook of a router that is down has the sentence of each failure', () => {
  const runbook = readFileSync(join(PROJECT, 'docs/runbooks/routers.md'), 'utf8');
  for (const failure of ROUTER_FAILURES) expect(runbook).toContain(`| \`${failure}\` | ${explainFailure(failure)} |`);
});
