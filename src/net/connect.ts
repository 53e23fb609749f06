import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { callbackify } from 'node:util';
import type { buildConnector } from 'undici';
import { type Clock, openDeadline, type Timer } from '../base/index.ts';
import type { ClientTls } from '../settings/index.ts';
import { KEPT_SOCKET, toAddress } from './http.ts';
import { CLASSICAL_GROUPS, toTlsOptions } from './tls.ts';

/** Where a connection leads, and how it is secured. */
export interface ConnectionPlan {
  /** Host name or IP address. */
  readonly host: string;
  /** TCP port. */
  readonly port: number;
  /** Absent = no TLS. */
  readonly tls?: ClientTls | undefined;
  /** The protocols that are offered over TLS. Default: none. */
  readonly protocols?: string[] | undefined;
  /** Clock for the wait for an answer to the first message of TLS. */
  readonly clock: Clock;
  /** Called with words for the operator once it is known that the other side takes no long first message of TLS. */
  readonly onShortHello?: ((message: string) => void) | undefined;
}

/** How the first message of TLS, the ClientHello, was answered instead of with the server's own. */
export type HelloFault = 'reset' | 'alert' | 'silence';

/** Time for the first byte of an answer to the first message of TLS. Milliseconds. */
const HELLO_MS_MAX = 5000;
/** Of an alert, which is the whole answer of a server that cannot make sense of the first message. */
const ALERT_BYTES = 7;
/** Time for a whole connection. The limits of requests are shorter; this one frees what nobody waits for any more. Milliseconds. */
const CONNECT_MS_MAX = 60_000;

const FAULTS: Readonly<Record<HelloFault, string>> = {
  reset: 'ended the connection at',
  alert: 'answered with an alert to',
  silence: `did not answer within ${HELLO_MS_MAX / 1000} s to`,
};

/** Peers of this process that take no long first message, as `host:port`: no more than the configuration names. */
const shortOnly = new Set<string>();

/**
 * Opens a connection. Some servers, and firewalls in front of them, take no first message of TLS with a post-quantum key: if nothing but
 * an end, an alert or silence comes back, it is tried once more without, and then always. Throws what failed, and the reason of `signal`.
 * The caller checks the fingerprint.
 */
export async function openConnection(plan: ConnectionPlan, signal: AbortSignal): Promise<Socket> {
  const peer = `${plan.host}:${plan.port}`;
  if (!plan.tls || shortOnly.has(peer)) return await attempt(plan, signal, () => {}, CLASSICAL_GROUPS);
  let fault: HelloFault | undefined;
  try {
    return await attempt(plan, signal, (found) => {
      fault ??= found;
    });
  } catch (cause) {
    signal.throwIfAborted();
    if (fault === undefined) throw cause;
  }
  const socket = await attempt(plan, signal, () => {}, CLASSICAL_GROUPS);
  noteShortHello(plan, fault);
  return socket;
}

/** Returns the key exchanges to offer to a server whose connection is not opened here; `undefined` = those of the TLS library. */
export function groupsFor({ host, port }: ConnectionPlan): string | undefined {
  return shortOnly.has(`${host}:${port}`) ? CLASSICAL_GROUPS : undefined;
}

/** Remembers that a server answered to a first message with the {@link CLASSICAL_GROUPS} after `fault`. */
export function noteShortHello({ host, port, onShortHello }: ConnectionPlan, fault: HelloFault): void {
  shortOnly.add(`${host}:${port}`);
  onShortHello?.(
    `What answers at ${host}:${port} ${FAULTS[fault]} a first message of TLS of 1.6 KB, and takes one of 0.4 KB, which has no key of a post-quantum key exchange. The short one is used from now on; a firewall in between may be the cause`,
  );
}

/** `onFault` is called before it fails if the first message of TLS was not answered with the server's own. */
async function attempt(
  { host, port, tls, protocols, clock }: ConnectionPlan,
  signal: AbortSignal,
  onFault: (fault: HelloFault) => void,
  groups?: string,
): Promise<Socket> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  let timer: Timer | undefined;
  const tcp = connectTcp({ host, port, ...KEPT_SOCKET });
  const secure = (trusted: ClientTls) => {
    const socket = connectTls({
      ...toTlsOptions(trusted, host),
      socket: tcp,
      ...(groups !== undefined && { ecdhCurve: groups }),
      ...(protocols && { ALPNProtocols: protocols }),
    });
    timer = clock.setTimer(HELLO_MS_MAX, () => {
      if (groups !== undefined || tcp.bytesRead > 0) return;
      onFault('silence');
      reject(toEnd('The first message of TLS was not answered'));
    });
    const fail = (cause: Error) => {
      if (tcp.bytesRead <= ALERT_BYTES) onFault(tcp.bytesRead === 0 ? 'reset' : 'alert');
      reject(cause);
    };
    // Without a listener, an error would end the process.
    socket.on('error', fail).once('close', () => fail(toEnd('The connection ended during the TLS handshake')));
    socket.once('secureConnect', () => resolve(socket));
  };
  tcp.on('error', reject).once('connect', () => {
    if (!tls) return resolve(tcp);
    try {
      secure(tls);
    } catch (cause) {
      // An invalid certificate or key.
      reject(cause);
    }
  });
  try {
    return await promise;
  } catch (cause) {
    tcp.destroy();
    throw cause;
  } finally {
    timer?.cancel();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Opens the connections of a client of undici that has no limit of time for them, each within a minute. */
export function createConnector(clock: Clock, tls: ClientTls = {}): buildConnector.connector {
  return toConnector(async (target) => {
    using deadline = openDeadline(clock, CONNECT_MS_MAX);
    const plan = { ...toAddress(target), protocols: ['http/1.1'], clock };
    return await openConnection({ ...plan, tls: target.protocol === 'https:' ? tls : undefined }, deadline.signal);
  });
}

/** Gives what opens a connection the signature of undici. */
export function toConnector(open: (target: buildConnector.Options) => Promise<Socket>): buildConnector.connector {
  return (target, callback) =>
    callbackify(open)(target, (cause, socket) => (cause ? callback(cause, null) : callback(null, socket)));
}

function toEnd(message: string): Error {
  return new DOMException(message, 'NetworkError');
}
