import { ByteLine } from '../base/index.ts';
import type { LogRecord } from '../model/index.ts';

/** A record to deliver: the stored bytes, and its text and fields when somebody asks for them. */
export class OutgoingRecord {
  #bytes: ByteLine | undefined;
  #line: string | undefined;
  #fields: LogRecord | undefined;

  /** `stored`: one line of JSON without a line end. */
  constructor(stored: ByteLine | string) {
    if (typeof stored === 'string') this.#line = stored;
    else this.#bytes = stored;
  }

  /** One line of JSON: the format `native`. */
  get bytes(): ByteLine {
    this.#bytes ??= ByteLine.of(this.line);
    return this.#bytes;
  }

  /** One line of JSON without a line end, as text. */
  get line(): string {
    this.#line ??= this.#bytes?.text ?? '';
    return this.#line;
  }

  /** Parsed on first access: most sinks of format `native` never need the fields. */
  get fields(): LogRecord {
    // The store has verified that this program wrote these bytes.
    this.#fields ??= JSON.parse(this.line) as LogRecord;
    return this.#fields;
  }
}
