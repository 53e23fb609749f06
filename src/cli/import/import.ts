import { stringify } from 'yaml';
import { toPrintable } from '../../base/index.ts';
import { findRouterFaults } from '../../config/index.ts';
import { CONFIG_FILE_BYTES_MAX, findNearest, readTextFile } from '../../settings/index.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from '../terminal/io.ts';
import { type CsvRow, parseCsv } from './parse-csv.ts';

/** Options of `import`. */
export interface ImportFlags {
  /** Path of the CSV file. */
  readonly csv: string;
}

/** Columns that become keys of a router as they are. */
const KEYS = ['name', 'url', 'username', 'password_file', 'auth', 'credentials', 'tls_set', 'timezone', 'byte_budget'];
/** Columns with several names, divided by blanks, commas or semicolons. */
const LISTS = ['groups', 'modules'];
/** Column of a host or address, instead of `url`. */
const ADDRESS = 'address';
const LABEL = 'label:';
const COLUMNS = [...KEYS, ...LISTS, ADDRESS, `${LABEL}NAME`];
/** A router has at most 32 labels. */
const COLUMNS_MAX = 100;
/** Faults of routers, and warnings, that are printed. */
const FAULTS_MAX = 50;

/** `import`: prints the rows of a CSV file as a YAML list of routers for `router_files`, or all that is wrong with them. */
export async function importRouters({ csv }: ImportFlags, io: CommandIo): Promise<ExitCode> {
  const say = (line: number, message: string) => io.stderr.write(`${csv}:${line}: ${toPrintable(message)}\n`);
  const refuse = (line: number, message: string): ExitCode => {
    say(line, message);
    return EXIT.usage;
  };
  const file = await readTextFile(csv, CONFIG_FILE_BYTES_MAX);
  if (!file.ok) return refuse(1, `The file ${file.reason}`);
  const table = parseCsv(file.text);
  if (!table.ok) return refuse(table.line, table.reason);
  const [head, ...rows] = table.rows;
  if (!head) return refuse(1, `Expected a first line with the names of columns: ${COLUMNS.join(', ')}`);
  const wrong = findColumnFault(head.cells);
  if (wrong !== undefined) return refuse(head.line, wrong);
  const routers = rows.map((row) => ({ row, router: toRouter(head.cells, row) }));
  const faults = [...routers.flatMap((one) => listFaults(one, head.cells)), ...listRepeated(routers)];
  for (const { line, message } of faults.slice(0, FAULTS_MAX)) refuse(line, message);
  if (faults.length > FAULTS_MAX) io.stderr.write(`${csv}: ${faults.length - FAULTS_MAX} more faults\n`);
  if (faults.length > 0) return EXIT.usage;
  const literal = rows.filter(({ cells }) => cells.some((cell) => cell.includes('${')));
  for (const { line } of literal.slice(0, FAULTS_MAX)) say(line, `Warning: "\${" stays text, written as "$\${"`);
  if (literal.length > FAULTS_MAX) io.stderr.write(`${csv}: ${literal.length - FAULTS_MAX} more lines with "\${"\n`);
  // Otherwise a cell could name a variable with a secret, as a label, or in the address that the password is sent to.
  const text = stringify(
    routers.map(({ router }) => router),
    (_, value: unknown) => (typeof value === 'string' ? value.replaceAll('${', () => '$${') : value),
    { lineWidth: 0 },
  );
  await writeResult(routers.length === 0 ? '[]\n' : text, io);
  return EXIT.done;
}

function findColumnFault(columns: readonly string[]): string | undefined {
  if (columns.length > COLUMNS_MAX) return `Expected at most ${COLUMNS_MAX} columns, found ${columns.length}`;
  for (const [index, column] of columns.entries()) {
    if (columns.indexOf(column) < index) return `The column ${JSON.stringify(column)} is there twice`;
    if (COLUMNS.includes(column) || (column.startsWith(LABEL) && column.length > LABEL.length)) continue;
    if (column === 'password') {
      return 'There is no column "password", because its values would be printed; use "password_file", or "credentials" with names of the section in the main file';
    }
    const nearest = findNearest(column, COLUMNS);
    const advice = nearest === undefined ? `valid columns: ${COLUMNS.join(', ')}` : `did you mean "${nearest}"?`;
    return `There is no column ${JSON.stringify(column)}; ${advice}`;
  }
  const hasUrl = columns.includes('url') !== columns.includes(ADDRESS);
  return columns.includes('name') && hasUrl ? undefined : 'Expected the columns "name" and one of "url" and "address"';
}

function toRouter(columns: readonly string[], { cells }: CsvRow): Readonly<Record<string, unknown>> {
  const router: Record<string, unknown> = {};
  const labels: [string, string][] = [];
  for (const [index, column] of columns.entries()) {
    const cell = cells[index] ?? '';
    if (cell === '') continue;
    if (column.startsWith(LABEL)) labels.push([column.slice(LABEL.length), cell]);
    else if (column === ADDRESS) router['url'] = `https://${cell}`;
    else router[column] = LISTS.includes(column) ? cell.split(/[\s,;]+/).filter((one) => one !== '') : cell;
  }
  return labels.length === 0 ? router : { ...router, labels: Object.fromEntries(labels) };
}

interface Imported {
  readonly row: CsvRow;
  readonly router: Readonly<Record<string, unknown>>;
}

function listFaults(
  { row: { line, cells }, router }: Imported,
  columns: readonly string[],
): { line: number; message: string }[] {
  if (cells.length > columns.length) {
    return [{ line, message: `Expected ${columns.length} cells, found ${cells.length}` }];
  }
  const { name, url } = router;
  return findRouterFaults(router).map((message) => {
    if (message.startsWith('name: ') && name !== undefined) {
      return { line, message: `${message}; found ${JSON.stringify(name)}` };
    }
    const isEmpty = message.startsWith('url: ') && url === undefined && columns.includes(ADDRESS);
    return { line, message: isEmpty ? `${ADDRESS}: Expected a host, or host:port; found an empty cell` : message };
  });
}

function listRepeated(routers: readonly Imported[]): { line: number; message: string }[] {
  const first = new Map<unknown, number>();
  return routers.flatMap(({ row: { line }, router: { name } }) => {
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, line);
    if (earlier === undefined || name === undefined) return [];
    return [{ line, message: `The name ${JSON.stringify(name)} is already on line ${earlier}` }];
  });
}
