import type { Msg } from '@nats-io/transport-node';
import { type Clock, decodeObject, parseJson } from '../../../base/index.ts';
import { type NatsLibrary, toMessageHeaders } from '../../../net/index.ts';
import { DeliveryError } from '../../errors.ts';
import { type NatsMessage, type NatsPublisher, type PublishOutcome, publishBySubject } from './publish.ts';
import { findStream, readStream, takesBatches, toNatsError } from './stream.ts';

/** The stream, and how records reach it. */
interface StreamBatchesOptions {
  /** Prefix of the subjects. */
  readonly subject: string;
  /** Name of the stream; absent = the one that stores the subject. */
  readonly stream?: string | undefined;
  readonly clock: Clock;
}

/** The settings of the stream are read again after this time. Milliseconds. */
const SETTINGS_MS_MAX = 60_000;
/** Default maximum of servers. Messages. */
const MESSAGES_MAX = 1000;
/** A batch on a slow line must end within the time of an acknowledgement. Bytes. */
const BYTES_MAX = 512 * 1024;
/** "Atomic publish batch is too large": the server has a lower maximum. */
const TOO_LARGE = 10_199;
/** Headers that make a message part of a batch, with the longest values. Bytes. */
const BATCH_HEADER_BYTES = 200;
/** Maximum size of an answer. They have a few hundred bytes. Bytes. */
const ANSWER_BYTES_MAX = 16 * 1024;

/**
 * Publishes atomic batches over one connection (nats-server 2.12): a stream stores either every message of a batch or none, and
 * acknowledges it once. A batch with a repeat is rejected (10201), as is one with a message that the stream does not accept.
 */
export class StreamBatches {
  readonly #nats: NatsLibrary;
  readonly #publisher: NatsPublisher;
  readonly #options: StreamBatchesOptions;
  readonly #prefix: string;
  #batches = 0;
  /** Maximum number of messages of a batch. */
  #messagesMax = MESSAGES_MAX;
  #isAllowed = false;
  /** Time at which the settings of the stream are read again. Monotonic milliseconds. */
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(nats: NatsLibrary, publisher: NatsPublisher, options: StreamBatchesOptions) {
    this.#nats = nats;
    this.#publisher = publisher;
    this.#options = options;
    this.#prefix = nats.createInbox('B').slice(2);
  }

