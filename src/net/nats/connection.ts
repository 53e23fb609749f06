import { once } from 'node:events';
import { connect } from 'node:net';
import type { Authenticator, NatsConnection, TlsOptions } from '@nats-io/transport-node';
import {
  DeadlineExceeded,
  decodeObject,
  openDeadline,
  parseJson,
  type Secret,
  untilAborted,
} from '../../base/index.ts';
import type { ClientTls } from '../../settings/index.ts';
import { type ConnectionPlan, groupsFor, type HelloFault, recordShortHello } from '../connect.ts';
import { explainTls, type Peer, readErrorCode } from '../error-codes.ts';
import { type ClientAuth, secretOf } from '../keys.ts';
import { CLASSICAL_GROUPS, toTlsOptions } from '../tls.ts';
import type { NatsLibrary } from './library.ts';
import { NatsError, toNatsError } from './library.ts';

interface NatsGreeting {
  readonly isTlsRequired: boolean;
}

interface NatsAddress {
  readonly host: string;
  readonly port: number;
  readonly peer: Peer;
}

/** Greetings of large clusters have a few thousand bytes. Bytes. */
const GREETING_BYTES_MAX = 64 * 1024;

/**
 * Checks that a NATS server responds: the client library would wait for a silent one for ever and keep its connection. Throws
 * {@link NatsError} `protocol_error` and system errors.
 */
