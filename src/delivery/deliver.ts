/** Where undelivered records wait, one cursor per sink. */
export interface Spool<Cursor> {
  /** The next records for `sink`, or `undefined` when it has them all. */
  readSlice(sink: string): { readonly lines: readonly string[]; readonly next: Cursor } | undefined;
  /** Moves the sink's cursor behind what it has acknowledged. */
  acknowledge(sink: string, cursor: Cursor): void;
}

/** Somewhere records go. */
export interface Sink {
  /** Unique name; also the label `sink`. */
  readonly name: string;
  /**
   * Hands over rendered records and resolves once the other side has them for good. Throws `DeliveryError`; then all of
   * them count as not delivered and come again.
   */
  deliver(lines: readonly string[], signal: AbortSignal): Promise<void>;
}

/** What a step of delivery did. */
export interface RecordsDelivered {
  readonly type: 'records-delivered';
  readonly sink: string;
  readonly records: number;
}

/**
 * Delivers the next records of one sink. A crash after the sink took them and before the cursor moved repeats them, with
 * the same uids; a crash before repeats nothing. Resolves with `idle` when the sink has everything.
 */
export async function deliverOnce<Cursor>(
  spool: Spool<Cursor>,
  sink: Sink,
  signal: AbortSignal,
  report: (event: RecordsDelivered) => void,
): Promise<'more' | 'idle'> {
  const slice = spool.readSlice(sink.name);
  if (!slice) return 'idle';
  await sink.deliver(slice.lines, signal);
  spool.acknowledge(sink.name, slice.next);
  report({ type: 'records-delivered', sink: sink.name, records: slice.lines.length });
  return 'more';
}
