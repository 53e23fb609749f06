/**
 * Fills the sizing table of docs/operations.md with what `router-exporter bench` measures on this machine.
 *
 *   npm run build && npx node bench/fleet/sizing.ts [latency in ms, default 0] [numbers of routers, default 200 1000 2000]
 *
 * Takes three minutes for each number: two intervals of 60 s to begin with, and one that is measured. A row of the same number
 * of routers and latency is replaced, the others stay; each says the load of the machine. Where the agent is at its limit, the
 * row says which, and larger numbers are not tried.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describeMachine, print } from '../contest.ts';

const [LATENCY_MS = 0, ...COUNTS] = process.argv.slice(2).map(Number);
const DEFAULT_COUNTS = [200, 1000, 2000];
const PAGE = fileURLToPath(new URL('../../docs/operations.md', import.meta.url));
const PROGRAM = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const BEGIN = '<!-- measured by bench/fleet/sizing.ts -->';
const END = '<!-- end of what is measured -->';
const HEAD = `| Routers | Latency | Memory | CPU | Lag p99 | Limit | Load |
|---:|---:|---:|---:|---:|---|---:|`;

/** Measures one number of routers and returns the row; `undefined` if there is none. */
async function measure(routers: number): Promise<{ readonly row: string; readonly isLimit: boolean } | undefined> {
  const numbers = ['--from', String(routers), '--routers', String(routers)];
  const latency = LATENCY_MS > 0 ? ['--latency', `${LATENCY_MS}ms`] : [];
  const args = [PROGRAM, 'bench', ...numbers, ...latency, '--markdown'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const output = await text(child.stdout);
  const cells = new RegExp(String.raw`^\| ${routers} \|.*`, 'm')
    .exec(output)?.[0]
    .split('|')
    .map((cell) => cell.trim());
  if (!cells) return undefined;
  const [, , , processor, lag, memory, , limit = ''] = cells;
  const load = loadavg()[0]?.toFixed(1);
  const row = `| ${[routers, `${LATENCY_MS} ms`, memory, `${processor} of a core`, lag, limit || '-', load].join(' | ')} |`;
  return { row, isLimit: limit !== '' };
}

/** Replaces the row of the same routers and latency; rows are ordered by these. */
function merge(row: string): void {
  const page = readFileSync(PAGE, 'utf8');
  const [from, to] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)];
  if (to < from) throw new RangeError(`${PAGE} has no place for the table`);
  const keyOf = (line: string) =>
    line
      .split('|')
      .slice(1, 3)
      .map((cell) => Number.parseFloat(cell));
  const known = page
    .slice(from, to)
    .split('\n')
    .filter((line) => /^\| \d/.test(line));
  const rows = new Map([...known, row].map((line) => [keyOf(line).join(' '), line]));
  const ordered = [...rows.values()].toSorted((a, b) => {
    const [[routersA = 0, latencyA = 0], [routersB = 0, latencyB = 0]] = [keyOf(a), keyOf(b)];
    return latencyA - latencyB || routersA - routersB;
  });
  writeFileSync(PAGE, `${page.slice(0, from)}\n${HEAD}\n${ordered.join('\n')}\n${page.slice(to)}`);
}

print(describeMachine(), '', HEAD);
for (const routers of COUNTS.length > 0 ? COUNTS : DEFAULT_COUNTS) {
  const measured = await measure(routers);
  if (!measured) break;
  print(measured.row);
  merge(measured.row);
  if (measured.isLimit) break;
}
