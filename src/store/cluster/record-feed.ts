import type { Consumer, JsMsg } from '@nats-io/jetstream';
import { type LineTable, unpackLines } from '../../base/index.ts';
import { StoreError } from '../errors.ts';
import { STEP_HEADER } from './commit-queue.ts';
import { withConsumer } from './consumer.ts';
import type { ClusterLink } from './link.ts';
import type { Subjects } from './subjects.ts';

/** Header with the number of records in a message. */
export const RECORDS_HEADER = 'Rx-Records';
/** Header with the time of a commit, by the clock of the replica that made it. Milliseconds since the Unix epoch. */
export const TIME_HEADER = 'Rx-Time';

/**
 * Records of a message, or a letter, when they are unpacked: steps with more become several messages, and what has more all the same
 * is not unpacked. A usual step of a long log has a third of it, a record at most a few hundred kilobytes. Bytes.
 */
export const LINES_BYTES_MAX = 8 * 1024 * 1024;

/** Records of one step of one log, as the stream holds them. */
export class RecordMessage {
  /** Number of the message in the stream. */
  readonly seq: number;
  readonly router: string;
  readonly component: string;
  readonly records: number;
  readonly committedMs: number;
  /** Id of the step that wrote it; empty without one. */
  readonly step: string;
  readonly #body: Uint8Array;
  /** True once it was told that records of it cannot be read. */
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

  /** The records as `packLines` packs them; empty if the message is not sound. */
  get body(): Uint8Array {
    return this.#body;
  }

  /** Size in the stream, without its headers. Bytes. */
  get bytes(): number {
    return this.#body.length;
  }

  /** The records; `undefined` in a damaged message. */
  get lines(): LineTable | undefined {
    if (this.#fault === undefined) this.#lines ??= this.#unpack();
    return this.#lines;
  }

  /** Why there are no records, once somebody has looked for them. */
  get fault(): unknown {
    return this.#fault;
  }

  #unpack(): LineTable | undefined {
    try {
      const lines = unpackLines(this.#body, LINES_BYTES_MAX);
      if (lines.length === this.records) return lines;
      this.#fault = new RangeError(`The message has ${lines.length} records, and says ${this.records}`);
    } catch (cause) {
      // The stream has a checksum of its own: somebody else has written this.
      this.#fault = cause;
    }
    return undefined;
  }
}

/** Packed records that are held for a sink. Bytes. */
const HELD_BYTES_MAX = 8 * 1024 * 1024;
/** Messages that one request asks for: at the start, and at most. */
const AHEAD_FIRST = 64;
const AHEAD_MAX = 512;
/**
 * The server has a request for records open for this long, and says meanwhile that it is there: one that has ended is missed after
 * two of its heartbeats. More of them would miss a large message on a slow line. Milliseconds.
 */
const PULL_MS = 10_000;
const HEARTBEAT_MS = 2000;
/** A consumer that nobody asks is removed by its server after this time. Milliseconds. */
const UNUSED_MS = 5 * 60_000;
/** Wait before a feed that ended begins again. Milliseconds. */
const AGAIN_MS = 250;
/** So many attempts in a row that failed on an open connection are no moment of a server that ends. */
const FAILURES_MAX = 4;

/** Whom a feed tells what. */
export interface FeedEvents {
  /** There are more records. */
  readonly onRecords: () => void;
  /** The records do not arrive any more, although there is a connection; they are read anew from where they stopped. */
  readonly onSilent: (cause: unknown) => void;
}

/**
 * The records of all logs from a message on, in the order of the stream, read ahead.
 *
 * The consumer ends with the server in whose memory it is. Whatever is wrong with it, another one is made from where it stopped.
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
  /** Attempts in a row that failed while there was a connection, and why the last one did. */
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

  /** The messages that are here, oldest first. */
  get held(): readonly RecordMessage[] {
    return this.#held;
  }

  /** Number of the last message that has arrived; 0 before the first. */
  get seenSeq(): number {
    return this.#seenSeq;
  }

  /** Messages of the stream that are not here yet, as the server said last. */
  get behind(): number {
    return this.#behind;
  }

  /** Why nothing can be read although the engine is there, as without a permission; `undefined` while all is well. */
  get fault(): StoreError | undefined {
    if (this.#failures < FAILURES_MAX) return undefined;
    return new StoreError('unwritable', 'The records in the stream of the cluster cannot be read', {
      disposition: 'retry',
      hint: 'Check the permissions of the account: docs/cluster.md lists them',
      cause: this.#cause,
    });
  }

  /** True when every message is here. */
  get isCaughtUp(): boolean {
    return this.#hasBegun && this.#behind === 0;
  }

  /** Drops the messages before a number. */
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
        // The feed begins again where it stopped. Without a connection, the link says why.
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
      // A redelivery of which nothing is left is over.
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
   * Takes what a consumer has, as far as there is room, until the connection or the feed ends, or there was no room for so long that
   * the server may have removed the consumer. Throws if the consumer fails.
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
    // A copy: the message is a part of all that came with it. One without its headers counts as one damaged record.
    const held = new RecordMessage(about, isSound ? Buffer.from(data) : Buffer.alloc(0));
    this.#held.push(held);
    this.#bytes += held.bytes;
    this.#events.onRecords();
  }
}
