import { fstatSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { type Readable, Writable } from 'node:stream';
import { escapeForTerminal, renderErrorChain } from '../../base/index.ts';

/** The parts of the process that a command uses. */
export interface CommandIo {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  /** The agent's own log, and messages. */
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** Aborts at the first SIGTERM or SIGINT. */
  readonly signal: AbortSignal;
  /** Calls `listener` at every SIGHUP. Without a listener, SIGHUP ends the process. */
  readonly onHangup: (listener: () => void) => void;
}

/**
 * Resolves when the system has accepted the result, so that nothing is lost at the end of the process. On a terminal,
 * control characters are escaped.
 */
export function writeResult(result: string | Uint8Array, io: CommandIo): Promise<void> {
  const shown = io.stdout.isTTY && typeof result === 'string' ? escapeForTerminal(result) : result;
  // If the reader disconnects, the signal ends the command.
  return new Promise((resolve) => void io.stdout.write(shown, () => resolve()));
}

export function renderJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

interface ReadCommand {
  /** Its signal also aborts when stdout cannot be written: a closed pipe, a full disk. */
  readonly io: CommandIo;
  /** Exit code after `code`: failed if results are missing, with a message unless the reader closed the pipe. */
  readonly judge: (code: ExitCode) => ExitCode;
}

/** Aborts a command when its results cannot be written. */
export function endWithReader(io: CommandIo): ReadCommand {
  const gone = new AbortController();
  io.stdout.on('error', (cause) => gone.abort(cause));
  return {
    io: { ...io, signal: AbortSignal.any([io.signal, gone.signal]) },
    judge(code) {
      if (!gone.signal.aborted) return code;
      if (Object(gone.signal.reason).code !== 'EPIPE') {
        io.stderr.write(`The output could not be written: ${renderErrorChain(gone.signal.reason)}\n`);
      }
      return code === EXIT.done ? EXIT.failed : code;
    },
  };
}

export const EXIT = { done: 0, failed: 1, usage: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Opens an output for a descriptor of a file; `undefined` for a pipe, a terminal or a closed descriptor. */
export function openFileOutput(descriptor: number): Writable | undefined {
  try {
    if (!fstatSync(descriptor).isFile()) return undefined;
  } catch {
    return undefined;
  }
  return new FileOutput(descriptor);
}

/** The output of Node.js ignores partial writes: on a full disk, the rest would be missing without an error. */
class FileOutput extends Writable {
  readonly #descriptor: number;

  constructor(descriptor: number) {
    super();
    this.#descriptor = descriptor;
  }

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#descriptor, bytes, at);
      done();
    } catch (cause) {
      done(cause instanceof Error ? cause : new TypeError(String(cause)));
    }
  }
}

/** Truncates lines to the width of a terminal; elsewhere, they stay whole. */
export function cutToWidth(text: string, { isTTY, columns = Infinity }: CommandIo['stdout']): string {
  if (!isTTY) return text;
  return text.replaceAll(/^.*$/gm, (line) => (line.length > columns ? `${line.slice(0, columns - 1)}…` : line));
}

/** Longer cells are truncated, except in the last column. */
const CELL_WIDTH_MAX = 60;

type PaintCell = (text: string, row: readonly string[], column: number) => string;

/** Control characters in cells become `?`. `paint` is not applied to the header; columns in `numeric` are right-aligned. */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  paint: PaintCell = (text) => text,
  numeric: ReadonlySet<string> = new Set(),
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
      // No padding after the last text of a row: lines have no trailing spaces.
      const end = row.findLastIndex((cell) => cell !== '');
      const padded = row.slice(0, end + 1).map((cell, column) => {
        const width = widths[column] ?? 0;
        const isNumeric = numeric.has(header[column] ?? '');
        const text = isNumeric ? cell.padStart(width) : cell.padEnd(column === end ? 0 : width);
        return index === 0 ? text : paint(text, row, column);
      });
      return `${padded.join('  ').trimEnd()}\n`;
    })
    .join('');
}

interface Progress {
  update(text: string): void;
  end(): void;
}

const ERASE_LINE = '\r\u001b[2K';

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
 * Asks for confirmation. Resolves to `undefined` if confirmed, otherwise to the exit code; without a terminal, that of
 * wrong usage, with a hint on stderr.
 */
export async function confirm(
  question: string,
  isAgreed: boolean | undefined,
  io: CommandIo,
): Promise<ExitCode | undefined> {
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
