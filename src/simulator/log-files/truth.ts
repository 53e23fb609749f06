import type { LogGeneration, LogLoss } from './generation.ts';

/** One line written by a router, and what happened to it. */
export interface TruthLine {
  /** Number among all lines of the component, from 0. */
  readonly sequence: number;
  /** The line without its line end, as the router wrote it; broken UTF-8 shows as U+FFFD. */
  readonly text: string;
  /** The line as exact bytes. */
  readonly bytes: Buffer;
  /** Number of the `current` file in which it was written, from 0. */
  readonly generation: number;
  /** Offset in its file, in decompressed bytes. */
  readonly offset: number;
  /** True if any client was sent it. Bytes of an unfinished archive do not count. */
  readonly served: boolean;
  /** Reason of its loss; absent while a file holds it. */
  readonly loss: LogLoss | undefined;
  /** True if it was lost before any client was sent it: no reader can know this line. */
  readonly lostUnread: boolean;
}

const LINE_FEED = 0x0a;

/** Splits generations, oldest first, into their lines. */
export function readTruth(generations: readonly LogGeneration[]): TruthLine[] {
  const lines: TruthLine[] = [];
  for (const generation of generations) {
    const bytes = generation.written();
    const { number, servedBytes, loss } = generation;
    for (let offset = 0; offset < bytes.length; ) {
      const lineFeed = bytes.indexOf(LINE_FEED, offset);
      const end = lineFeed === -1 ? bytes.length : lineFeed;
      const line = bytes.subarray(offset, end);
      const served = end < servedBytes;
      lines.push({
        sequence: lines.length,
        text: line.toString('utf8'),
        bytes: line,
        generation: number,
        offset,
        served,
        loss,
        lostUnread: loss !== undefined && !served,
      });
      offset = end + 1;
    }
  }
  return lines;
}