  /** Resolves to false when the stream that stores `subject` allows no batches, or the account may not read its settings. */
  async areAllowed(subject: string): Promise<boolean> {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs < this.#untilMs) return this.#isAllowed;
    this.#isAllowed = await this.#readSettings(subject).catch(() => false);
    this.#untilMs = nowMs + SETTINGS_MS_MAX;
    if (!this.#isAllowed) this.#messagesMax = MESSAGES_MAX;
    return this.#isAllowed;
  }

  async #readSettings(subject: string): Promise<boolean> {
    const { connection } = this.#publisher;
    const name = this.#options.stream ?? (await findStream(this.#nats, connection, subject));
    return takesBatches(await readStream(this.#nats, connection, name), this.#options.subject);
  }

  /**
   * Publishes messages in batches, but for those of a subject that is known to be at fault, which would end each batch.
   * From the first message on that a batch did not contain, the rest is published one by one: this shows which message
   * the server rejects, and why, counts repeats, and delivers the others.
   */
  async publish(messages: readonly NatsMessage[], isOver: () => boolean): Promise<PublishOutcome> {
    const publisher = this.#publisher;
    const refused: { index: number; error: DeliveryError }[] = [];
    const indexes: number[] = [];
    const apart: number[] = [];
    for (const [index, message] of messages.entries()) {
      const error = publisher.findRefusal(message);
      if (error) refused.push({ index, error });
      else (publisher.subjects.has(message.subject) ? apart : indexes).push(index);
    }
    const waiting = indexes.flatMap((index) => messages[index] ?? []);
    let [accepted, bytes] = [0, 0];
    let stream: string | undefined;
    let failure: DeliveryError | undefined;
    try {
      while (accepted < waiting.length - 1 && !isOver()) {
        const batch = this.#cut(waiting, accepted);
        if (batch.length < 2) break;
        const result = await this.#publishBatch(batch);
        if (!result.isTaken) break;
        bytes += batch.reduce((sum, message) => sum + publisher.measure(message), 0);
        for (const { subject } of batch) publisher.subjects.noteAcknowledged(subject);
        accepted += batch.length;
        stream ??= result.stream;
      }
    } catch (cause) {
      if (!(cause instanceof DeliveryError)) throw cause;
      failure = cause;
    }
    // What batches did not take may be a fault of the settings.
    if (failure || accepted < waiting.length - 1) this.#untilMs = Number.NEGATIVE_INFINITY;
    const left = [...indexes.slice(accepted), ...apart];
    const ofLeft = left.flatMap((index) => messages[index] ?? []);
    const rest = await publishBySubject(failure ? [] : ofLeft, publisher, isOver);
    const toIndex = (index: number) => left[index] ?? 0;
    return {
      accepted: accepted + rest.accepted,
      duplicates: rest.duplicates,
      bytes: bytes + rest.bytes,
      stream: stream ?? rest.stream,
      refused: [...refused, ...rest.refused.map(({ index, error }) => ({ index: toIndex(index), error }))],
      failed: (failure ? left : rest.failed.map(toIndex)).toSorted((a, b) => a - b),
      failure: failure ?? rest.failure,
    };
  }

  /** Returns the messages from `start` on that fit into one batch; the first one always does. */
  #cut(messages: readonly NatsMessage[], start: number): readonly NatsMessage[] {
    let end = start;
    let bytes = 0;
    for (const message of messages.slice(start, start + this.#messagesMax)) {
      bytes += this.#publisher.measure(message);
      if (bytes > BYTES_MAX && end > start) break;
      end++;
    }
    return messages.slice(start, end);
  }

  /**
   * Publishes two or more messages in order. A batch that was not taken does not say why. Throws {@link DeliveryError} when it is
   * not known whether it was.
   */
  async #publishBatch(messages: readonly NatsMessage[]): Promise<{ isTaken: boolean; stream?: string | undefined }> {
    const { connection, options } = this.#publisher;
    const bytesMax = (connection.info?.max_payload ?? Number.POSITIVE_INFINITY) - BATCH_HEADER_BYTES;
    const last = messages.at(-1);
    if (!last || messages.some((message) => this.#publisher.measure(message) > bytesMax)) return { isTaken: false };
    const id = `${this.#prefix}${this.#batches++}`;
    const toHeaders = (message: NatsMessage, sequence: number, ...more: readonly string[]) => {
      const own = ['Nats-Batch-Id', id, 'Nats-Batch-Sequence', String(sequence), ...more];
      return toMessageHeaders([...this.#publisher.toHeaders(message), ...own]);
    };
    try {
      for (const [index, message] of messages.slice(0, -1).entries()) {
        connection.publish(message.subject, message.payload, { headers: toHeaders(message, index + 1) });
      }
      const headers = toHeaders(last, messages.length, 'Nats-Batch-Commit', '1');
      const timeout = options.ackMsMax;
      const answer = await connection.request(last.subject, last.payload, { headers, timeout });
      const { apiCode, ...result } = readBatchAnswer(answer, id, messages.length);
      if (apiCode === TOO_LARGE) this.#messagesMax = Math.ceil(this.#messagesMax / 2);
      return result;
    } catch (cause) {
      const error = toNatsError(this.#nats, `Sink ${options.name} could not publish a batch`, cause);
      // Otherwise nothing of the batch is stored.
      if (error.code === 'timeout' || error.code === 'unreachable') throw error;
      return { isTaken: false };
    }
  }
}

/** Reads the answer to a batch of `sent` messages: whether the stream has all of them, its name, and the code of an error. */
export function readBatchAnswer({ data }: Pick<Msg, 'data'>, id: string, sent: number) {
  const text = Buffer.from(data.buffer, data.byteOffset, data.length);
  const answer = data.length > ANSWER_BYTES_MAX ? undefined : decodeObject(parseJson(text.toString()));
  const { batch, count, stream, error } = answer ?? {};
  const apiCode = decodeObject(error)?.['err_code'];
  if (typeof apiCode === 'number') return { isTaken: false, apiCode };
  const isTaken = error === undefined && batch === id && typeof stream === 'string' && count === sent;
  return isTaken ? { isTaken, stream } : { isTaken };
}
