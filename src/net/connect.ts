import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { callbackify } from 'node:util';
import type { buildConnector } from 'undici';
import { type Clock, openDeadline, type Timer } from '../base/index.ts';
import type { ClientTls } from '../settings/index.ts';
import { KEPT_SOCKET, toAddress } from './http.ts';
import { connectThroughProxy, type ForwardProxy, toProxyAddress, toProxyError, toSilenceError } from './proxy.ts';
import { CLASSICAL_GROUPS, toTlsOptions } from './tls.ts';

/** Peer and security of one connection. */
export interface ConnectionPlan {
  readonly host: string;
  readonly port: number;
  /** Absent = no TLS. */
  readonly tls?: ClientTls | undefined;
  /** Proxy that opens the connection. Absent: none. */
  readonly proxy?: ForwardProxy | undefined;
  /** Protocols offered over TLS (ALPN). Default: none. */
  readonly protocols?: string[] | undefined;
  /** Clock of the limit for an answer to the ClientHello. */
  readonly clock: Clock;
  /** Called with a message for the operator when the peer turns out to refuse a long ClientHello. */
  readonly onShortHello?: ((message: string) => void) | undefined;
}

/** How a peer answered the ClientHello instead of with its own hello. */
export type HelloFault = 'reset' | 'alert' | 'silence';

/** Limit for the first byte of an answer to the ClientHello. Milliseconds. */
const HELLO_MS_MAX = 5000;
/** Size of a TLS alert, which is the whole answer of a server that cannot parse the ClientHello. Bytes. */
const ALERT_BYTES = 7;
/** Limit for a proxy to connect. Shorter than the time limits of requests, so that messages name the proxy. Milliseconds. */
const PROXY_MS_MAX = 10_000;
/** Limit of a whole connection attempt. Requests have shorter limits; this one frees abandoned attempts. Milliseconds. */
const CONNECT_MS_MAX = 60_000;

const FAULTS: Readonly<Record<HelloFault, string>> = {
  reset: 'ended the connection at',
  alert: 'answered with an alert to',
  silence: `did not answer within ${HELLO_MS_MAX / 1000} s to`,
};

/** Peers of this process that refuse a long ClientHello, as `host:port`. Bounded by the peers that are configured. */
const shortOnly = new Set<string>();

/**
 * Opens a connection. Some servers and firewalls refuse a ClientHello with a post-quantum key: after a reset, an alert or
 * silence, it is repeated once without that key, and the peer is remembered. Throws the failure, or the reason of `signal`.
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
  recordShortHello(plan, fault);
  return socket;
}

/**
 * Returns the key exchanges to offer to a peer whose connection is opened elsewhere; `undefined` = the defaults of the TLS
 * library.
 */
export function groupsFor({ host, port }: ConnectionPlan): string | undefined {
  return shortOnly.has(`${host}:${port}`) ? CLASSICAL_GROUPS : undefined;
}

/** Remembers a peer that refused the long ClientHello and accepted the one with {@link CLASSICAL_GROUPS}. */
export function recordShortHello({ host, port, onShortHello }: ConnectionPlan, fault: HelloFault): void {
  shortOnly.add(`${host}:${port}`);
  onShortHello?.(
    `${host}:${port} ${FAULTS[fault]} a TLS ClientHello of 1.6 KB, and accepts one of 0.4 KB without a post-quantum key exchange. The short one is used from now on; a firewall in between may be the cause`,
  );
}

async function attempt(
  { host, port, tls, proxy, protocols, clock }: ConnectionPlan,
  signal: AbortSignal,
  onFault: (fault: HelloFault) => void,
  groups?: string,
): Promise<Socket> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  let timer: Timer | undefined;
  const tcp = connectTcp({ ...(proxy ? toProxyAddress(proxy) : { host, port }), ...KEPT_SOCKET });
  const secure = (trusted: ClientTls, carrier: Socket) => {
    const before = tcp.bytesRead;
    const socket = connectTls({
      ...toTlsOptions(trusted, host),
      socket: carrier,
      ...(groups !== undefined && { ecdhCurve: groups }),
      ...(protocols && { ALPNProtocols: protocols }),
    });
    timer = clock.setTimer(HELLO_MS_MAX, () => {
      if (groups !== undefined || tcp.bytesRead > before) return;
      onFault('silence');
      reject(toEnd('The first message of TLS was not answered'));
    });
    const fail = (cause: Error) => {
      const answered = tcp.bytesRead - before;
      if (answered <= ALERT_BYTES) onFault(answered === 0 ? 'reset' : 'alert');
      reject(cause);
    };
    // Without a listener, an error would end the process.
    socket.on('error', fail).once('close', () => fail(toEnd('The connection ended during the TLS handshake')));
    socket.once('secureConnect', () => resolve(socket));
  };
  let hasBegun = false;
  const begin = (carrier: Socket) => {
    hasBegun = true;
    timer?.cancel();
    if (!tls) return resolve(carrier);
    try {
      secure(tls, carrier);
    } catch (cause) {
      reject(cause);
    }
  };
  if (proxy) timer = clock.setTimer(PROXY_MS_MAX, () => reject(toSilenceError(proxy, { host, port }, PROXY_MS_MAX)));
  tcp.on('error', (cause) => reject(proxy && !hasBegun ? toProxyError(cause, proxy) : cause));
  tcp.once('connect', () => {
    if (proxy) connectThroughProxy(tcp, proxy, { host, port }).then(begin, reject);
    else begin(tcp);
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

/** Returns a connector for an undici client, through `proxy` if there is one. undici's own time limit is not used; each attempt ends after a minute. */
export function createConnector(clock: Clock, tls: ClientTls = {}, proxy?: ForwardProxy): buildConnector.connector {
  return toConnector(async (target) => {
    using deadline = openDeadline(clock, CONNECT_MS_MAX);
    const plan = { ...toAddress(target), proxy, protocols: ['http/1.1'], clock };
    return await openConnection({ ...plan, tls: target.protocol === 'https:' ? tls : undefined }, deadline.signal);
  });
}

/** Adapts a function that opens connections to the connector signature of undici. */
export function toConnector(open: (target: buildConnector.Options) => Promise<Socket>): buildConnector.connector {
  return (target, callback) =>
    callbackify(open)(target, (cause, socket) => (cause ? callback(cause, null) : callback(null, socket)));
}

function toEnd(message: string): Error {
  return new DOMException(message, 'NetworkError');
}
