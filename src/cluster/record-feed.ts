import type { Consumer, ConsumerInfo, JsMsg } from '@nats-io/jetstream';
import { type LineTable, packBytes, readPackedSize, unpackLines } from '../base/index.ts';
import { StoreError } from '../model/index.ts';
import { STEP_HEADER } from './commit-queue.ts';
import type { ClusterLink, Message } from './link.ts';
import type { Subjects } from './subjects.ts';

const RECORDS_HEADER = 'Rx-Records';
/** Header with the time of a commit, by the clock of its replica. Milliseconds since the Unix epoch. */
const TIME_HEADER = 'Rx-Time';

/**
 * Maximum unpacked size of the records of a message, or of a dead letter: larger steps are split into several messages, and a
 * larger message is damaged. A typical step of a long log has a third of it, a record at most a few hundred kilobytes. Bytes.
 */
export const LINES_BYTES_MAX = 8 * 1024 * 1024;

export class RecordMessage {
  readonly seq: number;
  readonly router: string;
  readonly component: string;
  readonly records: number;
  readonly committedMs: number;
  /** Id of the step that wrote it; empty without one. */
  readonly step: string;
  readonly #body: Uint8Array;
  /** True once its unreadable records were reported. */
  isReported = false;
  #lines: LineTable | undefined;
  #fault: unknown;

  constructor(
    about: Pick<RecordMessage, 'seq' | 'router' | 'component' | 'records' | 'committedMs' | 'step'>,
    body: Uint8Array,
  ) {
    this.seq = about.seq;
    this.router = about.router;
    this.component = about.component;
    this.records = about.records;
    this.committedMs = about.committedMs;
    this.step = about.step;
    this.#body = body;
  }

  /** The records as `packLines` packs them; empty if the message is damaged. */
  get body(): Uint8Array {
    return this.#body;
  }

  get bytes(): number {
    return this.#body.length;
  }

  get lines(): LineTable | undefined {
    if (this.#fault === undefined) this.#lines ??= this.#unpack();
    return this.#lines;
  }

  /** Why there are no records, after an access to `lines`. */
  get fault(): unknown {
    return this.#fault;
  }

  #unpack(): LineTable | undefined {
    try {
      const lines = unpackLines(this.#body, LINES_BYTES_MAX);
      if (lines.length === this.records) return lines;
      this.#fault = new RangeError(`The message has ${lines.length} records, and says ${this.records}`);
    } catch (cause) {
      // The stream has its own checksum: another program has written this.
      this.#fault = cause;
    }
    return undefined;
  }
}

/** Allowance for the headers of a message. Bytes. */
const HEADERS_BYTES = 2048;
/** Maximum size of a message until the server has announced its own. Bytes. */
const PAYLOAD_BYTES = 1024 * 1024;

interface PackedRecords {
  /** The records as `packLines` packs them. */
  readonly body: Uint8Array;
  readonly records: number;
  /** Wall time of the commit. Milliseconds since the Unix epoch. */
  readonly committedMs: number;
}

/** Returns the size of the largest payload that the server accepts. Bytes. */
export function readPayloadMax({ connection }: Pick<ClusterLink, 'connection'>): number {
  return (connection?.info?.max_payload ?? PAYLOAD_BYTES) - HEADERS_BYTES;
}

/** Converts the records of a step to one message, or to several within the limits of server and readers. */
export function toRecordMessages(
  subject: string,
  { body, records, committedMs }: PackedRecords,
  bytesMax: number,
): Message[] {
  const time = String(Math.floor(committedMs));
  const toMessage = (payload: Uint8Array, count: number): Message => {
    return { subject, payload, words: [RECORDS_HEADER, String(count), TIME_HEADER, time] };
  };
  // Compressed bodies contain their size; short uncompressed ones need none.
  if (body.length <= bytesMax && (readPackedSize(body) ?? 0) <= LINES_BYTES_MAX) return [toMessage(body, records)];
  const table = unpackLines(body);
  const split = (from: number, to: number): Message[] => {
    const lines = table.memory.subarray(table.startOf(from), table.endOf(to - 1));
    const isOne = to - from === 1;
    if (lines.length <= LINES_BYTES_MAX || isOne) {
      const payload = packBytes(lines);
      if (payload.length <= bytesMax || isOne) return [toMessage(payload, to - from)];
    }
    const middle = from + Math.ceil((to - from) / 2);
    return [...split(from, middle), ...split(middle, to)];
  };
  return split(0, table.length);
}

/** Maximum size of packed records held for a sink. Bytes. */
const HELD_BYTES_MAX = 8 * 1024 * 1024;
/** Messages per request: at the start, and at most. */
const AHEAD_FIRST = 64;
const AHEAD_MAX = 512;
/**
 * Duration of a request for records, during which the server sends heartbeats: a connection that has ended is detected after
 * two missed ones. More frequent heartbeats would time out behind a large message on a slow line. Milliseconds.
 */
const PULL_MS = 10_000;
const HEARTBEAT_MS = 2000;
/** Idle time after which the server removes the consumer. Milliseconds. */
const UNUSED_MS = 5 * 60_000;
/** Wait before a feed that ended restarts. Milliseconds. */
const AGAIN_MS = 250;
/** Consecutive failures on an open connection that count as a fault, beyond a server that is shutting down. */
const FAILURES_MAX = 4;

interface FeedEvents {
  readonly onRecords: () => void;
  /** Records stop arriving although there is a connection; they are read again from there. */
  readonly onSilent: (cause: unknown) => void;
}

/**
 * The records of all logs from a message on, in the order of the stream, read ahead.
 *
 * The consumer ends with the server in whose memory it is. After any failure, another one is created from where it stopped.
 */
export class RecordFeed {
  readonly #link: ClusterLink;
  readonly #subjects: Subjects;
  readonly #events: FeedEvents;
  readonly #held: RecordMessage[] = [];
  readonly #ending = new AbortController();
  #bytes = 0;
  /** First message that was not read yet. */
  #next: number;
  #seenSeq = 0;
  #behind = 0;
  #hasBegun = false;
  /** Consecutive failures with an open connection, and the cause of the last one. */
  #failures = 0;
  #cause: unknown;
  #room = Promise.withResolvers<void>();
  readonly #loop: Promise<void>;
  #stop: (() => void) | undefined;

