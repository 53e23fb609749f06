import type { NatsConnection } from '@nats-io/transport-node';
import { type Clock, CodedError, openDeadline, untilAborted } from '../base/index.ts';
import {
  connectToNats,
  findFormatFault,
  loadNatsLibrary,
  NatsError,
  type NatsLibrary,
  type NatsServers,
  STREAM_METADATA,
  toClientAuth,
  toNatsError,
} from '../net/index.ts';
import { revealTls } from '../settings/index.ts';
import type { ClusterSettings } from './settings.ts';
import { type BucketEntry, ClusterView } from './view.ts';

/** Limit of one attempt to reach the engine, and of each request. Milliseconds. */
export const ATTEMPT_MS_MAX = 5000;

export function toNatsServers(settings: ClusterSettings, clock: Clock): NatsServers {
  const { servers, credentials_file: credentials } = settings;
  const auth = toClientAuth(settings);
  return { who: 'The cluster', peer: 'cluster', servers, auth, credentials, tls: revealTls(settings.tls), clock };
}

export async function withBucket<T>(
  settings: ClusterSettings,
  clock: Clock,
  signal: AbortSignal,
  work: (bucket: Bucket) => Promise<T>,
): Promise<T> {
  const nats = await loadNatsLibrary();
  const connection = await connectToNats(nats, toNatsServers(settings, clock), signal);
  try {
    const bucket = new Bucket({ nats, connection, cluster: settings.name, requestMsMax: ATTEMPT_MS_MAX });
    return await untilAborted(work(bucket), signal);
  } finally {
    await connection.close();
  }
}

export async function readView(bucket: Bucket, clock: Clock, signal: AbortSignal): Promise<ClusterView> {
  const view = new ClusterView();
  const lastSeq = await bucket.readLastSequence();
  if (lastSeq === 0) return view;
  const complete = new AbortController();
  // The last entry may end meanwhile, and would never arrive.
  using limit = openDeadline(clock, ATTEMPT_MS_MAX, AbortSignal.any([signal, complete.signal]));
  const watching = bucket.watch((entry) => {
    view.apply(entry);
    if (entry.seq >= lastSeq) complete.abort();
  }, limit.signal);
  await watching.catch((cause: unknown) => {
    if (!limit.signal.aborted || signal.aborted) throw cause;
  });
  return view;
}

interface BucketOptions {
  readonly nats: NatsLibrary;
  readonly connection: NatsConnection;
  readonly cluster: string;
  readonly requestMsMax: number;
}

interface PutOptions {
  /** Sequence that the key must have; 0: none. Default: any. */
  readonly expected?: number | undefined;
  /** The key ends after this time. Whole seconds; default: never. */
  readonly ttlMs?: number | undefined;
}

/** No replica sends so long a value. Bytes. */
const VALUE_BYTES_MAX = 4 * 1024 * 1024;
/** Time for which the engine keeps the marker of an ended key, for watchers that were away. */
const MARKER_NANOSECONDS = 3600 * 1e9;
const WRONG_SEQUENCE = 10_071;
const STREAM_NOT_FOUND = 10_059;
const NO_MESSAGE = 10_037;
const MARKER_HEADER = 'Nats-Marker-Reason';
const EXPIRED = 'MaxAge';
/** The consumer ends if the engine is silent for twice as long. Milliseconds. */
const HEARTBEAT_MS = 5000;

const REQUIRED = {
  max_msgs_per_subject: 1,
  allow_msg_ttl: true,
  allow_rollup_hdrs: true,
  discard: 'new',
  retention: 'limits',
  max_age: 0,
  max_msgs: -1,
} as const;

function toBucketStream(cluster: string): string {
  return `KV_rx_${cluster}`;
}

/**
 * The key-value bucket of a cluster. It uses the stream of the bucket directly: the library's own `update` would drop the
 * time to live, and such a lease would never end.
 */
export class Bucket {
  readonly #options: BucketOptions;
  readonly #prefix: string;
  readonly #stream: string;
  readonly #jetstream: ReturnType<NatsLibrary['jetstream']>;

  constructor(options: BucketOptions) {
    this.#options = options;
    this.#stream = toBucketStream(options.cluster);
    this.#prefix = `$KV.rx_${options.cluster}.`;
    this.#jetstream = options.nats.jetstream(options.connection, { timeout: options.requestMsMax });
  }

  get stream(): string {
    return this.#stream;
  }

