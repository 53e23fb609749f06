import type { NatsConnection } from '@nats-io/transport-node';
import type { Clock } from '../../../base/index.ts';
import { type HeaderWords, measureHeaders, type NatsLibrary, toMessageHeaders } from '../../../net/index.ts';
import { DeliveryError } from '../../errors.ts';
import { toNatsError } from './errors.ts';
import type { NatsMessage } from './message.ts';
import { hasStream } from './stream.ts';
import { SubjectFaults } from './subject-faults.ts';

/** The acknowledgement of a stream. */
export interface NatsAck {
  /** Stream that stored the message. */
  readonly stream: string;
  /** True when the stream already had the message. */
  readonly isDuplicate: boolean;
  /** Size of the message, including headers. Bytes. */
  readonly bytes: number;
}

/** The stream, and limits of what is in flight. */
export interface NatsPublisherOptions {
  /** Name of the sink. */
  readonly name: string;
  /** Name of the expected stream; absent = any. */
  readonly stream?: string | undefined;
  /** Time limit of an acknowledgement. Milliseconds. */
  readonly ackMsMax: number;
  /** Source of the current time. */
  readonly clock: Clock;
}

/** Publishes messages to JetStream over one connection. */
export class NatsPublisher {
  readonly connection: NatsConnection;
  /** Faults of single subjects over this connection. */
  readonly subjects: SubjectFaults;
  readonly #nats: NatsLibrary;
  readonly #options: NatsPublisherOptions;
  readonly #jetstream: ReturnType<NatsLibrary['jetstream']>;

  constructor(nats: NatsLibrary, connection: NatsConnection, options: NatsPublisherOptions) {
    this.connection = connection;
    this.#nats = nats;
    this.#options = options;
    this.#jetstream = nats.jetstream(connection);
    this.subjects = new SubjectFaults(options.clock, (subject) =>
      hasStream(nats, connection, subject).catch(() => true),
    );
  }

  /** For messages: the name of the sink. */
  get sinkName(): string {
    return this.#options.name;
  }

  /** Time limit of an acknowledgement. Milliseconds. */
  get ackMsMax(): number {
    return this.#options.ackMsMax;
  }

  /** Returns the headers of a message. */
  toHeaders({ id }: NatsMessage): HeaderWords {
    const { stream } = this.#options;
    return stream === undefined ? ['Nats-Msg-Id', id] : ['Nats-Msg-Id', id, 'Nats-Expected-Stream', stream];
  }

  /** Returns the size of a message, including its headers. Bytes. */
  measure(message: NatsMessage): number {
    return message.payload.length + measureHeaders(this.toHeaders(message));
  }

  /** Returns why the server is certain to reject a message. */
  findRefusal(message: NatsMessage): DeliveryError | undefined {
    const bytes = this.measure(message);
    const bytesMax = this.connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
    if (bytes <= bytesMax) return undefined;
    const reason = `The message has ${bytes} bytes, and the NATS server accepts at most ${bytesMax}`;
    return new DeliveryError('too_large', reason, { disposition: 'dead-letter', answer: 'max_payload' });
  }

  /** Resolves with the stream's acknowledgement. Throws {@link DeliveryError}. */
  async publish(message: NatsMessage): Promise<NatsAck> {
    const refusal = this.findRefusal(message);
    if (refusal) throw refusal;
    const { name, ackMsMax } = this.#options;
    const { subject, payload } = message;
    const what = `Sink ${name} could not publish to ${subject}`;
    let ack: unknown;
    try {
      ack = await this.#jetstream.publish(subject, payload, {
        headers: toMessageHeaders(this.toHeaders(message)),
        timeout: ackMsMax,
      });
    } catch (cause) {
      throw toNatsError(this.#nats, what, cause);
    }
    if (!isAck(ack)) {
      throw new DeliveryError('protocol_error', `${what}: the response is not the acknowledgement of a stream`, {
        disposition: 'retry',
        hint: 'Another service responds on this subject',
      });
    }
    return { stream: ack.stream, isDuplicate: ack.duplicate === true, bytes: this.measure(message) };
  }
}

function isAck(ack: unknown): ack is { readonly stream: string; readonly duplicate?: unknown } {
  if (typeof ack !== 'object' || ack === null) return false;
  return typeof Reflect.get(ack, 'stream') === 'string' && Number.isSafeInteger(Reflect.get(ack, 'seq'));
}