  /** `from`: number of the first message. */
  constructor(link: ClusterLink, subjects: Subjects, from: number, events: FeedEvents) {
    this.#link = link;
    this.#subjects = subjects;
    this.#next = Math.max(1, from);
    this.#events = events;
    this.#loop = this.#read();
  }

  get held(): readonly RecordMessage[] {
    return this.#held;
  }

  get seenSeq(): number {
    return this.#seenSeq;
  }

  /** Messages of the stream that have not arrived yet, as the server reported last. */
  get behind(): number {
    return this.#behind;
  }

  /** Why nothing can be read although the engine is reachable, as without a permission; `undefined` otherwise. */
  get fault(): StoreError | undefined {
    if (this.#failures < FAILURES_MAX) return undefined;
    return new StoreError('unwritable', 'The records in the stream of the cluster cannot be read', {
      disposition: 'retry',
      hint: 'Check the permissions of the account: docs/cluster.md lists them',
      cause: this.#cause,
    });
  }

  get isCaughtUp(): boolean {
    return this.#hasBegun && this.#behind === 0;
  }

  dropBefore(seq: number): void {
    let count = 0;
    for (const message of this.#held) {
      if (message.seq >= seq) break;
      this.#bytes -= message.bytes;
      count++;
    }
    if (count === 0) return;
    this.#held.splice(0, count);
    this.#room.resolve();
    this.#room = Promise.withResolvers<void>();
  }

  async close(): Promise<void> {
    this.#ending.abort();
    this.#stop?.();
    this.#room.resolve();
    await this.#loop;
  }

  async #read(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      try {
        await this.#consume(signal);
      } catch (cause) {
        // The feed restarts where it stopped. Without a connection, the link has the reason.
        this.#failures = this.#link.connection ? this.#failures + 1 : 0;
        this.#cause = cause;
        if (this.#failures === FAILURES_MAX) this.#events.onRecords();
      }
      if (!signal.aborted) await this.#link.clock.sleep(AGAIN_MS, signal).catch(() => {});
    }
  }

  async #consume(signal: AbortSignal): Promise<void> {
    const connection = await this.#link.ready();
    if (signal.aborted) return;
    const { stream, records } = this.#subjects;
    const choice = { stream, from: this.#next, subjects: [records], unusedMs: UNUSED_MS };
    await withConsumer(this.#link, choice, async (consumer, pending) => {
      this.#behind = pending;
      this.#hasBegun = true;
      // A redelivery of which nothing is left is complete.
      if (pending === 0) this.#events.onRecords();
      try {
        await this.#takeAll(consumer, signal);
      } catch (cause) {
        if (this.#link.connection === connection) this.#events.onSilent(cause);
        throw cause;
      }
    });
  }

