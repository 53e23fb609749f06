import { ByteLine } from '../base/index.ts';
import type { LogRecord } from '../model/index.ts';

/** A record to deliver: the stored bytes, and its text and fields when somebody asks for them. */
export class OutgoingRecord extends ByteLine {
  #line: string | undefined;
  #fields: LogRecord | undefined;

  /** `stored`: one line of JSON without a line end. */
  constructor(stored: ByteLine | string) {
    const { memory, start, end } = typeof stored === 'string' ? ByteLine.of(stored) : stored;
    super(memory, start, end);
  }

  /** One line of JSON without a line end, as text: the format `native`. Decoded on first access. */
  get line(): string {
    this.#line ??= this.text;
    return this.#line;
  }

  /** Parsed on first access: most sinks of format `native` never need the fields. */
  get fields(): LogRecord {
    // The store has verified that this program wrote these bytes.
    this.#fields ??= JSON.parse(this.line) as LogRecord;
    return this.#fields;
  }
}
