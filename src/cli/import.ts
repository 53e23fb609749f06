import { CsvError, parse } from 'csv-parse/sync';
import { stringify } from 'yaml';
import { renderMany, toPrintable } from '../base/index.ts';
import { findRouterFaults } from '../config/index.ts';
import { CONFIG_FILE_BYTES_MAX, findNearest, readTextFile } from '../settings/index.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from './support/io.ts';

const KEYS = ['name', 'url', 'username', 'password_file', 'auth', 'credentials', 'tls_set', 'timezone', 'byte_budget'];
/** Columns with several names, separated by blanks, commas or semicolons. */
const LISTS = ['groups', 'modules'];
const ADDRESS = 'address';
const LABEL = 'label:';
const COLUMNS = [...KEYS, ...LISTS, ADDRESS, `${LABEL}NAME`];
/** A router has at most 32 labels. */
const COLUMNS_MAX = 100;
/** More routers than one process can poll. */
const ROWS_MAX = 100_000;
const NAME_CHARS_SHOWN = 60;
const FAULTS_MAX = 50;

/** `import`: prints the rows of a CSV file as a YAML list of routers for `router_files`, or all of its faults. */
export async function importRouters(csv: string, io: CommandIo): Promise<ExitCode> {
  const say = (line: number, message: string) => io.stderr.write(`${csv}:${line}: ${toPrintable(message)}\n`);
  const refuse = (line: number, message: string): ExitCode => {
    say(line, message);
    return EXIT.usage;
  };
  const file = await readTextFile(csv, CONFIG_FILE_BYTES_MAX);
  if (!file.ok) return refuse(1, `The file ${file.reason}`);
  const table = parseCsv(file.text);
  if (table.fault) return refuse(table.fault.line, table.fault.message);
  const [head, ...rows] = table.rows;
  if (!head) return refuse(1, `Expected a first line with the names of columns: ${COLUMNS.join(', ')}`);
  const wrong = findColumnFault(head.cells);
  if (wrong !== undefined) return refuse(head.line, wrong);
  const routers = rows.map((row) => ({ row, router: toRouter(head.cells, row) }));
  const faults = [...routers.flatMap((one) => listFaults(one, head.cells)), ...listRepeated(routers)];
  for (const { line, message } of faults.slice(0, FAULTS_MAX)) refuse(line, message);
  if (faults.length > FAULTS_MAX) io.stderr.write(`${csv}: ${renderMany(faults.length - FAULTS_MAX, 'more fault')}\n`);
  if (faults.length > 0) return EXIT.usage;
  const literal = rows.filter(({ cells }) => cells.some((cell) => cell.includes('${')));
  for (const { line } of literal.slice(0, FAULTS_MAX)) say(line, `Warning: "\${" stays text, written as "$\${"`);
  if (literal.length > FAULTS_MAX)
    io.stderr.write(`${csv}: ${renderMany(literal.length - FAULTS_MAX, 'more line')} with "\${"\n`);
  // Unescaped, a cell could name a variable with a secret, and put it into a label, or into the address that gets the
  // password.
  const text = stringify(
    routers.map(({ router }) => router),
    (_, value: unknown) => (typeof value === 'string' ? value.replaceAll('${', () => '$${') : value),
    { lineWidth: 0 },
  );
  await writeResult(routers.length === 0 ? '[]\n' : text, io);
  return EXIT.done;
}

/** `line`: where the row begins, from 1. */
interface CsvRow {
  readonly line: number;
  readonly cells: readonly string[];
}

const LINE_END = /\r\n?|\n/g;

/**
 * Parses CSV (RFC 4180): quoted cells may hold delimiters, line ends and doubled quotes. The delimiter is the comma,
 * semicolon or tab that is most frequent on the first line. Empty lines are ignored.
 */
function parseCsv(text: string): { rows: readonly CsvRow[]; fault?: Fault } {
  const bytes = Buffer.from(text);
  const [first = ''] = text.split(LINE_END, 1);
  const [delimiter = ','] = [',', ';', '\t'].toSorted((a, b) => first.split(b).length - first.split(a).length);
  const blank = delimiter === '\t' ? /[ \r\n]*/y : /\s*/y;
  const rows: CsvRow[] = [];
  const source = bytes.toString('latin1');
  let [end, line] = [0, 1];
  const countLines = (piece: string) => piece.match(LINE_END)?.length ?? 0;
  /** The parser counts a CRLF in quotes twice, so lines are counted here. */
  const findLine = () => {
    blank.lastIndex = end;
    return line + countLines(blank.exec(source)?.[0] ?? '');
  };
  try {
    parse(bytes, {
      delimiter,
      record_delimiter: ['\r\n', '\n', '\r'],
      trim: true,
      skip_empty_lines: true,
      relax_column_count: true,
      to: ROWS_MAX + 2,
      on_record(cells, info) {
        rows.push({ line: findLine(), cells });
        line += countLines(source.slice(end, info.bytes));
        end = info.bytes;
        return null;
      },
    });
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause;
    return { rows, fault: { line: findLine(), message: describeCsvError(cause) } };
  }
  const excess = rows[ROWS_MAX + 1];
  return excess ? { rows, fault: { line: excess.line, message: `Expected at most ${ROWS_MAX} routers` } } : { rows };
}

function describeCsvError({ code }: CsvError): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'A quote is never closed';
  if (code === 'INVALID_OPENING_QUOTE') return 'A cell with a quote in it must be in quotes, and the quote doubled';
  return 'A closing quote must be followed by a delimiter or the end of the line';
}

function findColumnFault(columns: readonly string[]): string | undefined {
  if (columns.length > COLUMNS_MAX) return `Expected at most ${COLUMNS_MAX} columns, found ${columns.length}`;
  for (const [index, column] of columns.entries()) {
    if (columns.indexOf(column) < index) return `The column ${JSON.stringify(column)} appears twice`;
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

interface Fault {
  readonly line: number;
  readonly message: string;
}

interface Imported {
  readonly row: CsvRow;
  readonly router: Readonly<Record<string, unknown>>;
}

function listFaults({ row: { line, cells }, router }: Imported, columns: readonly string[]): Fault[] {
  if (cells.length > columns.length) {
    return [{ line, message: `Expected ${columns.length} cells, found ${cells.length}` }];
  }
  const { name, url } = router;
  return findRouterFaults(router).map((message) => {
    if (message.startsWith('name: ') && name !== undefined) {
      return { line, message: `${message}; found ${quoteName(name)}` };
    }
    const isEmpty = message.startsWith('url: ') && url === undefined && columns.includes(ADDRESS);
    return { line, message: isEmpty ? `${ADDRESS}: Expected a host, or host:port; found an empty cell` : message };
  });
}

/** A cell may hold megabytes. */
function quoteName(name: unknown): string {
  const text = String(name);
  return JSON.stringify(text.length > NAME_CHARS_SHOWN ? `${text.slice(0, NAME_CHARS_SHOWN)}…` : text);
}

function listRepeated(routers: readonly Imported[]): Fault[] {
  const first = new Map<unknown, number>();
  return routers.flatMap(({ row: { line }, router: { name } }) => {
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, line);
    if (earlier === undefined || name === undefined) return [];
    return [{ line, message: `The name ${quoteName(name)} is already on line ${earlier}` }];
  });
}
