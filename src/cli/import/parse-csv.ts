/** A row of a CSV file, and the line on which it begins. */
export interface CsvRow {
  /** From 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** A parsed file, or why it is none. */
export type CsvTable =
  | { readonly ok: true; readonly rows: readonly CsvRow[] }
  | { readonly ok: false; readonly line: number; readonly reason: string };

const DELIMITERS = [',', ';', '\t'];

/**
 * Parses CSV (RFC 4180): cells in quotes may hold delimiters, line ends and doubled quotes. The delimiter is the comma, semicolon
 * or tab that the first line has most often. Empty lines are left out.
 */
export function parseCsv(written: string): CsvTable {
  const text = written.replace(/^\uFEFF/, '');
  const [first = ''] = text.split(/\r?\n/, 1);
  const counts = DELIMITERS.map((one) => first.split(one).length);
  const delimiter = DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
  const rows: CsvRow[] = [];
  let cells: string[] = [];
  let [line, begunOn, at] = [1, 1, 0];
  const endRow = () => {
    if (cells.length > 1 || cells[0]?.trim() !== '') rows.push({ line: begunOn, cells });
    cells = [];
    begunOn = line;
  };
  while (at < text.length) {
    let cell = '';
    if (text[at] === '"') {
      let end = at + 1;
      while (end < text.length && (text[end] !== '"' || text[end + 1] === '"')) end += text[end] === '"' ? 2 : 1;
      if (end >= text.length) return { ok: false, line, reason: 'A quote is never closed' };
      cell = text.slice(at + 1, end).replaceAll('""', '"');
      line += cell.split('\n').length - 1;
      at = end + 1;
    } else {
      const end = findEnd(text, at, delimiter);
      cell = text.slice(at, end).trim();
      at = end;
    }
    cells.push(cell);
    if (text[at] === delimiter) {
      at++;
      // Behind a delimiter at the end of the file there is one more cell, which is empty.
      if (at === text.length) cells.push('');
      continue;
    }
    const lineEnd = /^(?:\r?\n|\r|$)/.exec(text.slice(at, at + 2))?.[0];
    if (lineEnd === undefined)
      return { ok: false, line, reason: 'Behind a closing quote there must be a delimiter or the end of the line' };
    at += lineEnd.length;
    line++;
    endRow();
  }
  if (cells.length > 0) endRow();
  return { ok: true, rows };
}

function findEnd(text: string, from: number, delimiter: string): number {
  let end = from;
  while (end < text.length && text[end] !== delimiter && text[end] !== '\n' && text[end] !== '\r') end++;
  return end;
}
