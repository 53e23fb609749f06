import { setImmediate } from 'node:timers/promises';
import { renderDuration } from '../../../base/index.ts';
import { SYSLOG_FACILITIES } from '../../../model/index.ts';
import { checkTls, hostAndPort, tls } from '../../../net/index.ts';
import {
  byteSizeWithin,
  checked,
  choice,
  isToken,
  type Place,
  renderListenAddress,
  revealTls,
  type SoundOf,
} from '../../../settings/index.ts';
import { ConnectionEnd } from '../../connections.ts';
import type { DeliveryReport, Destination, PreflightFinding, Refusal } from '../../contracts.ts';
import type { OutgoingRecord } from '../../outgoing-record.ts';
import { collectFindings, createTestRecord, toFailedFinding } from '../../preflight.ts';
import {
  batch,
  defineSink,
  format,
  replay,
  type SettingsOf,
  type SinkSurroundings,
  sinkSchema,
  timeout,
} from '../define-sink.ts';
import { renderSyslogMessage } from './message.ts';
import { DATAGRAM_BYTES_MAX, SyslogDatagrams, SyslogStream } from './transport.ts';

/** Size that every collector must accept (RFC 5424 section 6.1). */
const MESSAGE_BYTES_LEAST = 480;
const MESSAGE_BYTES_MOST = 1024 ** 2;
/** Limit of RFC 5424 section 6. */
const APP_NAME_CHARS_MAX = 48;

const schema = sinkSchema(
  'syslog',
  'A syslog collector (RFC 5424). Syslog has no acknowledgements, so messages in flight may be lost when a connection breaks.',
  {
    address: hostAndPort({ description: 'Host and port of the collector.' }),
    protocol: choice({ description: 'Transport of the messages.' }, ['tcp', 'tls', 'udp']).prefault('tcp'),
    facility: choice({ description: 'Facility of the messages.' }, SYSLOG_FACILITIES).prefault('local0'),
    app_name: checked(
      { description: 'APP-NAME of the messages.', kind: 'name' },
      'a name of printable ASCII characters without blanks',
      APP_NAME_CHARS_MAX,
      isToken,
    ).prefault('router-exporter'),
    // Common collectors accept it; the recommended minimum is 2048 bytes (RFC 5424 section 6.1).
    message_max: byteSizeWithin(
      { description: 'Maximum size of a message; longer ones are truncated. `udp` carries at most 65507 bytes.' },
      MESSAGE_BYTES_LEAST,
      MESSAGE_BYTES_MOST,
      '8KiB',
    ).prefault('8KiB'),
    // Covers the messages that may be in flight when a connection breaks.
    replay: replay(
      '5s',
      'Messages of this last period are sent again from the spool after a broken connection or a restart of the agent, because it is unknown whether they arrived. 0 = none. With `udp`, nothing is sent again.',
    ),
    timeout,
    tls,
    format: format(['native']),
    // Messages are not acknowledged in batches.
    batch: batch({ recordsMax: 500, bytesMax: 256 * 1024, waitMs: 0 }),
  },
);

/**
 * Sends each record as a message of RFC 5424, octet-counted over TCP or TLS, or one per datagram over UDP.
 *
 * Syslog has no acknowledgements: a record is accepted once the system has its bytes. When a TCP or TLS connection ends, the
 * messages of the last `replay` are sent again. Those, and messages of a failed attempt, are marked `replayed`.
 */
export const syslog = defineSink({
  schema,
  check: checkSyslog,
  open: (settings, around) =>
    settings.protocol === 'udp' ? new DatagramSink(settings, around) : new StreamSink(settings, around),
});

type SyslogSettings = SettingsOf<typeof schema>;

function checkSyslog(place: Place, { protocol, message_max, tls: section }: SoundOf<typeof schema>): void {
  const { file, path } = place;
  if (protocol === 'udp' && (message_max ?? 0) > DATAGRAM_BYTES_MAX) {
    const message = `A datagram of "protocol: udp" has at most ${DATAGRAM_BYTES_MAX} bytes`;
    file.faults.add([...path, 'message_max'], message);
  }
  const isDefault = file.source.valueAt([...path, 'protocol']) === undefined;
  // An invalid protocol may have been meant as TLS.
  const isPlain = protocol !== undefined && protocol !== 'tls';
  checkTls(place, section, isPlain ? `"protocol" is "${protocol}"${isDefault ? ' by default' : ''}` : undefined);
}

