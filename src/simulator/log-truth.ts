import type { LogGeneration, LogLoss } from './log-generation.ts';

/** One line that a router has written, and what became of it. */
export interface TruthLine {
  /** Place among all lines of the component, from 0. */
  readonly sequence: number;
  /** The line without its line end, as the router wrote it; broken UTF-8 shows as U+FFFD. */
  readonly text: string;
  /** The same, exactly. */
  readonly bytes: Buffer;
  /** Which life of `current` it was written in, from 0. */
  readonly generation: number;
  /** Where it starts in its file, in bytes, decompressed. */
  readonly offset: number;
  /** Whether any client was sent it. Bytes of an unfinished archive do not count. */
  readonly served: boolean;
  /** How the router lost it; absent while some file holds it. */
  readonly loss: LogLoss | undefined;
  /** Lost, and no client was ever sent it: no reader can know this line. */
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
