/** Rendered records, none of which holds a line feed. */
export interface RecordLines extends Iterable<string> {
  /** How many there are. */
  readonly length: number;
  /** All of them in UTF-8 with a line feed between two, where they stand like that. Valid during the call that brings them. */
  readonly bytes?: Uint8Array | undefined;
}

/** How much the spool gives at once. */
export interface SliceBounds {
  readonly recordsMax: number;
  /** Of the stored records, decompressed; a single larger record comes alone. Bytes. */
  readonly bytesMax: number;
  /** Whether the sink wants a log. Records of the others are passed over unread. */
  readonly isWanted: (router: string, component: string) => boolean;
}

/** The next records for a sink, in the order in which they were committed. */
export interface Slice<Cursor> {
  /** May be empty, when all that was looked at is not wanted. */
  readonly lines: readonly string[];
  /** Where the sink stands once all of `lines` are settled. */
  readonly next: Cursor;
  /** When the oldest of `lines` was committed; wall time, milliseconds since the Unix epoch. */
  readonly oldestMs: number;
  /** Whether a bound ended it: there may be more behind it. */
  readonly isFull: boolean;
  /** Records of logs that are not wanted. */
  readonly skipped: number;
  /** Whether the sink has taken all of this before, and may have lost it. */
  readonly isRepeat: boolean;
}
