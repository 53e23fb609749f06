import { setImmediate } from 'node:timers/promises';
import { type Clock, untilAborted } from '../../base/index.ts';
import type { SyslogFacility } from '../../model/index.ts';
import type { BatchBounds, DeliveryReport, PreflightFinding, Refusal, Sink } from '../contracts.ts';
import type { OutgoingRecord } from '../outgoing-record.ts';
import type { SinkTls } from '../tls.ts';
import { DATAGRAM_BYTES_MAX, SyslogDatagrams } from './syslog-datagrams.ts';
import { renderPlace } from './syslog-errors.ts';
import { toFacilityNumber } from './syslog-facility.ts';
import { renderSyslogMessage, type SyslogMessageOptions } from './syslog-message.ts';
import { checkSyslogCollector } from './syslog-preflight.ts';
import { ReplayBuffer } from './syslog-replay.ts';
import { SyslogStream } from './syslog-stream.ts';

export interface SyslogSinkOptions {
  readonly name: string;
  readonly batch: BatchBounds;
  readonly timeoutMs: number;
  /** Name or address, an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'tls' | 'udp';
  /** Of `tls`. */
  readonly tls?: SinkTls | undefined;
  readonly facility: SyslogFacility;
  readonly appName: string;
  /** Longer messages are cut. Bytes; with `udp` 65507 at most. */
  readonly messageBytesMax: number;
  /** How far back messages are sent again when a connection broke. Milliseconds; 0: none are. */
  readonly replayMs: number;
  /** How long a new connection has to last before the first messages on it count as taken. Milliseconds; default 500. */
  readonly graceMs?: number | undefined;
  readonly clock: Clock;
}

/**
 * A collector that accepts a connection may still end it at once, because it does not like the certificate or the
 * address; it says so within a round trip or two. Milliseconds.
 */
const GRACE_MS = 500;
/** For how long the address of a name is used; without a connection nobody says that it has moved. Milliseconds. */
const LOOKUP_MS_MAX = 5 * 60_000;

/**
 * Sends each record as a message of RFC 5424, octet-counted over TCP or TLS, or one per datagram over UDP.
 *
 * Nothing is acknowledged: a record is taken when the system has its bytes. After a connection broke, the messages of
 * the last `replayMs` are sent again over the next one, marked `replayed`, and so are those of an attempt that failed.
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
  /** Records of an attempt that failed: some of them may have arrived. */
  protected attempted: ReadonlySet<string> = new Set();

  constructor(options: SyslogSinkOptions) {
    const { name, batch, timeoutMs, protocol, facility, appName, messageBytesMax } = options;
    this.name = name;
    this.batch = batch;
    this.timeoutMs = timeoutMs;
    this.options = options;
    this.message = {
      facility: toFacilityNumber(facility),
      appName,
      messageBytesMax: protocol === 'udp' ? Math.min(messageBytesMax, DATAGRAM_BYTES_MAX) : messageBytesMax,
    };
  }

  /** Messages of records that are tried now; those that were tried before are marked. */
  protected render(records: readonly OutgoingRecord[]): readonly Buffer[] {
    const { attempted } = this;
    this.attempted = new Set(records.map(({ line }) => line));
    return records.map(({ fields, line }) => renderSyslogMessage(fields, this.message, attempted.has(line)));
  }

  abstract deliver(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<DeliveryReport>;
  abstract close(): Promise<void>;

  async preflight(_fleet: unknown, signal: AbortSignal): Promise<readonly PreflightFinding[]> {
    const { graceMs = GRACE_MS } = this.options;
    return await checkSyslogCollector({ ...this.options, message: this.message, graceMs }, signal);
  }
}

class StreamSink extends SyslogSink {
  readonly #sent: ReplayBuffer;
  #stream: SyslogStream | undefined;
  #isProven = false;

  constructor(options: SyslogSinkOptions) {
    super(options);
    this.#sent = new ReplayBuffer(options.replayMs);
  }

  async deliver(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<DeliveryReport> {
    const { clock, host, port, graceMs = GRACE_MS } = this.options;
    // Whatever the system has heard of the other side comes to light before more is written.
    await setImmediate();
    const { stream, replayed } = await this.#connect(signal);
    const again = replayed.map(({ fields }) => renderSyslogMessage(fields, this.message, true));
    const bytes = await stream.send([...again, ...this.render(records)], signal);
    if (!this.#isProven) {
      if (graceMs > 0) await untilAborted(Promise.race([clock.sleep(graceMs, signal), stream.ended]), signal);
      this.#isProven = true;
    }
    this.attempted = new Set();
    this.#sent.add([...replayed, ...records], clock.monotonic());
    if (replayed.length === 0) return { bytes };
    const place = renderPlace(host, port);
    const warning = `The connection of sink ${this.name} to ${place} had ended: ${replayed.length} messages were sent again, and earlier ones may be lost`;
    return { bytes, warning };
  }

  async close(): Promise<void> {
    const stream = this.#stream;
    this.#stream = undefined;
    this.#sent.clear();
    await stream?.close();
  }

  async #connect(signal: AbortSignal): Promise<{ stream: SyslogStream; replayed: readonly OutgoingRecord[] }> {
    if (this.#stream?.isOpen) return { stream: this.#stream, replayed: [] };
    const { name, host, port, protocol, tls = {}, clock } = this.options;
    // Of a connection that ended in an orderly way just now, or some time ago, it is known how long it worked.
    if (this.#stream?.endedMs !== undefined) this.#sent.forget(this.#stream.endedMs);
    this.#stream = undefined;
    this.#isProven = false;
    const place = { name, host, port, tls: protocol === 'tls' ? tls : undefined };
    this.#stream = await SyslogStream.open({ ...place, clock }, signal);
    return { stream: this.#stream, replayed: this.#sent.records };
  }
}

class DatagramSink extends SyslogSink {
  #datagrams: SyslogDatagrams | undefined;
  #openedMs = 0;

  async deliver(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<DeliveryReport> {
    // Whatever the system has heard of earlier datagrams comes to light before more are sent.
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
    this.attempted = new Set();
    return refused.length > 0 ? { bytes, refused } : { bytes };
  }

  async close(): Promise<void> {
    const datagrams = this.#datagrams;
    this.#datagrams = undefined;
    await datagrams?.close();
  }
}