  /**
   * Reads the messages of a consumer while there is room, until the connection or the feed ends, or there was no room for so
   * long that the server may have removed the consumer. Throws if the consumer fails.
   */
  async #takeAll(consumer: Consumer, signal: AbortSignal): Promise<void> {
    let [ahead, delivered] = [AHEAD_FIRST, 0];
    while (!signal.aborted && this.#link.connection) {
      const messages = await consumer.fetch({
        max_messages: ahead,
        expires: PULL_MS,
        idle_heartbeat: HEARTBEAT_MS,
      });
      this.#stop = () => messages.stop();
      if (signal.aborted) this.#stop();
      let largest = 1;
      for await (const message of messages) {
        if (message.info.deliverySequence !== ++delivered) {
          throw new StoreError('broken', 'A message of the stream was lost on its way', { disposition: 'retry' });
        }
        largest = Math.max(largest, message.data.length);
        this.#take(message);
      }
      this.#failures = 0;
      ahead = Math.max(1, Math.min(AHEAD_MAX, Math.floor(HELD_BYTES_MAX / largest)));
      const askedMs = this.#link.clock.monotonic();
      while (!signal.aborted && this.#bytes > HELD_BYTES_MAX) await this.#room.promise;
      if (this.#link.clock.monotonic() - askedMs > UNUSED_MS / 2) return;
    }
  }

  #take(message: JsMsg): void {
    const { seq, subject, data, headers } = message;
    if (seq < this.#next) return;
    this.#next = seq + 1;
    this.#seenSeq = seq;
    this.#failures = 0;
    this.#behind = message.info.pending;
    const topic = this.#subjects.parse(subject);
    if (topic?.kind !== 'rec') return;
    const read = (name: string) => Number(headers?.get(name) ?? 0);
    const [records, committedMs] = [read(RECORDS_HEADER), read(TIME_HEADER)];
    const isSound = Number.isSafeInteger(records) && records > 0 && Number.isSafeInteger(committedMs);
    const { router, component } = topic;
    const step = headers?.get(STEP_HEADER) ?? '';
    const about = {
      seq,
      router,
      component,
      step,
      ...(isSound ? { records, committedMs } : { records: 1, committedMs: 0 }),
    };
    // A copy: the message shares its buffer with all that arrived with it. One without its headers counts as one damaged
    // record.
    const held = new RecordMessage(about, isSound ? Buffer.from(data) : Buffer.alloc(0));
    this.#held.push(held);
    this.#bytes += held.bytes;
    this.#events.onRecords();
  }
}

interface ConsumerChoice {
  readonly stream: string;
  readonly from: number;
  /** Subjects of the messages. Default: all. */
  readonly subjects?: readonly string[] | undefined;
  /** True if the messages come without their contents. Default false. */
  readonly hasHeadersOnly?: boolean | undefined;
  /** Idle time after which the server removes the consumer. Milliseconds. */
  readonly unusedMs: number;
}

/**
 * Reads messages with a consumer in the memory of one server, and removes it afterwards; `pending`: number of its messages.
 * An ordered consumer of the client library would wait until its server is back, although the others have the messages as
 * well.
 */
export async function withConsumer(
  link: ClusterLink,
  { stream, from, subjects, hasHeadersOnly, unusedMs }: ConsumerChoice,
  work: (consumer: Consumer, pending: number) => Promise<void>,
): Promise<void> {
  const connection = await link.ready();
  const { nats } = link;
  if (!nats) return;
  const created = await link.ask(`CONSUMER.CREATE.${stream}`, {
    stream_name: stream,
    config: {
      deliver_policy: 'by_start_sequence',
      opt_start_seq: from,
      filter_subjects: subjects,
      headers_only: hasHeadersOnly,
      ack_policy: 'none',
      max_deliver: 1,
      num_replicas: 1,
      mem_storage: true,
      inactive_threshold: unusedMs * 1e6,
    },
  });
  const info = created as unknown as ConsumerInfo;
  try {
    await work(nats.jetstream(connection).consumers.getConsumerFromInfo(info), info.num_pending);
  } finally {
    // It would also expire.
    link.ask(`CONSUMER.DELETE.${stream}.${info.name}`).catch(() => {});
  }
}
