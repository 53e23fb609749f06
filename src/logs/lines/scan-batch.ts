import type { LineEvent } from '../contracts.ts';
import type { Gap, GapEdge } from '../event-records.ts';
import { RecordBuffer } from './record-buffer.ts';

/** Lines read since the last batch, as records. */
export interface ScanBatch {
  readonly records: RecordBuffer;
  /** Lines of the log in `records`; the rest are events. */
  lines: number;
  /** Bytes of these lines, with their line ends. */
  bytes: number;
  unparsed: number;
  /** Lines that tell of requests of this program. */
  own: number;
  /** Bytes of empty lines, which give no records, with their line ends. */
  emptyBytes: number;
  nulBytes: number;
  /** Lines that were passed over because they are older than what is wanted. */
  skipped: number;
  skippedBytes: number;
  /** The first line that became a record, even if that is kept back. */
  first: GapEdge | undefined;
  /** Gaps left by damage; their records are among `records`. */
  readonly gaps: Gap[];
  /** Events to report after the commit of the records. */
  readonly events: LineEvent[];
}

/** A batch without anything in it. */
export function createBatch(): ScanBatch {
  return {
    records: new RecordBuffer(),
    lines: 0,
    bytes: 0,
    unparsed: 0,
    own: 0,
    emptyBytes: 0,
    nulBytes: 0,
    skipped: 0,
    skippedBytes: 0,
    first: undefined,
    gaps: [],
    events: [],
  };
}
