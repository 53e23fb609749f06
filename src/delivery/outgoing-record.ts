import type { LogRecord } from '../model/index.ts';

/** A record on its way to a sink: the text that was stored, and its fields for those who ask. */
export class OutgoingRecord {
  /** One line of JSON without a line end: the format `native`. */
  readonly line: string;
  #fields: LogRecord | undefined;

  constructor(line: string) {
    this.line = line;
  }

  /** Parsed at the first question: most sinks of format `native` never ask. */
  get fields(): LogRecord {
    // The store has checked that these are the bytes that this program wrote.
    this.#fields ??= JSON.parse(this.line) as LogRecord;
    return this.#fields;
  }
}
