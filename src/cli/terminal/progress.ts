import type { CommandIo } from './io.ts';

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