/**
 * A collector that accepts a connection may still close it within a round trip or two, because it rejects the certificate or
 * the address. Milliseconds.
 */
const GRACE_MS = 500;
/** Time before a name is resolved again: UDP has no connection that would fail when it moves. Milliseconds. */
const LOOKUP_MS_MAX = 5 * 60_000;
/** Size that receivers should accept (RFC 5424, section 6.1; RFC 5425, section 4.3.1). Bytes. */
const MESSAGE_BYTES_RECOMMENDED = 8192;
/** Payload of an Ethernet packet with IPv6. Bytes. */
const DATAGRAM_BYTES_UNFRAGMENTED = 1452;

abstract class SyslogSink implements Destination {
  protected readonly settings: SyslogSettings;
  protected readonly around: SinkSurroundings;
  protected readonly place: string;
  protected readonly message: Parameters<typeof renderSyslogMessage>[1];
  readonly #attempted = new Set<string>();

  constructor(settings: SyslogSettings, around: SinkSurroundings) {
    const { address, protocol, facility, app_name: appName, message_max: bytesMax } = settings;
    this.settings = settings;
    this.around = around;
    this.place = renderListenAddress(address);
    this.message = {
      facility: SYSLOG_FACILITIES.indexOf(facility),
      appName,
      messageBytesMax: protocol === 'udp' ? Math.min(bytesMax, DATAGRAM_BYTES_MAX) : bytesMax,
    };
  }

  abstract deliver(
    records: readonly OutgoingRecord[],
    signal: AbortSignal,
    isRepeat?: boolean,
  ): Promise<DeliveryReport>;
  abstract close(): Promise<void>;
  protected abstract sendTest(message: Buffer, signal: AbortSignal): AsyncGenerator<PreflightFinding>;

  async preflight(_fleet: unknown, signal: AbortSignal): Promise<readonly PreflightFinding[]> {
    const message = renderSyslogMessage(createTestRecord(this.around.clock).fields, this.message);
    const toFailed = (cause: unknown, { length }: readonly unknown[]) => [
      toFailedFinding(length === 0 ? 'connect' : 'test record', cause),
    ];
    return [this.#checkMessageSize(), ...(await collectFindings(this.sendTest(message, signal), toFailed, signal))];
  }

  #checkMessageSize(): PreflightFinding {
    const { messageBytesMax } = this.message;
    const isUdp = this.settings.protocol === 'udp';
    const recommended = isUdp ? DATAGRAM_BYTES_UNFRAGMENTED : MESSAGE_BYTES_RECOMMENDED;
    const step = 'message size';
    if (messageBytesMax <= recommended) {
      return { step, verdict: 'ok', message: `Messages of more than ${messageBytesMax} bytes are truncated` };
    }
    const risk = isUdp ? 'a datagram is fragmented, and lost with any fragment' : 'a collector may truncate them';
    const message = `Messages may have up to ${messageBytesMax} bytes; above ${recommended} bytes ${risk}`;
    return { step, verdict: 'warning', message, hint: 'Check the limit of the collector, or lower message_max' };
  }

  protected render(records: readonly OutgoingRecord[], isRepeat = false): readonly Buffer[] {
    const messages = records.map(({ fields }) =>
      renderSyslogMessage(fields, this.message, isRepeat || this.#attempted.has(fields.uid)),
    );
    for (const { fields } of records) this.#attempted.add(fields.uid);
    return messages;
  }

  protected recordDelivered(records: readonly OutgoingRecord[]): void {
    for (const { fields } of records) this.#attempted.delete(fields.uid);
  }
}

class StreamSink extends SyslogSink {
  readonly connection = this.settings.replay > 0 ? new ConnectionEnd() : undefined;
  #stream: SyslogStream | undefined;
  #isProven = false;
  #hasEnded = false;

