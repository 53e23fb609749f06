import type { MsgHdrs, NatsConnection } from '@nats-io/transport-node';
import {
  type Clock,
  DeadlineExceeded,
  decodeObject,
  openDeadline,
  parseJson,
  readString,
  untilAborted,
} from '../base/index.ts';
import { StoreError } from '../model/index.ts';
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
} from '../net/index.ts';

/** The answer of a stream to a published message. */
export type PublishAnswer =
  /** Stored; `seq` is the number of the (last) message. */
  | { readonly kind: 'stored'; readonly seq: number }
  /** Nothing is stored. `code` is that of the JetStream API. */
  | { readonly kind: 'refused'; readonly code: number; readonly text: string }
  /** No answer: it may be stored now, later or never. */
  | { readonly kind: 'unknown'; readonly cause: unknown };

export interface Message {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly words: HeaderWords;
}

/** A message as the leader of the stream has it. */
export interface StoredMessage {
  readonly subject: string;
  readonly seq: number;
  /** When the engine stored it, by the engine's clock. Milliseconds since the Unix epoch. */
  readonly storedMs: number;
  readonly payload: Buffer;
  readonly headers: ReadonlyMap<string, string>;
}

/** Limit of one request to the engine. Milliseconds. */
const ASK_MS_MAX = 3000;
/**
 * A server that is silent for this long is left. Below the limit of a request, whose timer may end slightly before this clock
 * says so.
 */
const SILENCE_MS_MAX = ASK_MS_MAX - 100;
/** Waits between attempts to connect. Milliseconds. */
const RECONNECT_MS_MIN = 100;
const RECONNECT_MS_MAX = 2000;
/** Answers of the API have a few hundred bytes; lists of subjects, up to a few megabytes. Bytes. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Subjects of one list: a fleet of 5000 routers has some hundred thousand. Also bounded in bytes, as an answer is. */
const SUBJECTS_MAX = 1_000_000;
/** Logs of one router, its values, or the sinks of a cluster: at most a few hundred, each of which takes a request. */
export const KEYS_MAX = 10_000;
/** Rate assumed for a slow line: unanswered bytes get this time before the server counts as silent. Bytes per millisecond. */
const SLOW_LINE = 500;
const NOT_FOUND = 10_037;
/** "JetStream system temporarily unavailable": the answer of a server that is cut off from the others. */
const NOT_AVAILABLE = 10_008;

export interface Engine {
  readonly servers: Omit<NatsServers, 'who' | 'peer'>;
  readonly cluster: string;
}

export function toEngine({ servers, cluster }: Engine): NatsServers {
  return { ...servers, who: `Cluster ${cluster}`, peer: 'cluster' };
}

/**
 * Keeps one connection to the engine, and reopens it whenever it ends. Leaves a server that answers nothing for some seconds
 * for the next one: it may hang, or be cut off from the others, while its connection stays open.
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
  #left = 0;
  /** When the last answer came, or the connection was opened. Monotonic milliseconds. */
  #answeredMs = 0;
  /** Bytes sent since. */
  #sentBytes = 0;

  /** `onConnected` is called after each successful connection attempt, `onLeft` when an unresponsive server is left. */
  constructor(servers: NatsServers, onConnected: () => void = () => {}, onLeft: () => void = () => {}) {
    this.#servers = servers;
    this.#onConnected = onConnected;
    this.#onLeft = onLeft;
  }

  get clock(): Clock {
    return this.#servers.clock;
  }

  get connection(): NatsConnection | undefined {
    return this.#connection?.isClosed() === false ? this.#connection : undefined;
  }

  get nats(): NatsLibrary | undefined {
    return this.#nats;
  }

  /** Why there is no connection; `undefined` while there is one, and before the first attempt ended. */
  get fault(): NatsError | undefined {
    return this.connection ? undefined : this.#fault;
  }

  open(): void {
    this.#loop ??= this.#keepConnected().catch(() => {});
  }

  async close(): Promise<void> {
    this.#closing.abort(new StoreError('broken', 'The store is closed', { disposition: 'operator' }));
    await this.#connection?.close().catch(() => {});
    await this.#loop;
  }

  /** Resolves with the connection once there is one. Rejects with code `unwritable` after `msMax`. */
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

  async publish({ subject, payload, words }: Message): Promise<PublishAnswer> {
    try {
      // Without a wait if possible: the order of messages is that of the calls.
      const connection = this.connection ?? (await this.ready());
      return toPublishAnswer(await this.#request(connection, subject, payload, toMessageHeaders(words)));
    } catch (cause) {
      return { kind: 'unknown', cause };
    }
  }

  send({ subject, payload, words }: Message): void {
    this.#sentBytes += payload.length;
    this.connection?.publish(subject, payload, { headers: toMessageHeaders(words) });
  }

  /** Sends a request to the JetStream API, which the leader answers. Rejects with a {@link StoreError}. */
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
    // As an empty one it would mean that nothing is stored.
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

  /** Lists the subjects with messages that match a filter. Rejects if there are more than `max`. */
  async listSubjects(stream: string, filter: string, max = SUBJECTS_MAX): Promise<readonly string[]> {
    const found: string[] = [];
    let bytes = 0;
    for (;;) {
      // The server returns 100,000 at a time.
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
      if (reply.error?.code === NOT_AVAILABLE) this.#onNoAnswer(connection, sentMs);
      else this.#onAnswer();
      return reply;
    } catch (cause) {
      this.#onNoAnswer(connection, sentMs);
      throw cause;
    }
  }

  #onAnswer(): void {
    this.#answeredMs = this.clock.monotonic();
    this.#sentBytes = 0;
  }

  /** Leaves the server if a request got no answer, and no other one did meanwhile. */
  #onNoAnswer(connection: NatsConnection, sentMs: number): void {
    const silentMs = this.clock.monotonic() - this.#answeredMs;
    const isHeard = this.#answeredMs > sentMs || silentMs < SILENCE_MS_MAX + this.#sentBytes / SLOW_LINE;
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
        const ordered = [...servers.slice(first), ...servers.slice(0, first)];
        this.#connection = await connectToNats(this.#nats, { ...this.#servers, servers: ordered }, signal);
        this.#onAnswer();
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

/** An error answer of the JetStream API. */
export class ApiRefusal extends StoreError {
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

interface Reply {
  readonly bytes: number;
  /** `undefined` if the answer is no JSON object. */
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

/** Converts the answer of a stream; a message inside a batch gets an empty one. */
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
