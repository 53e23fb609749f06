/** Maximum column width; longer cells are truncated, except in the last column. */
const CELL_WIDTH_MAX = 60;

/** Colours a padded cell. */
type PaintCell = (text: string, row: readonly string[], column: number) => string;

/**
 * Renders rows under a header, with columns separated by two spaces; control characters in cells become `?`. `paint` is not
 * applied to the header.
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
      // Do not pad after the last text of a row, so that no line has trailing spaces.
      const end = row.findLastIndex((cell) => cell !== '');
      const padded = row.slice(0, end + 1).map((cell, column) => {
        const text = column === end ? cell : cell.padEnd(widths[column] ?? 0);
        return index === 0 ? text : paint(text, row, column);
      });
      return `${padded.join('  ').trimEnd()}\n`;
    })
    .join('');
}
