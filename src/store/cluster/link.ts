import type { MsgHdrs, NatsConnection } from '@nats-io/transport-node';
import {
  type Clock,
  DeadlineExceeded,
  decodeObject,
  openDeadline,
  parseJson,
  readString,
  untilAborted,
} from '../../base/index.ts';
import {
  connectToNats,
  type HeaderWords,
  loadNatsLibrary,
  NatsError,
  type NatsLibrary,
  type NatsServers,
  sanitizeErrorText,
  toMessageHeaders,
  toNatsError,
} from '../../net/index.ts';
import { StoreError } from '../errors.ts';

/** The answer of a stream to something that was published. */
export type PublishAnswer =
  /** It is stored; `seq` is the number of the (last) message. */
  | { readonly kind: 'stored'; readonly seq: number }
  /** Nothing of it is stored. `code` is that of the JetStream API. */
  | { readonly kind: 'refused'; readonly code: number; readonly text: string }
  /** No answer: it may be stored now, later or never. */
  | { readonly kind: 'unknown'; readonly cause: unknown };

/** A message to be published. */
export interface Message {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly words: HeaderWords;
}

/** A message as the leader of the stream has it. */
export interface StoredMessage {
  readonly subject: string;
  readonly seq: number;
  /** Time at which the engine stored it, by the engine's clock. Milliseconds since the Unix epoch. */
  readonly storedMs: number;
  readonly payload: Buffer;
  readonly headers: ReadonlyMap<string, string>;
}

/** Time limit of one request to the engine. Milliseconds. */
const ASK_MS_MAX = 3000;
/** A server that is silent for this long is left. Less than a request may take: its timer can end before this clock says so. */
const SILENCE_MS_MAX = ASK_MS_MAX - 100;
/** Waits between attempts to connect. Milliseconds. */
const RECONNECT_MS_MIN = 100;
const RECONNECT_MS_MAX = 2000;
/** Answers of the API to this program have a few hundred bytes; lists of subjects, up to a few megabytes. Bytes. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Subjects of one list: a fleet of 5000 routers has some hundred thousand. Together they may have as many bytes as an answer. */
const SUBJECTS_MAX = 1_000_000;
/** Logs of one router, its values, or the sinks of a cluster: at most a few hundred, and each of them is asked for. */
export const KEYS_MAX = 10_000;
/** Rate assumed for a slow line: unanswered bytes get this time before the server counts as silent. Bytes per millisecond. */
const SLOW_LINE = 500;
/** No such message. */
const NOT_FOUND = 10_037;
/** "JetStream system temporarily unavailable": the answer of a server that is cut off from the others. */
const NOT_AVAILABLE = 10_008;

/** Servers of the engine, and the cluster that it is of. */
export interface Engine {
  /** Servers of the engine, with account and clock. */
  readonly servers: Omit<NatsServers, 'who' | 'peer'>;
  /** Name of the cluster. */
  readonly cluster: string;
}

/** The engine of a cluster as servers of NATS. */
export function toEngine({ servers, cluster }: Engine): NatsServers {
  return { ...servers, who: `Cluster ${cluster}`, peer: 'cluster' };
}

/**
 * Keeps one connection to the engine, opened again whenever it ends. A server that answers nothing for some seconds is left for the
 * next one: it may hang, or be cut off from the others, and its connection would stay open all the same.
 */
export class ClusterLink {
  readonly #servers: NatsServers;
  readonly #onConnected: () => void;
  readonly #onLeft: () => void;
  readonly #closing = new AbortController();
  #nats: NatsLibrary | undefined;
  #connection: NatsConnection | undefined;
  #fault: NatsError | undefined;
  #changed = Promise.withResolvers<void>();
  #loop: Promise<void> | undefined;
  /** Number of servers that were left. */
  #left = 0;
  /** Time of the last answer, or of the opening of the connection. Monotonic milliseconds. */
  #heardMs = 0;
  /** Bytes sent since. */
  #sentBytes = 0;

  /** `onConnected` is called after each connection attempt that succeeded, `onLeft` when a server that does not answer is left. */
  constructor(servers: NatsServers, onConnected: () => void = () => {}, onLeft: () => void = () => {}) {
    this.#servers = servers;
    this.#onConnected = onConnected;
    this.#onLeft = onLeft;
  }

  get clock(): Clock {
    return this.#servers.clock;
  }

  /** The connection, while there is one. */
  get connection(): NatsConnection | undefined {
    return this.#connection?.isClosed() === false ? this.#connection : undefined;
  }

  /** The client library, once it is loaded. */
  get nats(): NatsLibrary | undefined {
    return this.#nats;
  }

  /** Why there is no connection; `undefined` while there is one, and before the first attempt ended. */
  get fault(): NatsError | undefined {
    return this.connection ? undefined : this.#fault;
  }