  /**
   * Creates the bucket with `replicas` copies, if it is missing. Returns true if it did. Throws {@link ClusterError}
   * `different`.
   */
  async init(replicas: number): Promise<boolean> {
    const manager = await this.#jetstream.jetstreamManager(false);
    try {
      await this.check();
      return false;
    } catch (cause) {
      if (!(cause instanceof ClusterError) || cause.code !== 'absent') throw cause;
    }
    await this.#attempt('create the bucket', () =>
      manager.streams.add({
        name: this.#stream,
        subjects: [`${this.#prefix}>`],
        description: 'Members of a cluster of router-exporter, and the owners of its routers',
        ...REQUIRED,
        metadata: STREAM_METADATA,
        subject_delete_marker_ttl: MARKER_NANOSECONDS,
        allow_direct: true,
        deny_delete: true,
        num_replicas: replicas,
        max_msg_size: VALUE_BYTES_MAX,
      }),
    );
    return true;
  }

  /** Throws {@link ClusterError} `absent`, `format` or `different` unless the bucket has the required settings. */
  async check(): Promise<void> {
    const manager = await this.#jetstream.jetstreamManager(false);
    let config: object;
    try {
      ({ config } = await this.#attempt('look at the bucket', () => manager.streams.info(this.#stream)));
    } catch (cause) {
      if (!(cause instanceof NatsError) || cause.apiCode !== STREAM_NOT_FOUND) throw cause;
      throw new ClusterError('absent', `The bucket of the cluster "${this.#options.cluster}" does not exist`, {
        disposition: 'operator',
        hint: 'Create it with router-exporter cluster init',
      });
    }
    const otherFormat = findFormatFault(this.#stream, config);
    if (otherFormat) {
      const { message, hint } = otherFormat;
      throw new ClusterError('format', message, { disposition: 'operator', hint });
    }
    const wrong = Object.entries(REQUIRED).find(([key, value]) => Reflect.get(config, key) !== value);
    const markerNanoseconds: unknown = Reflect.get(config, 'subject_delete_marker_ttl');
    const [key, value] = wrong ?? ['subject_delete_marker_ttl', 'more than 0'];
    if (!wrong && typeof markerNanoseconds === 'number' && markerNanoseconds > 0) return;
    throw new ClusterError('different', `The stream ${this.#stream} must have ${key}: ${value}`, {
      disposition: 'operator',
      hint: 'Remove it and create it again with router-exporter cluster init',
    });
  }

  async put(key: string, value: string | Uint8Array, { expected, ttlMs }: PutOptions = {}): Promise<number> {
    try {
      const { seq } = await this.#attempt(`write ${key}`, () =>
        this.#jetstream.publish(`${this.#prefix}${key}`, value, {
          timeout: this.#options.requestMsMax,
          retries: 0,
          ...(ttlMs !== undefined && { ttl: `${Math.ceil(ttlMs / 1000)}s` }),
          expect: {
            streamName: this.#stream,
            ...(expected !== undefined && { lastSubjectSequence: expected }),
          },
        }),
      );
      return seq;
    } catch (cause) {
      if (!(cause instanceof NatsError) || cause.apiCode !== WRONG_SEQUENCE) throw cause;
      throw new ClusterError('outdated', `Another process has written ${key}`, { disposition: 'retry' });
    }
  }

  /** Ends a key, leaving a marker for watchers. With a time to live, the marker ends, too. */
  async remove(key: string, options?: PutOptions): Promise<void> {
    await this.put(key, '', options);
  }

  async readLast(key: string): Promise<BucketEntry | undefined> {
    const manager = await this.#jetstream.jetstreamManager(false);
    try {
      const message = await this.#attempt(`read ${key}`, () =>
        manager.streams.getMessage(this.#stream, { last_by_subj: `${this.#prefix}${key}` }),
      );
      if (!message) return undefined;
      const reason = message.header.get(MARKER_HEADER);
      return toEntry(key, message.seq, message.data, reason, message.time.getTime());
    } catch (cause) {
      if (cause instanceof NatsError && cause.apiCode === NO_MESSAGE) return undefined;
      throw cause;
    }
  }

  async readLastSequence(): Promise<number> {
    const manager = await this.#jetstream.jetstreamManager(false);
    const { state } = await this.#attempt('look at the bucket', () => manager.streams.info(this.#stream));
    return state.last_seq;
  }

  /**
   * Reports the last entry of every key in the order of writing, then each new one. Resolves when the connection ends; throws
   * if the engine ends it, or the reason of `signal`.
   */
  async watch(onEntry: (entry: BucketEntry) => void, signal: AbortSignal): Promise<void> {
    const { connection, requestMsMax } = this.#options;
    const consumer = await this.#attempt('watch the bucket', () =>
      this.#jetstream.consumers.get(this.#stream, {
        filter_subjects: [`${this.#prefix}>`],
        deliver_policy: 'last_per_subject',
      }),
    );
    const messages = await this.#attempt('watch the bucket', () =>
      consumer.consume({ idle_heartbeat: HEARTBEAT_MS, expires: Math.max(2 * HEARTBEAT_MS, requestMsMax) }),
    );
    const stop = () => messages.stop();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const read = async () => {
        for await (const { subject, seq, data, headers, timestampNanos } of messages) {
          const storedMs = Number(timestampNanos / 1_000_000n);
          onEntry(toEntry(subject.slice(this.#prefix.length), seq, data, headers?.get(MARKER_HEADER), storedMs));
        }
      };
      await untilAborted(Promise.race([read(), connection.closed()]), signal);
    } finally {
      signal.removeEventListener('abort', stop);
      stop();
    }
  }

  async #attempt<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw toNatsError(this.#options.nats, `The cluster could not ${what}`, cause, 'cluster');
    }
  }
}

function toEntry(
  key: string,
  seq: number,
  data: Uint8Array,
  reason: string | undefined,
  storedMs: number,
): BucketEntry {
  const isUsable = data.length > 0 && data.length <= VALUE_BYTES_MAX;
  return { key, seq, value: isUsable ? data : undefined, isExpired: reason === EXPIRED, storedMs };
}

/**
 * - `absent`: the bucket does not exist.
 * - `different`: the bucket lacks a required setting.
 * - `format`: the bucket has another format, and is left unchanged.
 * - `taken`: another process holds the lease of this replica's name.
 * - `outdated`: another process has changed a key.
 * - `silent`: changes of the bucket do not arrive.
 * - `away`: there is no connection to the engine.
 */
type ClusterFailure = 'absent' | 'different' | 'format' | 'taken' | 'outdated' | 'silent' | 'away';

/** A failure of membership. */
export class ClusterError extends CodedError<ClusterFailure> {
  override readonly name = 'ClusterError';
}
