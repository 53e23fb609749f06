/** How wide a column may become before its cells are cut; the last column is never cut. */
const CELL_WIDTH_MAX = 60;

/** Gives a cell, padded already, its colour. */
export type PaintCell = (text: string, row: readonly string[], column: number) => string;

/**
 * Renders rows under a header, columns aligned by two blanks; control characters of cells are made visible as `?`. `paint`
 * does not see the header.
 */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  paint: PaintCell = (text) => text,
): string {
  const cells = [header, ...rows].map((row) =>
    header.map((_, column) => {
      const text = (row[column] ?? '').replaceAll(/\p{Cc}/gu, '?');
      const isCut = column < header.length - 1 && text.length > CELL_WIDTH_MAX;
      return isCut ? `${text.slice(0, CELL_WIDTH_MAX - 1)}…` : text;
    }),
  );
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row, index) => {
      // What is behind the last text of a row is not padded, so that no line ends in blanks.
      const end = row.findLastIndex((cell) => cell !== '');
      const padded = row.slice(0, end + 1).map((cell, column) => {
        const text = column === end ? cell : cell.padEnd(widths[column] ?? 0);
        return index === 0 ? text : paint(text, row, column);
      });
      return `${padded.join('  ').trimEnd()}\n`;
    })
    .join('');
}