  /** Begins to connect. */
  open(): void {
    this.#loop ??= this.#keepConnected().catch(() => {});
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    this.#closing.abort(new StoreError('broken', 'The store is closed', { disposition: 'operator' }));
    await this.#connection?.close().catch(() => {});
    await this.#loop;
  }

  /** Resolves with the connection once there is one. Rejects with code `unwritable` when that takes too long. */
  async ready(msMax = ASK_MS_MAX): Promise<NatsConnection> {
    this.open();
    using deadline = openDeadline(this.clock, msMax, this.#closing.signal);
    for (;;) {
      const { connection } = this;
      if (connection) return connection;
      try {
        await untilAborted(this.#changed.promise, deadline.signal);
      } catch (cause) {
        this.#closing.signal.throwIfAborted();
        throw toAway(this.#fault ?? cause);
      }
    }
  }

  /** Publishes a message and waits for the answer of the stream. Never rejects. */
  async publish({ subject, payload, words }: Message): Promise<PublishAnswer> {
    try {
      // At once: the order of messages is that of the calls.
      const connection = this.connection ?? (await this.ready());
      return toPublishAnswer(await this.#request(connection, subject, payload, toMessageHeaders(words)));
    } catch (cause) {
      return { kind: 'unknown', cause };
    }
  }

  /** Sends a message that nobody answers, in front of others of its batch. */
  send({ subject, payload, words }: Message): void {
    this.#sentBytes += payload.length;
    this.connection?.publish(subject, payload, { headers: toMessageHeaders(words) });
  }

  /** Asks the JetStream API, which the leader answers. Rejects with a {@link StoreError}. */
  async ask(request: string, body: object = {}): Promise<Readonly<Record<string, unknown>>> {
    let reply: Reply;
    try {
      const connection = await this.ready();
      reply = await this.#request(connection, `$JS.API.${request}`, JSON.stringify(body));
    } catch (cause) {
      throw cause instanceof StoreError ? cause : toAway(this.#toError(`No answer to ${request}`, cause));
    }
    if (reply.error) throw new ApiRefusal(reply.error.code, reply.error.text);
    if (reply.body) return reply.body;
    // As an empty one it would say that nothing is stored.
    throw new StoreError('broken', `The answer to ${request} cannot be read: it has ${reply.bytes} bytes`, {
      disposition: 'retry',
      hint: `An object in JSON of at most ${ANSWER_BYTES_MAX} bytes is expected: check that no other program writes to the stream`,
    });
  }

  /** Reads the last message of a subject from the leader, never from a replica that may be behind. */
  readLast(stream: string, subject: string): Promise<StoredMessage | undefined> {
    return this.#readMessage(stream, { last_by_subj: subject });
  }

  /** Reads the message with a number from the leader. */
  readAt(stream: string, seq: number): Promise<StoredMessage | undefined> {
    return this.#readMessage(stream, { seq });
  }

  async #readMessage(stream: string, which: object): Promise<StoredMessage | undefined> {
    try {
      const { message } = await this.ask(`STREAM.MSG.GET.${stream}`, which);
      return toStoredMessage(message);
    } catch (cause) {
      if (cause instanceof ApiRefusal && cause.apiCode === NOT_FOUND) return undefined;
      throw cause;
    }
  }

  /** Lists the subjects of the stream that fit a filter, of which there are messages. Rejects if there are more than `max`. */
  async listSubjects(stream: string, filter: string, max = SUBJECTS_MAX): Promise<readonly string[]> {
    const found: string[] = [];
    let bytes = 0;
    for (;;) {
      // The server gives out 100,000 at a time.
      const page = await this.ask(`STREAM.INFO.${stream}`, { subjects_filter: filter, offset: found.length });
      const names = Object.keys(decodeObject(decodeObject(page['state'])?.['subjects']) ?? {});
      for (const name of names) {
        found.push(name);
        bytes += name.length;
      }
      if (found.length > max || bytes > ANSWER_BYTES_MAX) throw toCrowded(stream, filter, max);
      if (names.length === 0 || found.length >= Number(page['total'] ?? 0)) return found;
    }
  }

  async #request(
    connection: NatsConnection,
    subject: string,
    payload: Uint8Array | string,
    headers?: MsgHdrs,
  ): Promise<Reply> {
    const sentMs = this.clock.monotonic();
    this.#sentBytes += payload.length;
    try {
      const { data } = await connection.request(subject, payload, { timeout: ASK_MS_MAX, ...(headers && { headers }) });
      const reply = toReply(data);
      if (reply.error?.code === NOT_AVAILABLE) this.#noteSilence(connection, sentMs);
      else this.#noteHeard();
      return reply;
    } catch (cause) {
      this.#noteSilence(connection, sentMs);
      throw cause;
    }
  }

  #noteHeard(): void {
    this.#heardMs = this.clock.monotonic();
    this.#sentBytes = 0;
  }

  /** Something that was sent got no answer. Leaves the server if nothing else did. */
  #noteSilence(connection: NatsConnection, sentMs: number): void {
    const silentMs = this.clock.monotonic() - this.#heardMs;
    const isHeard = this.#heardMs > sentMs || silentMs < SILENCE_MS_MAX + this.#sentBytes / SLOW_LINE;
    if (isHeard || connection !== this.connection || this.#closing.signal.aborted) return;
    this.#left++;
    this.#onLeft();
    connection.close().catch(() => {});
  }

  #toError(what: string, cause: unknown): unknown {
    return this.#nats ? toNatsError(this.#nats, what, cause, 'cluster') : cause;
  }

  async #keepConnected(): Promise<void> {
    const { signal } = this.#closing;
    let waitMs = RECONNECT_MS_MIN;
    while (!signal.aborted) {
      try {
        this.#nats ??= await loadNatsLibrary();
        const { servers } = this.#servers;
        const first = this.#left % servers.length;
        const inTurn = [...servers.slice(first), ...servers.slice(0, first)];
        this.#connection = await connectToNats(this.#nats, { ...this.#servers, servers: inTurn }, signal);
        this.#noteHeard();
        waitMs = RECONNECT_MS_MIN;
        this.#notify();
        this.#onConnected();
        await untilAborted(this.#connection.closed(), signal);
      } catch (cause) {
        if (signal.aborted) break;
        this.#fault = cause instanceof NatsError ? cause : undefined;
        this.#notify();
      }
      await this.clock.sleep(waitMs, signal).catch(() => {});
      waitMs = Math.min(RECONNECT_MS_MAX, waitMs * 2);
    }
    await this.#connection?.close().catch(() => {});
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}

/** An error that the JetStream API answered with. */
export class ApiRefusal extends StoreError {
  /** Error code of the JetStream API. */
  readonly apiCode: number;

  constructor(apiCode: number, text: string) {
    super('unwritable', `The engine refuses: ${text} (${apiCode})`, { disposition: 'hold-back' });
    this.apiCode = apiCode;
  }
}

/** Returns the error of an engine that does not answer. */
export function toAway(cause: unknown): StoreError {
  const hint = cause instanceof NatsError ? cause.hint : undefined;
  return new StoreError('unwritable', 'The engine of the cluster does not answer', {
    disposition: 'hold-back',
    hint: hint ?? 'Check the NATS servers of the cluster; the agent then continues where it stopped',
    cause: cause instanceof DeadlineExceeded ? undefined : cause,
  });
}

function toCrowded(stream: string, filter: string, max: number): StoreError {
  const bound = `${max} subjects, or ${ANSWER_BYTES_MAX} bytes of them`;
  return new StoreError('broken', `The stream ${stream} has more than ${bound}, below ${filter}`, {
    disposition: 'operator',
    hint: 'Another program writes to the stream: take the permission away from it, and purge its subjects',
  });
}

/** An answer of the server. */
interface Reply {
  readonly bytes: number;
  /** Its object; `undefined` if it is none. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly error: { readonly code: number; readonly text: string } | undefined;
}

function toReply(data: Uint8Array): Reply {
  const body = decode(data);
  return { bytes: data.length, body, error: readError(body) };
}

function decode(data: Uint8Array): Reply['body'] {
  if (data.length > ANSWER_BYTES_MAX) return undefined;
  return decodeObject(parseJson(Buffer.from(data.buffer, data.byteOffset, data.length).toString()));
}

function readError(answer: Reply['body']): Reply['error'] {
  const error = decodeObject(answer?.['error']);
  if (!error) return undefined;
  const { err_code: code, description } = error;
  return { code: typeof code === 'number' ? code : 0, text: sanitizeErrorText(String(description)) };
}

/** Reads the answer of a stream; an empty one is that to a message of a batch that goes on. */
function toPublishAnswer({ bytes, body, error }: Reply): PublishAnswer {
  if (bytes === 0) return { kind: 'stored', seq: 0 };
  if (error) return { kind: 'refused', ...error };
  const seq = body?.['seq'];
  if (typeof seq === 'number' && Number.isSafeInteger(seq) && seq > 0) return { kind: 'stored', seq };
  return {
    kind: 'unknown',
    cause: new StoreError('broken', 'The answer is not that of a stream', { disposition: 'retry' }),
  };
}

function toStoredMessage(value: unknown): StoredMessage | undefined {
  const message = decodeObject(value);
  const seq = message?.['seq'];
  if (!message || typeof seq !== 'number') return undefined;
  const read = (name: string): string => readString(message, name) ?? '';
  const headers = new Map<string, string>();
  for (const line of Buffer.from(read('hdrs'), 'base64').toString().split('\r\n')) {
    const [, name, text] = /^([^:]+): (.*)$/.exec(line) ?? [];
    if (name !== undefined && text !== undefined) headers.set(name, text);
  }
  return {
    subject: read('subject'),
    seq,
    storedMs: Date.parse(read('time')),
    payload: Buffer.from(read('data'), 'base64'),
    headers,
  };
}
