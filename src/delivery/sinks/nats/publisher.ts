import type { NatsConnection } from '@nats-io/transport-node';
import { DeliveryError } from '../../errors.ts';
import { toNatsError } from './errors.ts';
import type { NatsLibrary } from './library.ts';

/** One message for a stream. */
export interface NatsMessage {
  /** Subject to publish to. */
  readonly subject: string;
  /** Message id, equal for the same record, so that the stream can deduplicate. */
  readonly id: string;
  /** The record as text. */
  readonly payload: string;
}

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
}

/** Publishes messages to JetStream over one connection. */
export class NatsPublisher {
  readonly connection: NatsConnection;
  readonly #nats: NatsLibrary;
  readonly #options: NatsPublisherOptions;
  readonly #jetstream: ReturnType<NatsLibrary['jetstream']>;

  constructor(nats: NatsLibrary, connection: NatsConnection, options: NatsPublisherOptions) {
    this.connection = connection;
    this.#nats = nats;
    this.#options = options;
    this.#jetstream = nats.jetstream(connection);
  }

  /** Resolves with the stream's acknowledgement. Throws {@link DeliveryError}. */
  async publish({ subject, id, payload }: NatsMessage): Promise<NatsAck> {
    const { name, stream, ackMsMax } = this.#options;
    const headers = this.#nats.headers();
    headers.set('Nats-Msg-Id', id);
    if (stream !== undefined) headers.set('Nats-Expected-Stream', stream);
    const bytes = Buffer.byteLength(payload) + countHeaderBytes(headers);
    const bytesMax = this.connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
    if (bytes > bytesMax) {
      throw new DeliveryError(
        'too_large',
        `The message has ${bytes} bytes, and the NATS server accepts at most ${bytesMax}`,
        {
          disposition: 'dead-letter',
          answer: 'max_payload',
        },
      );
    }
    const what = `Sink ${name} could not publish to ${subject}`;
    let ack: unknown;
    try {
      ack = await this.#jetstream.publish(subject, payload, { headers, timeout: ackMsMax });
    } catch (cause) {
      throw toNatsError(this.#nats, what, cause);
    }
    if (!isAck(ack)) {
      throw new DeliveryError('protocol_error', `${what}: the response is not the acknowledgement of a stream`, {
        disposition: 'retry',
        hint: 'Another service responds on this subject',
      });
    }
    return { stream: ack.stream, isDuplicate: ack.duplicate === true, bytes };
  }
}

function isAck(ack: unknown): ack is { readonly stream: string; readonly duplicate?: unknown } {
  if (typeof ack !== 'object' || ack === null) return false;
  return typeof Reflect.get(ack, 'stream') === 'string' && Number.isSafeInteger(Reflect.get(ack, 'seq'));
}

/** Returns the size of headers on the wire: a first line, one line per header, and an empty one. */
function countHeaderBytes(headers: Iterable<[string, string[]]>): number {
  let bytes = 'NATS/1.0\r\n\r\n'.length;
  for (const [name, values] of headers) {
    for (const value of values) bytes += Buffer.byteLength(`${name}: ${value}\r\n`);
  }
  return bytes;
}
