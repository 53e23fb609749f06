import type { Authenticator, NatsConnection, TlsOptions } from '@nats-io/transport-node';
import { type Clock, openDeadline, type Secret, untilAborted } from '../../../base/index.ts';
import type { ClientTls } from '../../../settings/index.ts';
import type { SinkAuth } from '../../auth.ts';
import { DeliveryError } from '../../errors.ts';
import { toTlsOptions } from '../../tls.ts';
import { toNatsError } from './errors.ts';
import type { NatsLibrary } from './library.ts';
import { peekAtNatsServer } from './peek.ts';

export interface NatsServers {
  /** Name of the sink. */
  readonly name: string;
  /** `nats://host:port` or `tls://host:port`. They are tried in this order. */
  readonly servers: readonly string[];
  /** Credentials; absent = none. */
  readonly auth?: SinkAuth | undefined;
  /** Content of a credentials file, instead of `auth`. */
  readonly credentials?: Secret | undefined;
  /** Of `tls://`. */
  readonly tls?: ClientTls | undefined;
  /** Source of the current time and of timers. */
  readonly clock: Clock;
}

/** Limit of one attempt to connect to one server. Milliseconds. */
const CONNECT_MS_MAX = 10_000;
/** How often the library asks whether the server is still there. Milliseconds. */
const PING_MS = 30_000;

/**
 * Connects to the first server that takes the agent. Throws the {@link DeliveryError} of the one that came furthest.
 *
 * The library does not reconnect by itself: meanwhile it would gather what is published without a bound. Nor does it go
 * to servers that others name: only those of the configuration are trusted.
 */
export async function connectToNats(
  nats: NatsLibrary,
  options: NatsServers,
  signal: AbortSignal,
): Promise<NatsConnection> {
  let worst: DeliveryError | undefined;
  for (const server of options.servers) {
    try {
      return await connectToServer(nats, options, server, signal);
    } catch (cause) {
      signal.throwIfAborted();
      const error = toNatsError(nats, `Sink ${options.name} could not connect to ${server}`, cause);
      // A server that answers says more than one that does not.
      if (!worst || (worst.code === 'unreachable' && error.code !== 'unreachable')) worst = error;
    }
  }
  throw worst ?? new DeliveryError('misconfigured', `Sink ${options.name} has no servers`, { disposition: 'operator' });
}

async function connectToServer(
  nats: NatsLibrary,
  { auth, credentials, tls = {}, clock }: NatsServers,
  server: string,
  parent: AbortSignal,
): Promise<NatsConnection> {
  const { protocol, hostname, port } = new URL(server);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  using deadline = openDeadline(clock, CONNECT_MS_MAX, parent);
  const { isTlsRequired } = await peekAtNatsServer(host, Number(port), deadline.signal);
  const isTls = protocol === 'tls:' || isTlsRequired;
  const connecting = nats.connect({
    servers: [server],
    // The system looks names up by itself, and certificates are checked against the name as it is configured.
    resolve: false,
    // `null` keeps the library from using TLS that is only offered, without anything to check it by.
    // All of it reaches the TLS library, whatever the type says.
    tls: isTls ? (toTlsOptions(tls, host) as TlsOptions) : null,
    name: 'router-exporter',
    reconnect: false,
    ignoreClusterUpdates: true,
    timeout: CONNECT_MS_MAX,
    pingInterval: PING_MS,
    // Stacks of every request cost more than the request.
    noAsyncTraces: true,
    ...toCredentials(nats, auth, credentials),
  });
  try {
    return await untilAborted(connecting, deadline.signal);
  } catch (cause) {
    // Should it come all the same, nobody waits for it any more.
    connecting.then((connection) => connection.close()).catch(() => {});
    throw cause;
  }
}

function toCredentials(nats: NatsLibrary, auth: SinkAuth | undefined, credentials: Secret | undefined) {
  if (credentials) return { authenticator: readCredentials(nats, credentials) };
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

function readCredentials(nats: NatsLibrary, credentials: Secret): Authenticator {
  const authenticator = nats.credsAuthenticator(Buffer.from(credentials.reveal()));
  try {
    // The library would find out in the middle of a greeting, and only say that the connection is closed.
    authenticator('nonce');
  } catch {
    // What it says may repeat a part of the file.
    throw new DeliveryError('unauthorized', 'The credentials cannot be read', {
      disposition: 'operator',
      hint: 'Check credentials_file of this sink: it has to hold the JWT and the seed of a user',
    });
  }
  return authenticator;
}
