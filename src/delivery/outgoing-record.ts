import type { LogRecord } from '../model/index.ts';

/** A record to deliver: the stored text, and its fields, parsed on demand. */
export class OutgoingRecord {
  /** One line of JSON without a line end: the format `native`. */
  readonly line: string;
  #fields: LogRecord | undefined;

  constructor(line: string) {
    this.line = line;
  }

  /** Parsed on first access: most sinks of format `native` never need the fields. */
  get fields(): LogRecord {
    // The store has verified that this program wrote these bytes.
    this.#fields ??= JSON.parse(this.line) as LogRecord;
    return this.#fields;
  }
}
