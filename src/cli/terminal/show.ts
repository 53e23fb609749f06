import { createInterface } from 'node:readline/promises';
import { type CommandIo, EXIT, type ExitCode } from './io.ts';

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

/** A progress line on stderr for long downloads; nothing when stderr is not a terminal. */
export interface Progress {
  /** Replaces the text. */
  update(text: string): void;
  /** Removes the line. */
  end(): void;
}

const ERASE_LINE = '\r\u001b[2K';

/** Opens the line of progress of a command: on a terminal it is replaced, elsewhere nothing is written. */
export function openProgress(io: CommandIo): Progress {
  if (!io.stderr.isTTY) return { update: () => {}, end: () => {} };
  return {
    update: (text) => void io.stderr.write(`${ERASE_LINE}${text}`),
    end: () => void io.stderr.write(ERASE_LINE),
  };
}

/** Passes bytes through and reports their number so far. */
export async function* countBytes(
  body: AsyncIterable<Uint8Array>,
  label: string,
  progress: Progress,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    progress.update(`${label}  ${(bytes / 1024).toFixed(0)} KiB`);
    yield chunk;
  }
}

/**
 * Asks for confirmation of an irreversible action. Resolves to `undefined` when it is confirmed, else to the exit code to end
 * with: that of wrong usage without a terminal to ask on, with a hint on stderr.
 */
export async function confirm(question: string, isAgreed: boolean, io: CommandIo): Promise<ExitCode | undefined> {
  if (isAgreed) return undefined;
  if (!io.stdin.isTTY) {
    io.stderr.write(`${question}\nThere is no terminal to ask on; add --yes to do it.\n`);
    return EXIT.usage;
  }
  const reader = createInterface({ input: io.stdin, output: io.stderr });
  try {
    const answer = await reader.question(`${question} [y/N] `, { signal: io.signal });
    return /^y(es)?$/i.test(answer.trim()) ? undefined : EXIT.failed;
  } catch {
    // Ctrl-C and Ctrl-D mean no.
    return EXIT.failed;
  } finally {
    reader.close();
  }
}
