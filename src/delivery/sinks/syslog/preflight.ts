import { renderListenAddress } from '../../../settings/index.ts';
import type { SinkConnection } from '../../connection.ts';
import type { PreflightFinding } from '../../contracts.ts';
import { collectFindings, createTestRecord, toFailedFinding } from '../../preflight.ts';
import { renderSyslogMessage, type SyslogMessageOptions } from './message.ts';
import { SyslogDatagrams, SyslogStream } from './transport.ts';

/** The collector that is tried. */
interface Collector extends SinkConnection {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'tls' | 'udp';
  /** Settings of the test message. */
  readonly message: SyslogMessageOptions;
  /** Time in which a collector may close the connection. Milliseconds. */
  readonly graceMs: number;
}

/** Size that receivers should accept (RFC 5424, section 6.1; RFC 5425, section 4.3.1). Bytes. */
const MESSAGE_BYTES_USUAL = 8192;
/** Payload of an Ethernet packet with IPv6. Bytes. */
const DATAGRAM_BYTES_USUAL = 1452;

/** Checks, over a separate connection, whether a collector accepts messages. */
export async function checkSyslogCollector(
  collector: Collector,
  signal: AbortSignal,
): Promise<readonly PreflightFinding[]> {
  const steps = collector.protocol === 'udp' ? tryDatagram(collector, signal) : tryStream(collector, signal);
  const toFailed = (cause: unknown, { length }: readonly unknown[]) => [
    toFailedFinding(length === 0 ? 'connect' : 'test record', cause),
  ];
  return [checkMessageSize(collector), ...(await collectFindings(steps, toFailed, signal))];
}

async function* tryStream(collector: Collector, signal: AbortSignal): AsyncGenerator<PreflightFinding> {
  const { protocol, host, port, tls = {}, message, clock, graceMs } = collector;
  const stream = await SyslogStream.open({ ...collector, tls: protocol === 'tls' ? tls : undefined }, signal);
  try {
    const how = protocol === 'tls' ? ' over TLS, and trusts its certificate' : '';
    yield { step: 'connect', verdict: 'ok', message: `Reached ${renderListenAddress({ host, port })}${how}` };
    await stream.send([renderSyslogMessage(createTestRecord(clock).fields, message)], signal);
    await stream.stayOpen(graceMs, signal);
    const sent =
      'Sent, and the connection stayed open. Syslog has no acknowledgements: check that the collector has it';
    yield { step: 'test record', verdict: 'ok', message: sent };
  } finally {
    await stream.close();
  }
}

async function* tryDatagram(collector: Collector, signal: AbortSignal): AsyncGenerator<PreflightFinding> {
  const { message, host, port, clock, graceMs } = collector;
  const datagrams = await SyslogDatagrams.open(collector, signal);
  try {
    yield { step: 'connect', verdict: 'ok', message: `Found a route to ${renderListenAddress({ host, port })}` };
    await datagrams.send(renderSyslogMessage(createTestRecord(clock).fields, message), signal);
    await clock.sleep(graceMs, signal);
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

function checkMessageSize({ protocol, message: { messageBytesMax } }: Collector): PreflightFinding {
  const usual = protocol === 'udp' ? DATAGRAM_BYTES_USUAL : MESSAGE_BYTES_USUAL;
  const step = 'message size';
  if (messageBytesMax <= usual) {
    return { step, verdict: 'ok', message: `Messages of more than ${messageBytesMax} bytes are truncated` };
  }
  const risk =
    protocol === 'udp' ? 'a datagram is fragmented, and lost with any fragment' : 'a collector may truncate them';
  const message = `Messages may have up to ${messageBytesMax} bytes; above ${usual} bytes ${risk}`;
  return { step, verdict: 'warning', message, hint: 'Check the limit of the collector, or lower message_max' };
}
