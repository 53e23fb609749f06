import { setImmediate } from 'node:timers/promises';
import { renderDuration } from '../../../base/index.ts';
import { SYSLOG_FACILITIES } from '../../../model/index.ts';
import { renderListenAddress } from '../../../settings/index.ts';
import { ConnectionEnd, type SinkConnection } from '../../connection.ts';
import type { BatchBounds, DeliveryReport, PreflightFinding, Refusal, Sink, SinkOptions } from '../../contracts.ts';
import type { OutgoingRecord } from '../../outgoing-record.ts';
import type { SettingsOf } from '../define-sink.ts';
import { renderSyslogMessage, type SyslogMessageOptions } from './message.ts';
import { checkSyslogCollector } from './preflight.ts';
import type { syslogSchema } from './schema.ts';
import { DATAGRAM_BYTES_MAX, SyslogDatagrams, SyslogStream } from './transport.ts';

/** Settings of a sink of type `syslog`. */
interface SyslogSinkOptions
  extends SinkOptions,
    Pick<SettingsOf<typeof syslogSchema>, 'protocol' | 'facility'>,
    SinkConnection {
  /** Host of the collector. */
  readonly host: string;
  readonly port: number;
  readonly appName: string;
  /** Longest message; longer ones are truncated. Bytes. */
  readonly messageBytesMax: number;
  /** Period whose messages are sent again after a broken connection. Milliseconds; none over UDP. */
  readonly replayMs: number;
  /** Time a new connection must last before its first messages count as accepted. Milliseconds; default 500. */
  readonly graceMs?: number | undefined;
}

/**
 * A collector that accepts a connection may still close it within a round trip or two, because it rejects the certificate
 * or the address. Milliseconds.
 */
const GRACE_MS = 500;
/** Time before a name is resolved again: UDP has no connection that would fail when it moves. Milliseconds. */
const LOOKUP_MS_MAX = 5 * 60_000;

/**
 * Creates a sink that sends each record as a message of RFC 5424, octet-counted over TCP or TLS, or one per datagram over
 * UDP.
 *
 * Syslog has no acknowledgements: a record is accepted once the system has its bytes. When a TCP or TLS connection ends,
 * the messages of the last `replayMs` are sent again. Those, and messages of a failed attempt, are marked `replayed`.
 */
export function createSyslogSink(options: SyslogSinkOptions): Sink {
  return options.protocol === 'udp' ? new DatagramSink(options) : new StreamSink(options);
}

abstract class SyslogSink implements Sink {
  readonly name: string;
  readonly batch: BatchBounds;
  readonly timeoutMs: number;
  protected readonly options: SyslogSinkOptions;
  protected readonly message: SyslogMessageOptions;
  /** Uids of the records of failed attempts; some may have arrived. */
  readonly #attempted = new Set<string>();

  constructor(options: SyslogSinkOptions) {
    const { name, batch, timeoutMs, protocol, facility, appName, messageBytesMax } = options;
    this.name = name;
    this.batch = batch;
    this.timeoutMs = timeoutMs;
    this.options = options;
    this.message = {
      facility: SYSLOG_FACILITIES.indexOf(facility),
      appName,
      messageBytesMax: protocol === 'udp' ? Math.min(messageBytesMax, DATAGRAM_BYTES_MAX) : messageBytesMax,
    };
  }

  /** Renders the messages of an attempt; those sent or tried before are marked. */
  protected render(records: readonly OutgoingRecord[], isRepeat = false): readonly Buffer[] {
    const messages = records.map(({ fields }) =>
      renderSyslogMessage(fields, this.message, isRepeat || this.#attempted.has(fields.uid)),
    );
    for (const { fields } of records) this.#attempted.add(fields.uid);
    return messages;
  }

  /** Records that an attempt has succeeded. */
  protected noteDelivered(records: readonly OutgoingRecord[]): void {
    for (const { fields } of records) this.#attempted.delete(fields.uid);
  }

  abstract deliver(
    records: readonly OutgoingRecord[],
    signal: AbortSignal,
    isRepeat?: boolean,
  ): Promise<DeliveryReport>;
  abstract close(): Promise<void>;

  async preflight(_fleet: unknown, signal: AbortSignal): Promise<readonly PreflightFinding[]> {
    const { graceMs = GRACE_MS } = this.options;
    return await checkSyslogCollector({ ...this.options, message: this.message, graceMs }, signal);
  }
}

class StreamSink extends SyslogSink {
  readonly connection: ConnectionEnd | undefined;
  #stream: SyslogStream | undefined;
  #isProven = false;
  #hasEnded = false;

  constructor(options: SyslogSinkOptions) {
    super(options);
    this.connection = options.replayMs > 0 ? new ConnectionEnd() : undefined;
  }

  async deliver(records: readonly OutgoingRecord[], signal: AbortSignal, isRepeat = false): Promise<DeliveryReport> {
    const { host, port, replayMs, graceMs = GRACE_MS } = this.options;
    // Process pending socket events before writing more.
    if (!this.connection) await setImmediate();
    const stream = await this.#connect(signal);
    const bytes = await stream.send(this.render(records, isRepeat), signal);
    if (!this.#isProven) {
      if (graceMs > 0) await stream.stayOpen(graceMs, signal);
      this.#isProven = true;
    }
    this.noteDelivered(records);
    if (!this.#hasEnded) return { bytes };
    this.#hasEnded = false;
    const place = renderListenAddress({ host, port });
    const warning = `Sink ${this.name} lost its connection to ${place}: messages of the last ${renderDuration(replayMs)} are sent again, earlier ones may be lost`;
    return { bytes, warning };
  }

  async close(): Promise<void> {
    const stream = this.#stream;
    this.#stream = undefined;
    await stream?.close();
  }

  async #connect(signal: AbortSignal): Promise<SyslogStream> {
    if (this.#stream?.isOpen) return this.#stream;
    const { name, host, port, protocol, tls = {}, clock, onShortHello } = this.options;
    if (this.#stream && this.#isProven && this.connection) this.#hasEnded = true;
    this.#stream = undefined;
    this.#isProven = false;
    const place = { name, host, port, tls: protocol === 'tls' ? tls : undefined };
    const stream = await SyslogStream.open({ ...place, clock, onShortHello }, signal);
    stream.ended.catch(() => this.connection?.record(stream.endedMs));
    this.#stream = stream;
    return stream;
  }
}

class DatagramSink extends SyslogSink {
  #datagrams: SyslogDatagrams | undefined;
  #openedMs = 0;

  async deliver(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<DeliveryReport> {
    // Process pending socket events before sending more.
    await setImmediate();
    const refused: ({ readonly index: number } & Refusal)[] = [];
    let bytes = 0;
    try {
      const nowMs = this.options.clock.monotonic();
      if (nowMs - this.#openedMs >= LOOKUP_MS_MAX) await this.close();
      if (!this.#datagrams) this.#openedMs = nowMs;
      this.#datagrams ??= await SyslogDatagrams.open(this.options, signal);
      for (const [index, message] of this.render(records).entries()) {
        if ((await this.#datagrams.send(message, signal)) === 'sent') bytes += message.length;
        else refused.push({ index, code: 'EMSGSIZE', reason: `A datagram of ${message.length} bytes is too large` });
      }
    } catch (cause) {
      await this.close();
      throw cause;
    }
    this.noteDelivered(records);
    return refused.length > 0 ? { bytes, refused } : { bytes };
  }

  async close(): Promise<void> {
    const datagrams = this.#datagrams;
    this.#datagrams = undefined;
    await datagrams?.close();
  }
}
