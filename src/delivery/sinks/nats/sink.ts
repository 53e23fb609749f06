import { renderDuration, renderErrorChain, untilAborted } from '../../../base/index.ts';
import { loadNatsLibrary, type NatsLibrary } from '../../../net/index.ts';
import type { BatchBounds, DeliveryReport, PreflightFinding, Sink, SinkOptions } from '../../contracts.ts';
import type { DeliveryError } from '../../errors.ts';
import type { OutgoingRecord } from '../../outgoing-record.ts';
import type { SettingsOf } from '../define-sink.ts';
import { StreamBatches } from './batches.ts';
import { checkNatsStream } from './preflight.ts';
import { NatsMessage, NatsPublisher, type PublishOutcome, publishBySubject } from './publish.ts';
import type { natsSchema } from './schema.ts';
import { connectSink, DUPLICATE_WINDOW_MS, readStream, type SinkServers } from './stream.ts';

/** Settings of a sink of type `nats`. Default format: `native`. */
type NatsSinkOptions = SinkServers & SinkOptions & Pick<SettingsOf<typeof natsSchema>, 'subject' | 'stream'>;

/** Time limit of an acknowledgement, unless that of the delivery is shorter. Milliseconds. */
const ACK_MS_MAX = 10_000;
/** Share of the delivery's time limit for publishing; the rest is reserved for the report. */
const BUDGET_SHARE = 0.7;
/** Time limit for draining a connection. Milliseconds. */
const CLOSE_MS_MAX = 2000;

/**
 * Creates a sink that publishes records to JetStream and waits for the acknowledgement of the stream: in atomic batches
 * where the stream allows them, else one record of each log at a time. The uid is the message id, so a stream
 * stores a record once within its duplicate window. Records of one log keep their order.
 */
export function createNatsSink(options: NatsSinkOptions): Sink {
  return new NatsSink(options);
}

/** What publishes over one connection. */
interface Ways {
  readonly publisher: NatsPublisher;
  readonly batches: StreamBatches;
}

class NatsSink implements Sink {
  readonly name: string;
  readonly batch: BatchBounds;
  readonly timeoutMs: number;
  readonly #options: NatsSinkOptions;
  #ways: Ways | undefined;
  /** True when the stream has acknowledged records. Until then, a process before this one may have published them. */
  #hasAcknowledged = false;
  /** Time of the first delivery with an unknown result since the last acknowledgement. Monotonic milliseconds. */
  #unacknowledgedSinceMs: number | undefined;

  constructor(options: NatsSinkOptions) {
    const { name, batch, timeoutMs } = options;
    this.name = name;
    this.batch = batch;
    this.timeoutMs = timeoutMs;
    this.#options = options;
  }

  async deliver(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<DeliveryReport> {
    const { clock, subject, format = 'native' } = this.#options;
    const startMs = clock.monotonic();
    const nats = await loadNatsLibrary();
    const { publisher, batches } = await this.#connect(nats, signal);
    const messages = records.map((record) => new NatsMessage(record, subject, format));
    const isOver = () => signal.aborted || clock.monotonic() - startMs >= this.timeoutMs * BUDGET_SHARE;
    let outcome: PublishOutcome;
    try {
      // One by one, the server says of each record whether it is a repeat.
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
    return await this.#report(outcome, nats, startMs, signal);
  }

  async preflight(_fleet: unknown, signal: AbortSignal): Promise<readonly PreflightFinding[]> {
    return await checkNatsStream(await loadNatsLibrary(), this.#options, signal);
  }

  async close(): Promise<void> {
    const connection = this.#ways?.publisher.connection;
    this.#ways = undefined;
    if (!connection || connection.isClosed()) return;
    await Promise.race([connection.drain().catch(() => {}), this.#options.clock.sleep(CLOSE_MS_MAX)]);
    await connection.close();
  }

  async #connect(nats: NatsLibrary, signal: AbortSignal): Promise<Ways> {
    if (this.#ways && !this.#ways.publisher.connection.isClosed()) return this.#ways;
    const { name, stream, clock } = this.#options;
    const connection = await connectSink(nats, this.#options, signal);
    const ackMsMax = Math.min(ACK_MS_MAX, this.timeoutMs);
    const publisher = new NatsPublisher(nats, connection, { name, stream, ackMsMax, clock });
    this.#ways = { publisher, batches: new StreamBatches(nats, publisher, this.#options) };
    return this.#ways;
  }

  #drop(): void {
    const connection = this.#ways?.publisher.connection;
    this.#ways = undefined;
    connection?.close().catch(() => {});
  }

  async #report(
    outcome: PublishOutcome,
    nats: NatsLibrary,
    startMs: number,
    signal: AbortSignal,
  ): Promise<DeliveryReport> {
    const { accepted, duplicates, bytes, refused, failed, failure } = outcome;
    const isDoubtful = failure?.code === 'timeout' || failure?.code === 'unreachable';
    if (failure?.code === 'timeout') this.#drop();
    if (failure && accepted === 0 && refused.length === 0) {
      if (isDoubtful) this.#unacknowledgedSinceMs ??= startMs;
      throw failure;
    }
    const warning = await this.#findWindowWarning(outcome, nats, signal);
    if (isDoubtful) this.#unacknowledgedSinceMs ??= startMs;
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
    nats: NatsLibrary,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (accepted > 0) this.#hasAcknowledged = true;
    const sinceMs = this.#unacknowledgedSinceMs;
    const publisher = this.#ways?.publisher;
    if (sinceMs === undefined || name === undefined) return undefined;
    this.#unacknowledgedSinceMs = undefined;
    const outageMs = this.#options.clock.monotonic() - sinceMs;
    const stream =
      publisher && (await untilAborted(readStream(nats, publisher.connection, name), signal).catch(() => undefined));
    const windowMs = stream?.duplicateWindowMs ?? DUPLICATE_WINDOW_MS;
    if (outageMs <= windowMs) return undefined;
    const outage = renderDuration(Math.round(outageMs / 1000) * 1000);
    const window = `${renderDuration(windowMs)}${stream ? '' : ' (assumed)'}`;
    return `Sink ${this.name} got no acknowledgements for ${outage}, and stream ${name} detects duplicates within ${window}: records in flight may be stored twice`;
  }
}

function describeRetry(failure: DeliveryError | undefined): { reason: string; retryAfterMs?: number } {
  if (failure) return { reason: renderErrorChain(failure) };
  return { reason: 'The time limit of the delivery has passed', retryAfterMs: 0 };
}
