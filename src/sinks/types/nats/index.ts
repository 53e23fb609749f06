import { renderDuration, renderErrorChain, untilAborted } from '../../../base/index.ts';
import {
  checkNatsServers,
  connectToNats,
  loadNatsLibrary,
  NatsError,
  type NatsLibrary,
  natsServersShape,
  toClientAuth,
} from '../../../net/index.ts';
import { checked, revealTls } from '../../../settings/index.ts';
import type { DeliveryError, DeliveryReport, Destination, PreflightFinding } from '../../contracts.ts';
import type { OutgoingRecord } from '../../outgoing-record.ts';
import { toFailedFinding } from '../../preflight.ts';
import {
  batch,
  defineSink,
  format,
  type SettingsOf,
  type SinkSurroundings,
  sinkSchema,
  timeout,
} from '../define-sink.ts';
import { StreamBatches } from './batches.ts';
import { checkNatsStream } from './preflight.ts';
import {
  DUPLICATE_WINDOW_MS,
  NatsMessage,
  NatsPublisher,
  type PublishOutcome,
  publishBySubject,
  toDeliveryError,
} from './publish.ts';

/** Leaves space for site, router and component within the limit of servers. */
const SUBJECT_CHARS_MAX = 128;
/** Limit of NATS. */
const STREAM_CHARS_MAX = 255;
const { servers: serversKey, tls, ...accountKeys } = natsServersShape;

const schema = sinkSchema('nats', 'NATS JetStream. The uid of a record is the id of its message.', {
  servers: serversKey,
  subject: checked(
    {
      description: 'Prefix of the subjects, followed by site, router and component: `logs.munich.plant-7.network`.',
      kind: 'subject',
    },
    'the first part of a subject: letters, digits, "_" and "-", with dots between',
    SUBJECT_CHARS_MAX,
    (value) => /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(value),
  ).prefault('logs'),
  stream: checked(
    {
      description: 'Stream that stores the records. It is not created; the preflight checks that it exists.',
      kind: 'name',
    },
    'the name of a stream: no blanks, dots, slashes, "*" and ">"',
    STREAM_CHARS_MAX,
    (value) => /^[^\s\p{Cc}.*>/\\]+$/u.test(value),
  ).optional(),
  ...accountKeys,
  timeout,
  tls,
  format: format(['native', 'ecs', 'otel']),
  batch: batch({ recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 0 }),
});

/**
 * Publishes records to JetStream and waits for the acknowledgement of the stream: in atomic batches where the stream allows
 * them, otherwise one record of each log at a time. The uid is the message id, so a stream stores a record once within its
 * duplicate window. Records of one log keep their order.
 */
export const nats = defineSink({
  schema,
  check: (place, keys) => checkNatsServers(place, keys, { who: 'a sink', kind: 'A sink of type "nats"' }),
  open: (settings, around) => new NatsSink(settings, around),
});

type NatsSettings = SettingsOf<typeof schema>;

/** Limit of an acknowledgement, unless that of the delivery is shorter. Milliseconds. */
const ACK_MS_MAX = 10_000;
/** Share of the delivery's time limit for publishing; the rest is reserved for the report. */
const BUDGET_SHARE = 0.7;
/** Limit for draining a connection. Milliseconds. */
const CLOSE_MS_MAX = 2000;

interface Publishers {
  readonly publisher: NatsPublisher;
  readonly batches: StreamBatches;
}

class NatsSink implements Destination {
  readonly #settings: NatsSettings;
  readonly #around: SinkSurroundings;
  #publishers: Publishers | undefined;
  /** True when the stream has acknowledged records. Until then, a previous process may have published them. */
  #hasAcknowledged = false;
  /** Time of the first delivery with an unknown result since the last acknowledgement. Monotonic milliseconds. */
  #unacknowledgedSinceMs: number | undefined;

  constructor(settings: NatsSettings, around: SinkSurroundings) {
    this.#settings = settings;
    this.#around = around;
  }