async function peekAtNatsServer({ host, port, peer }: NatsAddress, signal: AbortSignal): Promise<NatsGreeting> {
  const address = { host, port, peer };
  const socket = connect({ host, port });
  try {
    // One listener for the life of the socket: an error without a listener would end the process.
    const ended = Promise.withResolvers<never>();
    ended.promise.catch(() => {});
    socket.on('error', ended.reject).on('close', () => ended.reject(toNotNats(address, 'it closed the connection')));
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
  if (!greeting) throw toNotNats(address, 'it sent no NATS greeting');
  return { isTlsRequired: greeting['tls_required'] === true };
}

function toNotNats({ host, port, peer }: NatsAddress, why: string): NatsError {
  return new NatsError('protocol_error', `The server at ${host}:${port} is not a NATS server: ${why}`, {
    disposition: 'retry',
    hint: `Check the servers of this ${peer}`,
  });
}

/** Servers of a cluster, and how the agent proves who it is. */
export interface NatsServers extends Pick<ConnectionPlan, 'clock' | 'onShortHello'> {
  /** The client in messages, at the start of a sentence: `Sink lake`. */
  readonly who: string;
  readonly peer: Peer;
  /** Addresses `nats://host:port` or `tls://host:port`, tried in this order. */
  readonly servers: readonly string[];
  /** Default: none. */
  readonly auth?: ClientAuth | undefined;
  /** Content of a credentials file, instead of `auth`. */
  readonly credentials?: Secret | undefined;
  readonly tls?: ClientTls | undefined;
}

/** Limit of a connection attempt to one server. Milliseconds. */
const CONNECT_MS_MAX = 10_000;
/** Interval of the library's pings. Milliseconds. */
const PING_MS = 30_000;

/**
 * Connects to the first server that accepts the agent; retries once if rejected credentials have changed meanwhile. Throws
 * the {@link NatsError} of the attempt that got furthest.
 *
 * The library must not reconnect by itself, because it would buffer published messages without a bound. Servers that others
 * announce are ignored: only configured ones are trusted.
 */
export async function connectToNats(
  nats: NatsLibrary,
  options: NatsServers,
  signal: AbortSignal,
  isSecond = false,
): Promise<NatsConnection> {
  let mostUseful: NatsError | undefined;
  for (const server of options.servers) {
    const { auth, credentials = auth && secretOf(auth) } = options;
    const used = credentials?.reveal() ?? '';
    try {
      return await connectToServer(nats, options, server, signal);
    } catch (cause) {
      signal.throwIfAborted();
      const error = toNatsError(nats, `${options.who} could not connect to ${server}`, cause, options.peer);
      if (!isSecond && error.code === 'unauthorized' && (await credentials?.renew(used)) === true) {
        return await connectToNats(nats, options, signal, true);
      }
      // The error of a server that responds is more useful than that of one that does not.
      if (!mostUseful || (mostUseful.code === 'unreachable' && error.code !== 'unreachable')) mostUseful = error;
    }
  }
  throw mostUseful ?? new NatsError('misconfigured', `${options.who} has no servers`, { disposition: 'operator' });
}

async function connectToServer(
  nats: NatsLibrary,
  { auth, credentials, tls = {}, clock, peer, onShortHello }: NatsServers,
  server: string,
  parent: AbortSignal,
): Promise<NatsConnection> {
  const { protocol, hostname, port } = new URL(server);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const place = { host, port: Number(port), clock, onShortHello };
  let isTls = false;
  const attempt = async (groups: string | undefined) => {
    using deadline = openDeadline(clock, CONNECT_MS_MAX, parent);
    const { isTlsRequired } = await peekAtNatsServer({ host, port: Number(port), peer }, deadline.signal);
    isTls = protocol === 'tls:' || isTlsRequired;
    const connecting = nats.connect({
      servers: [server],
      // The system resolves names; certificates are verified against the configured name.
      resolve: false,
      // With `null`, the library does not use TLS that is merely offered, which it could not verify. All options reach the
      // TLS library, whatever the type says.
      tls: isTls ? ({ ...toTlsOptions(tls, host), ecdhCurve: groups } as TlsOptions) : null,
      name: 'router-exporter',
      reconnect: false,
      ignoreClusterUpdates: true,
      timeout: CONNECT_MS_MAX,
      pingInterval: PING_MS,
      // A stack trace per request costs more than the request.
      noAsyncTraces: true,
      ...toCredentials(nats, auth, credentials, peer),
    });
    try {
      return await untilAborted(connecting, deadline.signal);
    } catch (cause) {
      // Close the connection if it is established later.
      connecting.then((connection) => connection.close()).catch(() => {});
      throw cause;
    }
  };
  const groups = groupsFor(place);
  try {
    return await attempt(groups);
  } catch (cause) {
    parent.throwIfAborted();
    const fault = isTls && groups === undefined ? findHelloFault(nats, cause) : undefined;
    if (fault === undefined) throw cause;
    const connection = await attempt(CLASSICAL_GROUPS);
    recordShortHello(place, fault);
    return connection;
  }
}

/** Returns how the TLS handshake of the library failed; `undefined` for other failures. */
function findHelloFault(nats: NatsLibrary, thrown: unknown): HelloFault | undefined {
  if (thrown instanceof DeadlineExceeded || thrown instanceof nats.errors.TimeoutError) return 'silence';
  if (!(thrown instanceof Error)) return undefined;
  if (readErrorCode(thrown) === 'ECONNRESET') return 'reset';
  return explainTls(thrown, 'sink')?.subject === 'handshake' ? 'alert' : findHelloFault(nats, thrown.cause);
}

function toCredentials(nats: NatsLibrary, auth: ClientAuth | undefined, credentials: Secret | undefined, peer: Peer) {
  if (credentials) return { authenticator: readCredentials(nats, credentials, peer) };
  switch (auth?.kind) {
    case 'basic':
      return { user: auth.username, pass: auth.password.reveal() };
    case 'bearer':
      return { token: auth.token.reveal() };
    case 'api-key':
      return { token: auth.key.reveal() };
    case undefined:
      return {};
  }
}

function readCredentials(nats: NatsLibrary, credentials: Secret, peer: Peer): Authenticator {
  // Secrets come without the final line feed; the library needs one after the last block.
  const authenticator = nats.credsAuthenticator(Buffer.from(`${credentials.reveal()}\n`));
  try {
    // The library would fail during the handshake and only report a closed connection.
    authenticator('nonce');
  } catch {
    // The library's error may contain a part of the file.
    throw new NatsError('unauthorized', 'The credentials are not valid', {
      disposition: 'operator',
      hint: `Check credentials_file of this ${peer}: it must contain the JWT and the seed of a user`,
    });
  }
  return authenticator;
}
