import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of the project. */
export const PROJECT = fileURLToPath(new URL('../../', import.meta.url));

/** A fenced block of code. */
interface Block {
  /** Word behind the fence; empty when there is none. */
  readonly language: string;
  readonly text: string;
  /** Line of the fence, from 1. */
  readonly line: number;
}

/** A page of the documentation. */
export interface Page {
  /** Relative to the project. */
  readonly path: string;
  readonly text: string;
  readonly blocks: readonly Block[];
  /** The text without its blocks. */
  readonly prose: string;
}

const FENCE = /^( *)```(\w*)\n([\s\S]*?)^\1```$/gm;

/** Pages outside `docs`. */
const TOP = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md'];

/** Reads the pages at the top and every page below `docs`. */
export function readPages(): readonly Page[] {
  const names = readdirSync(join(PROJECT, 'docs'), { recursive: true, encoding: 'utf8' });
  const paths = [...TOP, ...names.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];
  return paths.toSorted().map((path) => parsePage(path, readFileSync(join(PROJECT, path), 'utf8')));
}

/** Takes a page apart. */
export function parsePage(path: string, text: string): Page {
  const blocks = [...text.matchAll(FENCE)].map(({ 2: language = '', 3: body = '', index }) => ({
    language,
    text: body,
    line: text.slice(0, index).split('\n').length,
  }));
  return { path, text, blocks, prose: text.replaceAll(FENCE, '') };
}

/** Code in the middle of a sentence. */
export function listInlineCode({ prose }: Page): readonly string[] {
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code ?? '');
}

/** What a link can aim at in a page: its headings as GitHub names them, and explicit anchors. */
export function listAnchors({ prose }: Page): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const anchors = [...prose.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id ?? '');
  for (const [, heading = ''] of prose.matchAll(/^#{1,6} +(.+)$/gm)) {
    const slug = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.push(count === 0 ? slug : `${slug}-${count}`);
  }
  return new Set(anchors);
}
