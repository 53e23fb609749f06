import { ByteLine } from '../base/index.ts';
import type { LogRecord } from '../model/index.ts';

/** Start of the uid field. Unambiguous: quotation marks in earlier texts are escaped, and labels and details come after it. */
const UID_KEY = Buffer.from(',"uid":"');
const QUOTE = 0x22;

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

  /** The uid, found without parsing the record. */
  get uid(): string {
    if (this.#fields) return this.#fields.uid;
    const from = this.memory.indexOf(UID_KEY, this.start) + UID_KEY.length;
    const to = this.memory.indexOf(QUOTE, from);
    // What a person has put into the store may have another form.
    return from < UID_KEY.length || to < 0 || to > this.end
      ? this.fields.uid
      : this.memory.toString('latin1', from, to);
  }

  /** Parsed on first access: most sinks of format `native` never need the fields. */
  get fields(): LogRecord {
    // The store has verified that this program wrote these bytes.
    this.#fields ??= JSON.parse(this.line) as LogRecord;
    return this.#fields;
  }
}
