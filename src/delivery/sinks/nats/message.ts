import { type RecordFormat, renderRecord } from '../../formats/format.ts';
import type { OutgoingRecord } from '../../outgoing-record.ts';
import { toNatsSubject } from './subject.ts';

/** One message for a stream. */
export interface NatsMessage {
  /** Subject to publish to. */
  readonly subject: string;
  /** Message id, equal for the same record, so that the stream can deduplicate. */
  readonly id: string;
  /** The record, in memory that may be shared with others. */
  readonly payload: Uint8Array;
}

/** The message of a record. Its subject is found when it is sent: the server is at work on the messages before it meanwhile. */
export class RecordMessage implements NatsMessage {
  readonly id: string;
  readonly payload: Uint8Array;
  readonly #record: OutgoingRecord;
  readonly #prefix: string;
  #subject: string | undefined;

  /** `prefix`: prefix of the subject. */
  constructor(record: OutgoingRecord, prefix: string, format: RecordFormat) {
    this.#record = record;
    this.#prefix = prefix;
    this.id = record.uid;
    this.payload =
      format === 'native'
        ? record.memory.subarray(record.start, record.end)
        : Buffer.from(renderRecord(record, format));
  }

  get subject(): string {
    this.#subject ??= toNatsSubject(this.#prefix, this.#record.fields);
    return this.#subject;
  }
}
