/**
 * Prints how large the program is: code lines, files, exported names, and the files that one scrape, poll, log line, load of the
 * configuration and page of a router pass.
 *
 *   npx node tools/size.ts
 *
 * The bounds stand in tools/size-bounds.json and are held by test/size.test.ts. Who adds more raises them there, with the reason in
 * the commit.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'rolldown/utils';
import { measureJourneys, STEPS, type Step } from './journeys.ts';

/** Sizes of a part of the program. */
export interface Size {
  readonly files: number;
  /** Lines with code: no comments, no blank ones. A line of more than {@link LINE_WIDTH} characters counts as several. */
  readonly codeLines: number;
  /** Names that files export by themselves: re-exports are no new ones. */
  readonly exportedNames: number;
}

/** Sizes that have a bound. */
export interface SizeBounds {
  /** Of src/ without the simulator and {@link ASSETS}. */
  readonly codeLines: number;
  /** Of src/. */
  readonly files: number;
  /** Of src/. */
  readonly exportedNames: number;
  /** Files that each step passes. */
  readonly journeys: Readonly<Record<Step, number>>;
}

/** What runs in the browser: counted apart. */
export const ASSETS = 'src/web/assets';
const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Width of a line that the formatter keeps. */
const LINE_WIDTH = 120;

/** Returns the bounds. */
export function readSizeBounds(): SizeBounds {
  return JSON.parse(readFileSync(new URL('size-bounds.json', import.meta.url), 'utf8')) as SizeBounds;
}

/** Measures the TypeScript and JavaScript files below `folder` of the repository, except those below the folders `except`. */
export function measureSize(folder: string, ...except: readonly string[]): Size {
  const names = globSync('**/*.{ts,js,css}', { cwd: join(ROOT, folder), exclude: ['**/node_modules/**'] });
  const files = names
    .map((name) => `${folder}/${name}`)
    .filter((name) => !except.some((other) => name.startsWith(other)));
  const sizes = files.map((name) => measureText(name, readFileSync(join(ROOT, name), 'utf8')));
  return {
    files: files.length,
    codeLines: sizes.reduce((sum, { codeLines }) => sum + codeLines, 0),
    exportedNames: sizes.reduce((sum, { exportedNames }) => sum + exportedNames, 0),
  };
}

/** Measures the text of one file; `name` says its language. */
export function measureText(name: string, text: string): Omit<Size, 'files'> {
  if (name.endsWith('.css'))
    return { codeLines: countCodeLines(text.replaceAll(/\/\*.*?\*\//gs, blank)), exportedNames: 0 };
  const { comments, module } = parseSync(name, text);
  let code = text;
  for (const { start, end } of comments) code = code.slice(0, start) + blank(code.slice(start, end)) + code.slice(end);
  const own = module.staticExports.flatMap(({ entries }) => entries.filter(({ moduleRequest }) => !moduleRequest));
  return { codeLines: countCodeLines(code), exportedNames: own.length };
}

/** Keeps the line ends of a comment only. */
function blank(comment: string): string {
  return comment.replaceAll(/[^\n]/g, ' ');
}

function countCodeLines(code: string): number {
  const lines = code.split('\n').map((line) => line.trimEnd().length);
  return lines.reduce((sum, length) => sum + Math.ceil(length / LINE_WIDTH), 0);
}

if (import.meta.main) {
  const bounds = readSizeBounds();
  const [src, without, journeys] = [
    measureSize('src'),
    measureSize('src', 'src/simulator/', ASSETS),
    await measureJourneys(),
  ];
  const rows: [string, number, number?][] = [
    ['code lines of src, simulator and assets apart', without.codeLines, bounds.codeLines],
    ['files of src', src.files, bounds.files],
    ['exported names of src', src.exportedNames, bounds.exportedNames],
    ...STEPS.map((step): [string, number, number] => [
      `files that a ${step} passes`,
      journeys[step].length,
      bounds.journeys[step],
    ]),
    ...['src/simulator', ASSETS, 'test', 'tools', 'bench', 'assembly', 'dashboards'].map((folder): [string, number] => [
      `code lines of ${folder}`,
      measureSize(folder).codeLines,
    ]),
  ];
  for (const [title, value, bound] of rows) {
    const limit = bound === undefined ? '' : `  of ${bound}`;
    process.stdout.write(`${title.padEnd(50)}${String(value).padStart(7)}${limit}\n`);
  }
}