  async deliver(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<DeliveryReport> {
    const { subject, format: recordFormat, timeout: timeoutMs } = this.#settings;
    const { clock } = this.#around;
    const startMs = clock.monotonic();
    const library = await loadNatsLibrary();
    const { publisher, batches } = await this.#connect(library, signal);
    const messages = records.map((record) => new NatsMessage(record, subject, recordFormat));
    const isOver = () => signal.aborted || clock.monotonic() - startMs >= timeoutMs * BUDGET_SHARE;
    let outcome: PublishOutcome;
    try {
      // Published one by one, the server reports for each record whether it is a repeat.
      const mayRepeat = !this.#hasAcknowledged || this.#unacknowledgedSinceMs !== undefined;
      const publish = async () =>
        !mayRepeat && (await batches.areAllowed(messages[0]?.subject ?? ''))
          ? await batches.publish(messages, isOver)
          : await publishBySubject(messages, publisher, isOver);
      outcome = await untilAborted(publish(), signal);
    } catch (cause) {
      this.#unacknowledgedSinceMs ??= startMs;
      // The connection itself may hang.
      this.#drop();
      throw cause;
    }
    return await this.#report(outcome, startMs, signal);
  }

  async preflight(_fleet: unknown, signal: AbortSignal): Promise<readonly PreflightFinding[]> {
    const { timeout: timeoutMs } = this.#settings;
    const library = await loadNatsLibrary();
    let publisher: NatsPublisher;
    try {
      publisher = await this.#open(library, timeoutMs, signal);
    } catch (cause) {
      signal.throwIfAborted();
      return [toFailedFinding('connect', cause)];
    }
    try {
      return await checkNatsStream(publisher, signal);
    } finally {
      publisher.connection.close().catch(() => {});
    }
  }

  async close(): Promise<void> {
    const connection = this.#publishers?.publisher.connection;
    this.#publishers = undefined;
    if (!connection || connection.isClosed()) return;
    await Promise.race([connection.drain().catch(() => {}), this.#around.clock.sleep(CLOSE_MS_MAX)]);
    await connection.close();
  }

  async #connect(library: NatsLibrary, signal: AbortSignal): Promise<Publishers> {
    if (this.#publishers && !this.#publishers.publisher.connection.isClosed()) return this.#publishers;
    const { timeout: timeoutMs } = this.#settings;
    const publisher = await this.#open(library, Math.min(ACK_MS_MAX, timeoutMs), signal);
    this.#publishers = { publisher, batches: new StreamBatches(publisher) };
    return this.#publishers;
  }

  /** Connects to the first server that accepts the sink. Throws {@link DeliveryError}. */
  async #open(library: NatsLibrary, ackMsMax: number, signal: AbortSignal): Promise<NatsPublisher> {
    const { name, subject: prefix, servers, stream, credentials_file: credentials, tls: keys } = this.#settings;
    const { clock, onShortHello } = this.#around;
    const account = { servers, auth: toClientAuth(this.#settings), credentials, tls: revealTls(keys) };
    const who = `Sink ${name}`;
    try {
      const connection = await connectToNats(library, { ...account, who, peer: 'sink', clock, onShortHello }, signal);
      return new NatsPublisher(library, connection, { name, prefix, stream, ackMsMax, clock });
    } catch (cause) {
      throw cause instanceof NatsError ? toDeliveryError(library, `${who} could not connect`, cause) : cause;
    }
  }

  #drop(): void {
    const connection = this.#publishers?.publisher.connection;
    this.#publishers = undefined;
    connection?.close().catch(() => {});
  }

  async #report(outcome: PublishOutcome, startMs: number, signal: AbortSignal): Promise<DeliveryReport> {
    const { accepted, duplicates, bytes, refused, failed, failure } = outcome;
    const isResultUnknown = failure?.code === 'timeout' || failure?.code === 'unreachable';
    if (failure?.code === 'timeout') this.#drop();
    if (failure && accepted === 0 && refused.length === 0) {
      if (isResultUnknown) this.#unacknowledgedSinceMs ??= startMs;
      throw failure;
    }
    const warning = await this.#findWindowWarning(outcome, signal);
    if (isResultUnknown) this.#unacknowledgedSinceMs ??= startMs;
    return {
      bytes,
      duplicates,
      refused: refused.map(({ index, error }) => {
        const reason = error.disposition === 'dead-letter' ? error.message : renderErrorChain(error);
        return { index, reason, code: error.answer };
      }),
      retry: failed.length > 0 ? { indexes: failed, ...describeRetry(failure) } : undefined,
      warning,
    };
  }

  /** Returns a warning after an outage longer than the duplicate window of the stream: records may be stored twice. */
  async #findWindowWarning(
    { accepted, stream: name }: PublishOutcome,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (accepted > 0) this.#hasAcknowledged = true;
    const sinceMs = this.#unacknowledgedSinceMs;
    const publisher = this.#publishers?.publisher;
    if (sinceMs === undefined || name === undefined) return undefined;
    this.#unacknowledgedSinceMs = undefined;
    const outageMs = this.#around.clock.monotonic() - sinceMs;
    const stream = publisher && (await untilAborted(publisher.readStream(name), signal).catch(() => undefined));
    const windowMs = stream?.duplicateWindowMs ?? DUPLICATE_WINDOW_MS;
    if (outageMs <= windowMs) return undefined;
    const outage = renderDuration(Math.round(outageMs / 1000) * 1000);
    const window = `${renderDuration(windowMs)}${stream ? '' : ' (assumed)'}`;
    return `Sink ${this.#settings.name} got no acknowledgements for ${outage}, and stream ${name} detects duplicates within ${window}: records in flight may be stored twice`;
  }
}

function describeRetry(failure: DeliveryError | undefined): { reason: string; retryAfterMs?: number } {
  if (failure) return { reason: renderErrorChain(failure) };
  return { reason: 'The time limit of the delivery has passed', retryAfterMs: 0 };
}
