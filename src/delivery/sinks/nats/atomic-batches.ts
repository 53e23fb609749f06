import { type NatsLibrary, toMessageHeaders } from '../../../net/index.ts';
import type { DeliveryError } from '../../errors.ts';
import { decodeBatchAnswer, readApiCode, readBatchResult } from './batch-answer.ts';
import { toNatsError } from './errors.ts';
import type { NatsMessage } from './message.ts';
import type { NatsPublisher } from './publisher.ts';

/** Default maximum of servers. Messages. */
const MESSAGES_MAX = 1000;
/** A batch on a slow line must end within the time of an acknowledgement. Bytes. */
const BYTES_MAX = 512 * 1024;
/** "Atomic publish batch is too large": the server has a lower maximum. */
const TOO_LARGE = 10_199;
/** Headers that make a message part of a batch, with the longest values. Bytes. */
const BATCH_HEADER_BYTES = 200;

/** The part of a batch that a stream has stored. */
export interface BatchResult {
  /** The number of its messages, or 0. */
  readonly taken: number;
  /** Name of the stream; absent when it has none. */
  readonly stream?: string | undefined;
}

/**
 * Publishes atomic batches (nats-server 2.12): a stream stores either every message of a batch or none, and acknowledges it
 * once. A batch with a repeat is rejected (10201), as is one with a message that the stream does not accept.
 */
export class AtomicBatches {
  /** Maximum size of the messages of a batch. Bytes. */
  readonly bytesMax = BYTES_MAX;
  readonly #nats: NatsLibrary;
  readonly #publisher: NatsPublisher;
  readonly #prefix: string;
  #messagesMax = MESSAGES_MAX;
  #batches = 0;

  constructor(nats: NatsLibrary, publisher: NatsPublisher) {
    this.#nats = nats;
    this.#publisher = publisher;
    this.#prefix = nats.createInbox('B').slice(2);
  }

  /** Maximum number of messages of a batch. */
  get messagesMax(): number {
    return this.#messagesMax;
  }

  /**
   * Publishes two or more messages in order. A batch that was not taken does not say why. Throws {@link DeliveryError} when it is
   * not known whether it was.
   */
  async publish(messages: readonly NatsMessage[]): Promise<BatchResult> {
    const { connection, ackMsMax } = this.#publisher;
    const bytesMax = (connection.info?.max_payload ?? Number.POSITIVE_INFINITY) - BATCH_HEADER_BYTES;
    const last = messages.at(-1);
    if (!last || messages.some((message) => this.#publisher.measure(message) > bytesMax)) return { taken: 0 };
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
      const answer = decodeBatchAnswer(
        await connection.request(last.subject, last.payload, { headers, timeout: ackMsMax }),
      );
      if (readApiCode(answer) === TOO_LARGE) this.#messagesMax = Math.ceil(this.#messagesMax / 2);
      const result = readBatchResult(answer, id, messages.length);
      return result?.taken === messages.length ? result : { taken: 0 };
    } catch (cause) {
      const error = toNatsError(this.#nats, `Sink ${this.#publisher.sinkName} could not publish a batch`, cause);
      if (isUnknown(error)) throw error;
      return { taken: 0 };
    }
  }
}

/** True when the fate of the batch is not known. Otherwise nothing of it is stored. */
function isUnknown({ code }: DeliveryError): boolean {
  return code === 'timeout' || code === 'unreachable';
}
