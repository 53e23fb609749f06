import type { NatsConnection } from '@nats-io/transport-node';
import type { Clock, Disposition } from '../../../base/index.ts';
import {
  type HeaderWords,
  measureHeaders,
  type NatsLibrary,
  toMessageHeaders,
  toNatsError,
} from '../../../net/index.ts';
import { DeliveryError, type DeliveryFailure } from '../../contracts.ts';
import { type OutgoingRecord, type RecordFormat, renderRecord } from '../../outgoing-record.ts';
import { isCovering, SUBJECT_FULL, SubjectFaults, toNatsSubject } from './subjects.ts';

/** The message of a record. Its subject is determined when it is sent, while the server processes earlier messages. */
export class NatsMessage {
  /** Message id, equal for the same record, so that the stream can deduplicate. */
  readonly id: string;
  /** The record, in memory that may be shared with others. */
  readonly payload: Uint8Array;
  readonly #record: OutgoingRecord;
  readonly #prefix: string;
  #subject: string | undefined;

  /** `prefix`: first part of the subject. */
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

/** Default duplicate window of a stream. Milliseconds. */
export const DUPLICATE_WINDOW_MS = 2 * 60_000;
const ASK_MS_MAX = 5000;
const NS_PER_MS = 1_000_000;

export type NatsStream = Awaited<ReturnType<NatsPublisher['readStream']>>;

interface NatsPublisherOptions {
  readonly prefix: string;
  readonly name: string;
  /** Name of the expected stream; absent = any. */
  readonly stream?: string | undefined;
  /** Limit of an acknowledgement. Milliseconds. */
  readonly ackMsMax: number;
  readonly clock: Clock;
}

/** Publishes messages to JetStream over one connection. */
export class NatsPublisher {
  readonly nats: NatsLibrary;
  readonly connection: NatsConnection;
  readonly options: NatsPublisherOptions;
  /** Faults of single subjects over this connection. */
  readonly subjects: SubjectFaults;
  readonly #jetstream: ReturnType<NatsLibrary['jetstream']>;

