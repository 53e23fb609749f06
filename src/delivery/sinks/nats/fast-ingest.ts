import type { Msg, Subscription } from '@nats-io/transport-node';
import { type Clock, DeadlineExceeded, openDeadline, untilAborted } from '../../../base/index.ts';
import { type NatsLibrary, toMessageHeaders } from '../../../net/index.ts';
import { DeliveryError } from '../../errors.ts';
import { type BatchAnswer, decodeBatchAnswer, readApiCode, readBatchResult } from './batch-answer.ts';
import { toNatsError } from './errors.ts';
import type { NatsMessage } from './message.ts';
import type { BatchPublisher, BatchResult } from './publish-in-batches.ts';
import type { NatsPublisher } from './publisher.ts';

/** The server acknowledges progress after so many messages at most; fewer when it has many publishers. */
const ACK_MESSAGES_MAX = 250;
/** Messages in flight, in intervals of acknowledgements: one interval is on its way while the other is being stored. */
const INTERVALS_IN_FLIGHT = 2;
/** Operations in the reply subject of a message. */
const START = 0;
const APPEND = 1;
/** Ends the batch without being stored. */
const END = 3;
/** "Batch publish ID unknown". */
const UNKNOWN_BATCH = 10_208;

/** State of the batch in flight. */
interface Batch {
  readonly id: string;
  readonly size: number;
  /** The server has stored or recognised so many. */
  acked: number;
  /** The first message that the server rejected or missed, if it did. It stores none of those behind it. */
  faultAt: number;
  result?: BatchResult;
  /** Set when the connection has ended. */
  failure?: unknown;
  changed: PromiseWithResolvers<void>;
}

/**
 * Publishes by fast ingest (nats-server 2.14): messages of a batch follow each other without waiting for acknowledgements, and
 * the server stores them in this order and skips repeats without a word. At the first message that it does not accept, or
 * misses, the batch ends, with everything before it stored and nothing behind it ("gap mode fail").
 *
 * ```
 *   message n     reply <inbox>.<batch>.<interval>.fail.<n>.<operation>.$FI
 *   acknowledged  {"type":"ack","seq":n,"msgs":interval}
 *   missing       {"type":"gap", …}, then the result
 *   rejected      {"type":"err", …} or {"error": …}, then mostly the result
 *   result        {"stream":name,"batch":id,"count":stored}
 * ```
 */
export class FastIngest implements BatchPublisher {
  readonly messagesMax = Number.POSITIVE_INFINITY;
  readonly bytesMax = Number.POSITIVE_INFINITY;
  readonly #nats: NatsLibrary;
  readonly #publisher: NatsPublisher;
  readonly #clock: Clock;
  readonly #inbox: string;
  /** Ids of batches are unique among all publishers of a stream. */
  readonly #prefix: string;
  readonly #subscription: Subscription;
  #batches = 0;
  #current: Batch | undefined;
  /** Maximum number of messages in flight; the server says how many after the first message. */
  #inFlightMax = INTERVALS_IN_FLIGHT;

  constructor(nats: NatsLibrary, publisher: NatsPublisher, clock: Clock) {
    this.#nats = nats;
    this.#publisher = publisher;
    this.#clock = clock;
    const { connection } = publisher;
    this.#inbox = nats.createInbox();
    this.#prefix = nats.createInbox('B').slice(2);
    this.#subscription = connection.subscribe(`${this.#inbox}.>`, {
      callback: (error, message) => (error ? this.#fail(error) : this.#receive(message)),
    });
    const onClosed = (cause: unknown) => this.#fail(cause ?? new this.#nats.errors.ClosedConnectionError());
    connection.closed().then(onClosed, onClosed);
  }

  async publish(messages: readonly NatsMessage[], isOver: () => boolean): Promise<BatchResult> {
    const id = `${this.#prefix}${this.#batches++}`;
    const changed = Promise.withResolvers<void>();
    const batch: Batch = { id, size: messages.length, acked: 0, faultAt: Number.POSITIVE_INFINITY, changed };
    this.#current = batch;
    try {
      return await this.#run(batch, messages, isOver);
    } catch (cause) {
      const what = `Sink ${this.#publisher.sinkName} could not publish a batch`;
      if (cause instanceof DeadlineExceeded) {
        throw new DeliveryError('timeout', `${what}: the server does not answer`, { disposition: 'retry' });
      }
      throw toNatsError(this.#nats, what, cause);
    } finally {
      this.#current = undefined;
    }
  }

  close(): void {
    this.#subscription.unsubscribe();
  }

  async #run(batch: Batch, messages: readonly NatsMessage[], isOver: () => boolean): Promise<BatchResult> {
    const { connection, ackMsMax } = this.#publisher;
    const toReply = (sequence: number, operation: number) =>
      `${this.#inbox}.${batch.id}.${ACK_MESSAGES_MAX}.fail.${sequence}.${operation}.$FI`;
    let sent = 0;
    let isEnded = false;
    while (!batch.result) {
      if (batch.failure !== undefined) throw batch.failure;
      while (!isEnded) {
        const message = batch.faultAt === Number.POSITIVE_INFINITY && !isOver() ? messages[sent] : undefined;
        if (message) {
          if (sent - batch.acked >= this.#inFlightMax) break;
          const reply = toReply(++sent, sent === 1 ? START : APPEND);
          connection.publish(message.subject, message.payload, {
            headers: toMessageHeaders(this.#publisher.toHeaders(message)),
            reply,
          });
          continue;
        }
        if (sent === 0) return { taken: 0 };
        isEnded = true;
        connection.publish(messages[0]?.subject ?? '', undefined, { reply: toReply(sent + 1, END) });
      }
      using deadline = openDeadline(this.#clock, ackMsMax);
      await untilAborted(batch.changed.promise, deadline.signal);
    }
    return batch.result;
  }

  #receive(message: Msg): void {
    const batch = this.#current;
    const [id, , , sequence = '', operation] = message.subject.slice(this.#inbox.length + 1).split('.');
    // What is said of earlier batches no longer matters.
    if (!batch || id !== batch.id || batch.result) return;
    this.#judge(batch, Number(sequence), Number(operation), decodeBatchAnswer(message));
    batch.changed.resolve();
    batch.changed = Promise.withResolvers();
  }

  #judge(batch: Batch, sequence: number, operation: number, answer: BatchAnswer | undefined): void {
    const { type, seq, msgs } = answer ?? {};
    if (type === 'ack' && typeof seq === 'number' && typeof msgs === 'number') {
      if (seq > batch.acked && seq <= batch.size) batch.acked = seq;
      this.#inFlightMax = INTERVALS_IN_FLIGHT * Math.min(ACK_MESSAGES_MAX, Math.max(1, Math.floor(msgs) || 1));
      return;
    }
    const result = readBatchResult(answer, batch.id, batch.size);
    batch.faultAt = result ? batch.faultAt : Math.min(batch.faultAt, sequence);
    if (result) {
      batch.result = { ...result, taken: Math.min(result.taken, batch.faultAt - 1) };
    } else if (type !== 'gap' && (sequence === 1 || operation === END || readApiCode(answer) === UNKNOWN_BATCH)) {
      // No result follows: the batch was rejected with its first message, or the server no longer knows it.
      batch.result = { taken: Math.min(batch.acked, batch.faultAt - 1) };
    }
  }

  #fail(cause: unknown): void {
    const batch = this.#current;
    if (!batch) return;
    batch.failure = cause;
    batch.changed.resolve();
  }
}
