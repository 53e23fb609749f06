import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { listAnchors, type Page, PROJECT, parsePage, readPages } from './read-pages.ts';

const pages = readPages();
const byPath = new Map(pages.map((page) => [page.path, page]));

/** What is wrong with the links of a page. */
function findBrokenLinks(page: Page): readonly string[] {
  const links = [...page.prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link ?? '');
  return links.filter((link) => !/^[a-z]+:/.test(link)).flatMap((link) => findFault(page, link) ?? []);
}

function findFault(page: Page, link: string): string | undefined {
  const [target = '', anchor] = link.split('#');
  if (target === '') return listAnchors(page).has(anchor ?? '') ? undefined : `${link}: the page has no such heading`;
  const path = normalize(join(page.path, '..', target));
  const file = join(PROJECT, path);
  if (path.startsWith('..') || !existsSync(file)) return `${link}: there is no ${path}`;
  if (anchor === undefined) return undefined;
  if (!statSync(file).isFile() || !path.endsWith('.md')) return `${link}: ${path} has no anchors`;
  const aim = byPath.get(path) ?? readOther(path);
  return listAnchors(aim).has(anchor) ? undefined : `${link}: ${path} has no heading for #${anchor}`;
}

function readOther(path: string): Page {
  return parsePage(path, readFileSync(join(PROJECT, path), 'utf8'));
}

test('every link of the documentation leads to a file, and to a heading in it', () => {
  expect(pages.length).toBeGreaterThan(12);
  for (const page of pages) expect([page.path, findBrokenLinks(page)]).toEqual([page.path, []]);
});

test('a link that leads nowhere is found', () => {
  const broken = (text: string) => findBrokenLinks(parsePage('docs/page.md', text));
  expect(broken('[a](operations.md#many-routers) [b](../README.md) [c](https://example.net/x.md)')).toEqual([]);
  expect(broken('[a](operation.md)')).toEqual(['operation.md: there is no docs/operation.md']);
  expect(broken('[a](operations.md#few-routers)')).toEqual([
    'operations.md#few-routers: docs/operations.md has no heading for #few-routers',
  ]);
  expect(broken('# There\n[a](#there) [a](#here)')).toEqual(['#here: the page has no such heading']);
  expect(broken('![a](images/none.png)')).toEqual(['images/none.png: there is no docs/images/none.png']);
  expect(broken('[a](../../secret.md)')).toEqual(['../../secret.md: there is no ../secret.md']);
});

test('every page in docs/ can be reached from the README', () => {
  const reached = new Set(['README.md']);
  for (const path of reached) {
    for (const [, link = ''] of byPath.get(path)?.prose.matchAll(/\]\(([^)#\s]+)/g) ?? []) {
      const target = normalize(join(path, '..', link));
      if (byPath.has(target)) reached.add(target);
    }
  }
  expect(pages.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([]);
});