  constructor(nats: NatsLibrary, connection: NatsConnection, options: NatsPublisherOptions) {
    this.nats = nats;
    this.connection = connection;
    this.options = options;
    this.#jetstream = nats.jetstream(connection);
    this.subjects = new SubjectFaults(options.clock, (subject) => this.#hasStream(subject).catch(() => true));
  }

  /** Returns the name of the stream that stores a subject. Throws the library's errors. */
  async findStream(subject: string): Promise<string> {
    return await (await this.#openStreams()).find(subject);
  }

  /** Requests the settings of a stream. Throws the library's errors. */
  async readStream(name: string) {
    const { config } = await (await this.#openStreams()).info(name);
    const subjects = config.subjects ?? [];
    const isCoveringAll = subjects.some((pattern) => isCovering(pattern, this.options.prefix));
    return {
      name,
      subjects,
      /** True when the stream stores all subjects of the sink. */
      isCoveringAll,
      duplicateWindowMs: config.duplicate_window ? config.duplicate_window / NS_PER_MS : DUPLICATE_WINDOW_MS,
      /** Maximum size of a message; `undefined` = no limit. */
      messageBytesMax: config.max_msg_size > 0 ? config.max_msg_size : undefined,
      storage: config.storage,
      discard: config.discard,
      /** True when the stream sends no acknowledgements. */
      isSilent: config.no_ack === true,
      /** True when records can be published in atomic batches (nats-server 2.12), each of which goes to one stream. */
      takesBatches: config.allow_atomic === true && isCoveringAll,
    };
  }

  /** Resolves to true if a stream stores a subject, with or without a leader. Throws the library's errors. */
  async #hasStream(subject: string): Promise<boolean> {
    for await (const _ of (await this.#openStreams()).names(subject)) return true;
    return false;
  }

  async #openStreams() {
    return (await this.nats.jetstreamManager(this.connection, { checkAPI: false, timeout: ASK_MS_MAX })).streams;
  }

  toHeaders({ id }: NatsMessage): HeaderWords {
    const { stream } = this.options;
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

  /** Resolves with the stream's acknowledgement: its name, and whether it had the message already. Throws {@link DeliveryError}. */
  async publish(message: NatsMessage): Promise<{ readonly stream: string; readonly isDuplicate: boolean }> {
    const refusal = this.findRefusal(message);
    if (refusal) throw refusal;
    const { name, ackMsMax } = this.options;
    const { subject, payload } = message;
    const what = `Sink ${name} could not publish to ${subject}`;
    let ack: unknown;
    try {
      ack = await this.#jetstream.publish(subject, payload, {
        headers: toMessageHeaders(this.toHeaders(message)),
        timeout: ackMsMax,
      });
    } catch (cause) {
      throw toDeliveryError(this.nats, what, cause);
    }
    if (!isAck(ack)) {
      throw new DeliveryError('protocol_error', `${what}: the response is not the acknowledgement of a stream`, {
        disposition: 'retry',
        hint: 'Another service responds on this subject',
      });
    }
    return { stream: ack.stream, isDuplicate: ack.duplicate === true };
  }
}

function isAck(ack: unknown): ack is { readonly stream: string; readonly duplicate?: unknown } {
  if (typeof ack !== 'object' || ack === null) return false;
  return typeof Reflect.get(ack, 'stream') === 'string' && Number.isSafeInteger(Reflect.get(ack, 'seq'));
}

const LANES_MAX = 64;

export interface PublishOutcome {
  /** Number of accepted messages. */
  readonly accepted: number;
  /** Accepted messages that the stream is known to have had already. */
  readonly duplicates: number;
  /** Size of the accepted messages, including headers. Bytes. */
  readonly bytes: number;
  readonly stream?: string | undefined;
  /** Messages that the server rejected, by index. */
  readonly refused: readonly { readonly index: number; readonly error: DeliveryError }[];
  /** Messages that were not published, or whose result is unknown; in ascending order. */
  readonly failed: readonly number[];
  /** The first failure; absent when nothing failed. */
  readonly failure?: DeliveryError | undefined;
}

/**
 * Publishes messages: those of one subject sequentially, to keep their order, and several subjects in parallel. A subject
 * stops at its first failure; all subjects stop when `isOver` returns true. A fault of one subject alone rejects all of its
 * messages.
 */
export async function publishBySubject(
  messages: readonly NatsMessage[],
  publisher: NatsPublisher,
  isOver: () => boolean,
): Promise<PublishOutcome> {
  let [accepted, duplicates, bytes] = [0, 0, 0];
  let stream: string | undefined;
  const refused: { index: number; error: DeliveryError }[] = [];
  const failed: number[] = [];
  let failure: DeliveryError | undefined;
  const stopped: { readonly subject: string; readonly indexes: readonly number[]; readonly error: DeliveryError }[] =
    [];

  const publishLane = async (lane: readonly (readonly [number, NatsMessage])[]) => {
    for (const [position, [index, message]] of lane.entries()) {
      const rest = () => lane.slice(position).map(([other]) => other);
      try {
        if (isOver()) return void failed.push(...rest());
        const ack = await publisher.publish(message);
        publisher.subjects.recordAcknowledged(message.subject);
        accepted++;
        bytes += publisher.measure(message);
        if (ack.isDuplicate) duplicates++;
        stream ??= ack.stream;
      } catch (cause) {
        if (!(cause instanceof DeliveryError)) throw cause;
        if (cause.disposition === 'dead-letter') {
          refused.push({ index, error: cause });
          continue;
        }
        return void stopped.push({ subject: message.subject, indexes: rest(), error: cause });
      }
    }
  };

  const lanes = [...Map.groupBy(messages.entries(), ([, { subject }]) => subject).values()];
  const waiting = lanes.values();
  const work = async () => {
    for (const lane of waiting) await publishLane(lane);
  };
  await Promise.all(Array.from({ length: Math.min(LANES_MAX, lanes.length) }, work));
  // Only now the results of the other subjects are known.
  for (const { subject, indexes, error } of stopped) {
    if (await publisher.subjects.isOwn(subject, error)) refused.push(...indexes.map((index) => ({ index, error })));
    else {
      failure ??= error;
      failed.push(...indexes);
    }
  }
  failed.sort((a, b) => a - b);
  return { accepted, duplicates, bytes, stream, refused, failed, failure };
}

const STREAM_FULL = 10_077;
/** Text of the error of a stream with `discard_new_per_subject` (nats-server, server/store.go). */
const SUBJECT_FULL_TEXT = 'maximum messages per subject exceeded';

/** Error codes of the JetStream API (nats-server, server/errors.json): meaning, disposition and hint. */
const API_CODES: ReadonlyMap<number, readonly [DeliveryFailure, Disposition, string?]> = new Map([
  // A stream with `discard: new` has reached a limit.
  [STREAM_FULL, ['throttled', 'hold-back', 'The stream is full: raise its limits, or wait for its consumers']],
  [10_023, ['throttled', 'hold-back', 'The NATS server has no resources left']],
  [10_028, ['throttled', 'hold-back', 'The account has no memory left for JetStream']],
  [10_047, ['throttled', 'hold-back', 'The NATS server has no storage left']],
  [10_053, ['too_large', 'dead-letter']],
  [10_054, ['too_large', 'dead-letter']],
  [10_060, ['misconfigured', 'operator', 'Check subject and stream of this sink: another stream stores the subject']],
  [10_039, ['misconfigured', 'operator', 'Enable JetStream for the account of this sink']],
]);

/** Converts an error of the client library to a {@link DeliveryError}; `what` names the failed action. */
export function toDeliveryError(nats: NatsLibrary, what: string, thrown: unknown): DeliveryError {
  if (thrown instanceof DeliveryError) return thrown;
  const { code, message, disposition, hint, apiCode } = toNatsError(nats, what, thrown, 'sink');
  if (apiCode === STREAM_FULL && message.endsWith(SUBJECT_FULL_TEXT)) {
    const advice = 'The subject is full: raise max_msgs_per_subject of the stream, or wait for its consumers';
    return new DeliveryError('throttled', message, { disposition: 'hold-back', hint: advice, answer: SUBJECT_FULL });
  }
  if (code === 'api') {
    const [failure, meaning, advice] = API_CODES.get(apiCode ?? 0) ?? ['failed', 'retry'];
    return new DeliveryError(failure, message, { disposition: meaning, hint: advice, answer: String(apiCode) });
  }
  if (code === 'no_responders') {
    const advice = 'Check that JetStream is enabled and that a stream stores the subjects of this sink';
    return new DeliveryError('failed', message, { disposition: 'retry', hint: advice, answer: '503' });
  }
  return new DeliveryError(code, message, { disposition, hint });
}
