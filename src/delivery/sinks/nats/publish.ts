import type { NatsConnection } from '@nats-io/transport-node';
import type { Clock } from '../../../base/index.ts';
import { type HeaderWords, measureHeaders, type NatsLibrary, toMessageHeaders } from '../../../net/index.ts';
import { DeliveryError } from '../../errors.ts';
import { type RecordFormat, renderRecord } from '../../formats/format.ts';
import type { OutgoingRecord } from '../../outgoing-record.ts';
import { hasStream, SUBJECT_FULL, toNatsError, toNatsSubject } from './stream.ts';

/** The message of a record. Its subject is found when it is sent: the server is at work on the messages before it meanwhile. */
export class NatsMessage {
  /** Message id, equal for the same record, so that the stream can deduplicate. */
  readonly id: string;
  /** The record, in memory that may be shared with others. */
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

  /** Subject to publish to. */
  get subject(): string {
    this.#subject ??= toNatsSubject(this.#prefix, this.#record.fields);
    return this.#subject;
  }
}

/** The stream, and limits of what is in flight. */
interface NatsPublisherOptions {
  /** Name of the sink. */
  readonly name: string;
  /** Name of the expected stream; absent = any. */
  readonly stream?: string | undefined;
  /** Time limit of an acknowledgement. Milliseconds. */
  readonly ackMsMax: number;
  readonly clock: Clock;
}

/** Publishes messages to JetStream over one connection. */
export class NatsPublisher {
  readonly connection: NatsConnection;
  /** Faults of single subjects over this connection. */
  readonly subjects: SubjectFaults;
  readonly #nats: NatsLibrary;
  readonly options: NatsPublisherOptions;
  readonly #jetstream: ReturnType<NatsLibrary['jetstream']>;

  constructor(nats: NatsLibrary, connection: NatsConnection, options: NatsPublisherOptions) {
    this.connection = connection;
    this.#nats = nats;
    this.options = options;
    this.#jetstream = nats.jetstream(connection);
    this.subjects = new SubjectFaults(options.clock, (subject) =>
      hasStream(nats, connection, subject).catch(() => true),
    );
  }

  /** Returns the headers of a message. */
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
      throw toNatsError(this.#nats, what, cause);
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

/** Maximum number of subjects to publish to at the same time. */
const LANES_MAX = 64;

/** Results of messages, by index. */
export interface PublishOutcome {
  /** Number of accepted messages. */
  readonly accepted: number;
  /** Number of accepted messages that the stream is known to have had already. */
  readonly duplicates: number;
  /** Size of the accepted messages, including headers. Bytes. */
  readonly bytes: number;
  /** Stream that accepted them; absent when none did. */
  readonly stream?: string | undefined;
  /** Messages that the server rejected, by index. */
  readonly refused: readonly { readonly index: number; readonly error: DeliveryError }[];
  /** Messages that were not published, or whose fate is unknown; in ascending order. */
  readonly failed: readonly number[];
  /** Error of the first failure; absent when nothing failed. */
  readonly failure?: DeliveryError | undefined;
}

/**
 * Publishes messages: those of one subject sequentially, to keep their order, and several subjects in parallel. A
 * subject stops at its first failure; all subjects stop when `isOver` returns true. What concerns one subject alone
 * refuses all of its messages.
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
        publisher.subjects.noteAcknowledged(message.subject);
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
  // Only now is it known what became of the others.
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

/** A stream may be about to be created, or to be created anew; a consumer may be about to make room. Milliseconds. */
const WAIT_MS_MAX = 5 * 60_000;
/** Subjects that are remembered; more are judged anew. */
const FAULTS_MAX = 10_000;
/** Answers to a message that nobody receives, and to one that another stream stores than the one that is expected. */
const [NO_RESPONDERS, OTHER_STREAM] = ['503', '10060'];

/**
 * Tells faults of one subject from those of the whole sink, over one connection: the account may not publish to it while another
 * one was acknowledged, its part of the stream stays full, or no stream stores it. Its records must not hold up those of other logs.
 */
export class SubjectFaults {
  readonly #clock: Clock;
  readonly #isStored: (subject: string) => Promise<boolean>;
  /** Two of the subjects that were acknowledged: one of them is another one than that in question. */
  readonly #acknowledged: string[] = [];
  readonly #faulty = new Set<string>();
  /** Since when nobody receives a subject, or it is full. Monotonic milliseconds. */
  readonly #waitingSinceMs = new Map<string, number>();

  /** `isStored` asks if there is a stream for a subject; true also when the server does not say. */
  constructor(clock: Clock, isStored: (subject: string) => Promise<boolean>) {
    this.#clock = clock;
    this.#isStored = isStored;
  }

  /** True if the last message of a subject was refused because of it. */
  has(subject: string): boolean {
    return this.#faulty.has(subject);
  }

  /** A message of this subject was acknowledged. */
  noteAcknowledged(subject: string): void {
    if (this.#acknowledged.length < 2 && !this.#acknowledged.includes(subject)) this.#acknowledged.push(subject);
    this.#faulty.delete(subject);
    this.#waitingSinceMs.delete(subject);
  }

  /** Resolves to true if this failure is one of its subject alone. */
  async isOwn(subject: string, error: DeliveryError): Promise<boolean> {
    if (!(await this.#mayBeBlamed(subject, error))) return false;
    if (this.#faulty.size >= FAULTS_MAX) this.#faulty.clear();
    this.#faulty.add(subject);
    return true;
  }

  async #mayBeBlamed(subject: string, error: DeliveryError): Promise<boolean> {
    const isOtherAcknowledged = this.#acknowledged.some((other) => other !== subject);
    if (isOfSubject(error)) return isOtherAcknowledged;
    if (error.answer !== NO_RESPONDERS && error.answer !== SUBJECT_FULL) return false;
    if (!this.#hasWaited(subject)) return false;
    return error.answer === SUBJECT_FULL ? isOtherAcknowledged : !(await this.#isStored(subject));
  }

  #hasWaited(subject: string): boolean {
    const nowMs = this.#clock.monotonic();
    const sinceMs = this.#waitingSinceMs.get(subject) ?? nowMs;
    if (this.#waitingSinceMs.size >= FAULTS_MAX) this.#waitingSinceMs.clear();
    this.#waitingSinceMs.set(subject, sinceMs);
    return nowMs - sinceMs >= WAIT_MS_MAX;
  }
}

/** Returns true if the server says it of the subject, and not of the moment. */
function isOfSubject({ code, answer }: DeliveryError): boolean {
  return code === 'unauthorized' || answer === OTHER_STREAM;
}
