import { expect, test } from 'vitest';
import { runCommand } from '../cli/run-command.ts';
import { listInlineCode, type Page, parsePage, readPages } from './read-pages.ts';

const pages = readPages();
/** Programs whose arguments may be the name of ours. */
const OTHERS = /^(?:sudo )?(?:docker|podman|npm|systemctl|systemd-analyze|journalctl) /;
const CALL = /(?:^|[\s'"(])(?:\S*bin\/|\.\/)?router-exporter(\.js|:local)?[ \t]+([a-z-][^|>&;#')]*)/g;

/** The arguments of each call of the program that a page shows. */
function listCalls(page: Page): readonly string[] {
  const shell = page.blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);
  const lines = shell
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  // What begins with a capital is a message, which may speak of the program, too.
  const inline = listInlineCode(page).filter((code) => !/^[A-Z]/.test(code));
  return [...lines, ...inline].flatMap((line) =>
    [...line.trim().matchAll(CALL)]
      .filter(([, suffix]) => suffix !== undefined || !OTHERS.test(line.trim()))
      .map(([, , rest]) => (rest ?? '').trim()),
  );
}

const helps = new Map<string, Promise<string>>();
/** What `--help` of a command says; empty when there is no such command. */
function readHelp(words: readonly string[]): Promise<string> {
  const key = words.join(' ');
  const known = helps.get(key) ?? runCommand([...words, '--help']).then(({ stdout }) => stdout);
  helps.set(key, known);
  return known;
}

async function listCommands(words: readonly string[]): Promise<readonly string[]> {
  const [, list = ''] = (await readHelp(words)).split('\nCommands:\n');
  return [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name ?? '').filter((name) => name !== 'help');
}

/** The words of the arguments that name a command. */
async function findCommand(args: string): Promise<readonly string[] | undefined> {
  const [first = '', second = ''] = args.split(/\s+/);
  if (first.startsWith('-')) return [];
  if (!(await listCommands([])).includes(first)) return undefined;
  const inner = await listCommands([first]);
  if (inner.length === 0) return [first];
  return inner.includes(second) ? [first, second] : undefined;
}

/** What is wrong with the arguments of a call. */
async function findFaults(args: string): Promise<readonly string[]> {
  const words = await findCommand(args);
  if (!words) return [`${args}: no such command`];
  const help = await readHelp(words.length === 0 ? ['run'] : words);
  const flags = [...args.matchAll(/(?<=^|\s)--?[a-z][\w.-]*/gi)].map(([flag]) => flag);
  const own = new Set([...help.matchAll(/(?<=^ {2}|, )--?[a-z][\w.-]*/gim)].map(([flag]) => flag).concat('--version'));
  return flags.filter((flag) => !own.has(flag)).map((flag) => `${args}: no option ${flag}`);
}

test('every command that the documentation shows is one of the program, with options that it has', async () => {
  const calls = new Set(pages.flatMap(listCalls));
  expect(calls.size).toBeGreaterThan(35);
  const faults: string[] = [];
  for (const call of calls) faults.push(...(await findFaults(call)));
  expect(faults).toEqual([]);
});

test('a command and an option that do not exist are found', async () => {
  const page = parsePage(
    'page.md',
    '```sh\nnpx router-exporter chek\n./router-exporter lst\nrouter-exporter logs lst x\nrouter-exporter run --shards 2 | cat\ndocker run --name router-exporter --init x\ndocker run router-exporter:local demo --fr 2s\n```\nand `router-exporter status plant-7 --metric`, `systemctl reload router-exporter`',
  );
  const faults: string[] = [];
  for (const call of listCalls(page)) faults.push(...(await findFaults(call)));
  expect(faults).toEqual([
    'chek: no such command',
    'lst: no such command',
    'logs lst x: no such command',
    'run --shards 2: no option --shards',
    'demo --fr 2s: no option --fr',
    'status plant-7 --metric: no option --metric',
  ]);
});

test('the table of commands in the reference has every command, and only options that they have', async () => {
  const reference = pages.find(({ path }) => path === 'docs/reference.md')?.prose ?? '';
  const [, table = ''] = /\| Command \| What it does \|\n\|---\|---\|\n([\s\S]*?)\n\n/.exec(reference) ?? [];
  const shown = new Set<string>();
  for (const row of table.split('\n')) {
    const [cell = '', text = ''] = row.slice('| '.length).split(' | ');
    let help = '';
    let group = '';
    for (const [, code = ''] of cell.matchAll(/`([^`]+)`/g)) {
      const words = (await findCommand(code)) ?? (await findCommand(`${group} ${code}`));
      expect([code, words]).toEqual([code, expect.anything()]);
      group = words?.[0] ?? '';
      shown.add(words?.join(' ') ?? '');
      help += await readHelp(words ?? []);
    }
    for (const [flag] of `${cell} ${text}`.matchAll(/--[a-z][\w.-]*/g)) {
      expect([row, help]).toEqual([row, expect.stringContaining(flag)]);
    }
  }
  const all: string[] = [];
  for (const name of await listCommands([])) {
    const inner = await listCommands([name]);
    all.push(...(inner.length === 0 ? [name] : inner.map((one) => `${name} ${one}`)));
  }
  expect([...shown].toSorted()).toEqual(all.toSorted());
});

test('no file that the documentation makes begins with what npm itself prints', () => {
  const lines = pages.flatMap(({ blocks }) => blocks.flatMap(({ text }) => text.split('\n')));
  expect(lines.filter((line) => /^\s*npm run --silent .*>/.test(line))).toHaveLength(1);
  expect(lines.filter((line) => /^\s*npm run (?!--silent ).*>/.test(line))).toEqual([]);
});
