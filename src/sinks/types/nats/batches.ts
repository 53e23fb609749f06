import type { Msg } from '@nats-io/transport-node';
import { decodeObject, parseJson } from '../../../base/index.ts';
import { toMessageHeaders } from '../../../net/index.ts';
import { DeliveryError } from '../../contracts.ts';
import {
  type NatsMessage,
  type NatsPublisher,
  type PublishOutcome,
  publishBySubject,
  toDeliveryError,
} from './publish.ts';

/** Validity of the stream's settings. Milliseconds. */
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
 * Publishes atomic batches over one connection (nats-server 2.12): a stream stores either every message of a batch or none,
 * and acknowledges it once. A batch with a repeat is rejected (10201), as is one with a message that the stream does not
 * accept.
 */
export class StreamBatches {
  readonly #publisher: NatsPublisher;
  readonly #prefix: string;
  #batches = 0;
  #messagesMax = MESSAGES_MAX;
  #isAllowed = false;
  /** Time at which the settings of the stream are read again. Monotonic milliseconds. */
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(publisher: NatsPublisher) {
    this.#publisher = publisher;
    this.#prefix = publisher.nats.createInbox('B').slice(2);
  }

  /** Resolves to false when the stream that stores `subject` allows no batches, or the account may not read its settings. */
  async areAllowed(subject: string): Promise<boolean> {
    const nowMs = this.#publisher.options.clock.monotonic();
    if (nowMs < this.#untilMs) return this.#isAllowed;
    this.#isAllowed = await this.#readSettings(subject).catch(() => false);
    this.#untilMs = nowMs + SETTINGS_MS_MAX;
    if (!this.#isAllowed) this.#messagesMax = MESSAGES_MAX;
    return this.#isAllowed;
  }

  async #readSettings(subject: string): Promise<boolean> {
    const name = this.#publisher.options.stream ?? (await this.#publisher.findStream(subject));
    return (await this.#publisher.readStream(name)).takesBatches;
  }

  /**
   * Publishes messages in batches, except those of a subject that is known to fail, which would end each batch. From the
   * first message on that no batch contained, the rest is published one by one: this shows which message the server rejects
   * and why, counts repeats, and delivers the others.
   */
  async publish(messages: readonly NatsMessage[], isOver: () => boolean): Promise<PublishOutcome> {
    const publisher = this.#publisher;
    const refused: { index: number; error: DeliveryError }[] = [];
    const indexes: number[] = [];
    const separate: number[] = [];
    for (const [index, message] of messages.entries()) {
      const error = publisher.findRefusal(message);
      if (error) refused.push({ index, error });
      else (publisher.subjects.has(message.subject) ? separate : indexes).push(index);
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
        for (const { subject } of batch) publisher.subjects.recordAcknowledged(subject);
        accepted += batch.length;
        stream ??= result.stream;
      }
    } catch (cause) {
      if (!(cause instanceof DeliveryError)) throw cause;
      failure = cause;
    }
    // The settings may be the reason why batches failed.
    if (failure || accepted < waiting.length - 1) this.#untilMs = Number.NEGATIVE_INFINITY;
    const left = [...indexes.slice(accepted), ...separate];
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
   * Publishes two or more messages in order. A rejected batch does not say why. Throws {@link DeliveryError} when the result
   * is unknown.
   */
  async #publishBatch(messages: readonly NatsMessage[]): Promise<{ isTaken: boolean; stream?: string | undefined }> {
    const { nats, connection, options } = this.#publisher;
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
      const error = toDeliveryError(nats, `Sink ${options.name} could not publish a batch`, cause);
      // With any other error, nothing of the batch is stored.
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
