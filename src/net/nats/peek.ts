import { once } from 'node:events';
import { connect } from 'node:net';
import { decodeObject, parseJson } from '../../base/index.ts';
import type { Peer } from '../tls-failure.ts';
import { NatsError } from './errors.ts';

/** The fields of a server's greeting that are used. */
export interface NatsGreeting {
  /** True when the server requires TLS. */
  readonly isTlsRequired: boolean;
}

/** Address of a server. */
export interface NatsAddress {
  /** Host name or IP address. */
  readonly host: string;
  /** Port of its clients. */
  readonly port: number;
  /** Whose settings a hint names. */
  readonly peer: Peer;
}

/** Maximum size of a greeting. Those of large clusters have a few thousand bytes. Bytes. */
const GREETING_BYTES_MAX = 64 * 1024;

/**
 * Checks that a NATS server responds: the client library would wait for ever for a silent one, and keep its connection.
 * Throws {@link NatsError} `protocol_error` and system errors.
 */
export async function peekAtNatsServer({ host, port, peer }: NatsAddress, signal: AbortSignal): Promise<NatsGreeting> {
  const address = { host, port, peer };
  const socket = connect({ host, port });
  try {
    // One listener for the life of the socket: an error without a listener would end the process.
    const ended = Promise.withResolvers<never>();
    ended.promise.catch(() => {});
    socket.on('error', ended.reject).on('close', () => ended.reject(toSilence(address, 'it closed the connection')));
    signal.addEventListener('abort', () => ended.reject(signal.reason), { once: true });
    signal.throwIfAborted();
    await Promise.race([once(socket, 'connect'), ended.promise]);
    return await Promise.race([readGreeting(socket, address), ended.promise]);
  } finally {
    socket.destroy();
  }
}

async function readGreeting(socket: AsyncIterable<Buffer>, address: NatsAddress): Promise<NatsGreeting> {
  let text = '';
  for await (const chunk of socket) {
    text += chunk.toString('latin1');
    if (text.includes('\n') || text.length > GREETING_BYTES_MAX) break;
  }
  const greeting = decodeObject(parseJson(/^INFO (\{.*\})\s*\r?\n/.exec(text)?.[1] ?? ''));
  if (!greeting) throw toSilence(address, 'it sent no NATS greeting');
  return { isTlsRequired: greeting['tls_required'] === true };
}

function toSilence({ host, port, peer }: NatsAddress, why: string): NatsError {
  return new NatsError('protocol_error', `The server at ${host}:${port} is not a NATS server: ${why}`, {
    disposition: 'retry',
    hint: `Check the servers of this ${peer}`,
  });
}
