/** How wide a column may become before its cells are cut; the last column is never cut. */
const CELL_WIDTH_MAX = 60;

/** Renders rows under a header, columns aligned by two blanks; control characters of cells are made visible as `?`. */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [header, ...rows].map((row) =>
    header.map((_, column) => {
      const text = (row[column] ?? '').replaceAll(/\p{Cc}/gu, '?');
      const isCut = column < header.length - 1 && text.length > CELL_WIDTH_MAX;
      return isCut ? `${text.slice(0, CELL_WIDTH_MAX - 1)}…` : text;
    }),
  );
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}