  async deliver(records: readonly OutgoingRecord[], signal: AbortSignal, isRepeat = false): Promise<DeliveryReport> {
    // Process pending socket events before writing more.
    if (!this.connection) await setImmediate();
    const stream = await this.#connect(signal);
    const bytes = await stream.send(this.render(records, isRepeat), signal);
    if (!this.#isProven) await stream.stayOpen(GRACE_MS, signal);
    this.#isProven = true;
    this.recordDelivered(records);
    if (!this.#hasEnded) return { bytes };
    this.#hasEnded = false;
    const { name, replay: replayMs } = this.settings;
    const warning = `Sink ${name} lost its connection to ${this.place}: messages of the last ${renderDuration(replayMs)} are sent again, earlier ones may be lost`;
    return { bytes, warning };
  }

  async close(): Promise<void> {
    const stream = this.#stream;
    this.#stream = undefined;
    await stream?.close();
  }

  protected async *sendTest(message: Buffer, signal: AbortSignal): AsyncGenerator<PreflightFinding> {
    const stream = await this.#open(signal);
    try {
      const how = this.settings.protocol === 'tls' ? ' over TLS, and trusts its certificate' : '';
      yield { step: 'connect', verdict: 'ok', message: `Reached ${this.place}${how}` };
      await stream.send([message], signal);
      await stream.stayOpen(GRACE_MS, signal);
      const sent =
        'Sent, and the connection stayed open. Syslog has no acknowledgements: check that the collector has it';
      yield { step: 'test record', verdict: 'ok', message: sent };
    } finally {
      await stream.close();
    }
  }

  async #connect(signal: AbortSignal): Promise<SyslogStream> {
    if (this.#stream?.isOpen) return this.#stream;
    if (this.#stream && this.#isProven && this.connection) this.#hasEnded = true;
    this.#stream = undefined;
    this.#isProven = false;
    const stream = await this.#open(signal);
    stream.ended.catch(() => this.connection?.record(stream.endedMs));
    this.#stream = stream;
    return stream;
  }

  async #open(signal: AbortSignal): Promise<SyslogStream> {
    const { name, address, protocol, tls: keys } = this.settings;
    const { clock, onShortHello } = this.around;
    const secured = protocol === 'tls' ? revealTls(keys) : undefined;
    return await SyslogStream.open({ name, ...address, tls: secured, clock, onShortHello }, signal);
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
      const nowMs = this.around.clock.monotonic();
      if (nowMs - this.#openedMs >= LOOKUP_MS_MAX) await this.close();
      if (!this.#datagrams) this.#openedMs = nowMs;
      this.#datagrams ??= await this.#open(signal);
      for (const [index, message] of this.render(records).entries()) {
        if ((await this.#datagrams.send(message, signal)) === 'sent') bytes += message.length;
        else refused.push({ index, code: 'EMSGSIZE', reason: `A datagram of ${message.length} bytes is too large` });
      }
    } catch (cause) {
      await this.close();
      throw cause;
    }
    this.recordDelivered(records);
    return refused.length > 0 ? { bytes, refused } : { bytes };
  }

  async close(): Promise<void> {
    const datagrams = this.#datagrams;
    this.#datagrams = undefined;
    await datagrams?.close();
  }

  protected async *sendTest(message: Buffer, signal: AbortSignal): AsyncGenerator<PreflightFinding> {
    const datagrams = await this.#open(signal);
    try {
      yield { step: 'connect', verdict: 'ok', message: `Found a route to ${this.place}` };
      await datagrams.send(message, signal);
      await this.around.clock.sleep(GRACE_MS, signal);
      datagrams.throwIfFaulty();
      yield {
        step: 'test record',
        verdict: 'warning',
        message: 'Sent without an error. UDP does not confirm arrival: check that the collector has it',
        hint: 'Use the protocol tcp or tls if the collector supports it',
      };
    } finally {
      await datagrams.close();
    }
  }

  async #open(signal: AbortSignal): Promise<SyslogDatagrams> {
    const { name, address } = this.settings;
    return await SyslogDatagrams.open({ name, ...address }, signal);
  }
}
