import { connect as connectTcp, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import type { Timer } from '../../base/index.ts';
import {
  claimDescriptor,
  connectThroughProxy,
  errors,
  type ForwardProxy,
  type HostAddress,
  isAuthorityNeeded,
  KEPT_SOCKET,
  readErrorCode,
  toAddress,
  toNameOptions,
  toProxyAddress,
  toProxyError,
} from '../../net/index.ts';
import { RouterError } from '../errors.ts';
import type { CompleteOptions } from '../settings.ts';
import type { ConnectionPermit } from './connection-limit.ts';
import { findTrustFault, type HandshakeOffer, TlsCarrier, type TlsSessionCache } from './tls.ts';

/** Options of the connections to one router. */
export type ConnectorOptions = Pick<
  CompleteOptions,
  'tls' | 'requestTimeoutMs' | 'connectTimeoutMs' | 'clock' | 'connectionLimit' | 'proxy' | 'sourceAddress' | 'lookup'
>;

interface ConnectionAttemptOptions extends ConnectorOptions {
  readonly target: buildConnector.Options;
  readonly onSocket: (socket: Socket) => void;
  /** TLS sessions and key exchange groups of earlier connections. */
  readonly sessions: TlsSessionCache;
  /** Returns the TLS context for these key exchange groups; `undefined`: the default. */
  readonly openContext: (groups: string | undefined) => SecureContext;
  readonly settle: (...result: AttemptResult) => void;
}

/** An error, or a socket and its permit, to be released when the socket closes. */
type AttemptResult = readonly [Error, null] | readonly [null, Socket, ConnectionPermit];

const HTTPS = 'https:';
/** Part of the TCP limit to wait for a permit or a descriptor: the TCP limit may be that of the whole request. */
const WAIT_SHARE = 0.5;
/** Time for each address of a name. The 250 ms of Node.js are too short for a sleeping cellular link. Milliseconds. */
const ADDRESS_MS_MAX = 2000;

/**
 * The offered protocol in the encoding of TLS. Node.js copies a view into memory of its own, but everything else into the pool of small
 * buffers, where these few bytes would keep 64 KiB allocated while the connection is open.
 */
const HTTP_1_1 = new DataView(Uint8Array.from([8, ...Buffer.from('http/1.1')]).buffer);

/**
 * One attempt to connect. It ends once, with a socket or an error; after an error everything is closed.
 *
 * ```
 *   wait
 *    │ permit of the connection limit
 *    ▼
 *   dial ──TCP connected, https──▶ secure ──handshake done──▶ verify ──trusted──▶ settled with a socket
 *    ▲ └──TCP connected, http──────────────────────────────────┼────────────────▶ settled with a socket
 *    └── something was offered, once ──┤                       │
 *                                      └─────── failed ────────┴────────────────▶ settled with an error
 *
 *   any ── time limit (TCP limit in dial, or that of the request), end() ──▶ settled with an error
 * ```
 *
 * With a proxy, dial connects to the proxy and ends when the proxy has connected to the router.
 */
export class ConnectionAttempt {
  readonly #options: ConnectionAttemptOptions;
  #timer: Timer | undefined;
  #stopWaiting: (() => void) | undefined;
  #permit: ConnectionPermit | undefined;
  #tcpTimer: Timer | undefined;
  #socket: Socket | undefined;
  /** True during the TLS handshake with the router. */
  #isSecuring = false;
  #isSettled = false;
  /** True after the retry without the offer that failed. */
  #isSecondTry = false;

  constructor(options: ConnectionAttemptOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, requestTimeoutMs, target, connectionLimit } = this.#options;
    this.#timer = clock.setTimer(requestTimeoutMs, () => this.end(toTimeoutError(target.hostname, requestTimeoutMs)));
    this.#wait(
      (stop) =>
        connectionLimit.claim((permit) => {
          stop();
          this.#permit = permit;
          this.#dial();
        }),
      () => toLimitError(connectionLimit.load.max),
    );
  }

  end(cause: Error): void {
    this.#settle(cause, null);
  }

  #settle(...result: AttemptResult): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#timer?.cancel();
    this.#tcpTimer?.cancel();
    this.#stopWaiting?.();
    // The socket may reference the attempt while it is open.
    this.#timer = undefined;
    this.#tcpTimer = undefined;
    this.#stopWaiting = undefined;
    if (result[0]) {
      // The next handshake starts without cached state, whatever the reason was.
      if (this.#isSecuring) this.#options.sessions.failed();
      this.#socket?.destroy();
      this.#permit?.release();
    }
    this.#options.settle(...result);
  }

  /**
   * The wait is shorter than the limit of the request, so that the error names what was missing. `begin` calls its argument at the end of
   * the wait and returns a function that cancels the wait.
   */
  #wait(begin: (stop: () => void) => () => void, toFault: () => RouterError): void {
    const { clock, connectTimeoutMs } = this.#options;
    const timer = clock.setTimer(connectTimeoutMs * WAIT_SHARE, () => this.end(toFault()));
    let leave = () => {};
    this.#stopWaiting = () => {
      timer.cancel();
      leave();
    };
    leave = begin(() => timer.cancel());
  }

  #succeed(socket: Socket): void {
    if (this.#permit) this.#settle(null, socket, this.#permit);
  }

  #dial(): void {
    const { target, onSocket, connectTimeoutMs, clock, connectionLimit, proxy, sourceAddress, lookup } = this.#options;
    this.#isSecuring = false;
    const release = claimDescriptor();
    if (!release) {
      // Wait for the descriptor of an idle connection to be closed.
      this.#wait(
        (stop) =>
          connectionLimit.awaitDescriptor(() => {
            stop();
            this.#dial();
          }),
        toDescriptorError,
      );
      return;
    }
    const address = proxy ? toProxyAddress(proxy) : toAddress(target);
    const options = { ...toTcpOptions(address, connectTimeoutMs, sourceAddress), ...(lookup && { lookup }) };
    // A proxy sends data before the TLS of the router starts.
    const carrier = target.protocol === HTTPS && !proxy ? new TlsCarrier() : undefined;
    const socket = connectTcp(carrier ? { ...options, onread: carrier.onread } : options);
    // The descriptor is opened with the first attempt, after name resolution.
    socket.once('connectionAttempt', release);
    socket.once('close', release);
    onSocket(socket);
    this.#socket = socket;
    const startTimer = () => {
      this.#tcpTimer?.cancel();
      this.#tcpTimer = clock.setTimer(connectTimeoutMs, () =>
        this.end(toTimeoutError(target.hostname, connectTimeoutMs)),
      );
    };
    // TCP starts after name resolution.
    if (isIP(address.host) === 0) socket.once('lookup', startTimer);
    else startTimer();
    socket.on('error', (cause) => {
      if (this.#socket !== socket) return;
      this.end(toDialError(cause, target.hostname, connectTimeoutMs, this.#options));
    });
    socket.once('connect', () => {
      if (proxy) void this.#connectThroughProxy(socket, proxy);
      else this.#reach(socket, carrier);
    });
  }

  async #connectThroughProxy(socket: Socket, proxy: ForwardProxy): Promise<void> {
    try {
      const carrier = await connectThroughProxy(socket, proxy, toAddress(this.#options.target));
      if (!this.#isSettled) this.#reach(carrier);
    } catch (cause) {
      this.end(toError(cause));
    }
  }

  /** `carrier`: carries the bytes of TLS; default: the socket. */
  #reach(socket: Socket, carrier?: TlsCarrier): void {
    this.#tcpTimer?.cancel();
    carrier?.attach(socket);
    if (this.#options.target.protocol === HTTPS) this.#secure(carrier ?? socket);
    else this.#succeed(socket);
  }

  #secure(socket: Duplex): void {
    const { target, tls, sessions, openContext } = this.#options;
    const offer = sessions.offer();
    const name = tls.serverName ?? target.hostname;
    let secured: TLSSocket;
    try {
      secured = connectTls({
        socket,
        ...toNameOptions(name),
        secureContext: openContext(offer.groups),
        rejectUnauthorized: isAuthorityNeeded(tls),
        ALPNProtocols: HTTP_1_1,
        ...(offer.session && { session: offer.session }),
      });
    } catch (cause) {
      this.end(toError(cause));
      return;
    }
    this.#socket = secured;
    this.#isSecuring = true;
    secured.on('error', (cause) => this.#fail(secured, offer, cause));
    secured.once('secureConnect', () => this.#verifyPeer(secured, offer));
  }

  #fail(socket: TLSSocket, offer: HandshakeOffer, cause: Error): void {
    if (this.#isSettled || this.#socket !== socket) return;
    // A rejected certificate is not caused by the offer.
    if (this.#isSecondTry || !isOffering(offer) || socket.authorizationError) {
      this.end(cause);
      return;
    }
    this.#options.sessions.failed();
    this.#isSecondTry = true;
    this.#dial();
  }

  #verifyPeer(socket: TLSSocket, offer: HandshakeOffer): void {
    const { tls, sessions } = this.#options;
    if (this.#isSecondTry) sessions.refused();
    else if (isOffering(offer)) sessions.accepted();
    if (socket.isSessionReused()) {
      sessions.resumed(socket);
    } else {
      // getPeerX509Certificate() returns the certificate only on the first call.
      const certificate = socket.getPeerX509Certificate();
      const fault = findTrustFault(tls, certificate);
      if (fault) {
        this.end(fault);
        return;
      }
      sessions.trusted(socket, certificate);
    }
    this.#succeed(socket);
  }
}

/** Returns the TCP options of a connection to a router or proxy. */
export function toTcpOptions(address: HostAddress, timeoutMs: number, sourceAddress?: string) {
  return {
    ...address,
    // Addresses of the other family cannot be reached from it.
    ...(sourceAddress !== undefined && { localAddress: sourceAddress, family: isIP(sourceAddress) }),
    autoSelectFamilyAttemptTimeout: Math.min(ADDRESS_MS_MAX, Math.ceil(timeoutMs / 2)),
    ...KEPT_SOCKET,
  };
}

function isOffering({ session, groups }: HandshakeOffer): boolean {
  return session !== undefined || groups !== undefined;
}

function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new TypeError(String(cause));
}

function toDescriptorError(): RouterError {
  return new RouterError('connect', 'No connection was opened: the process has reached its limit of open files', {
    disposition: 'retry',
    hint: 'Raise the limit of open files of the agent: ulimit -n, LimitNOFILE= of systemd, --ulimit of a container',
    isUnsent: true,
    isLocal: true,
  });
}

function toLimitError(max: number): RouterError {
  return new RouterError('connect', `No connection was opened: all ${max} allowed connections were in use`, {
    disposition: 'retry',
    hint: 'Raise connections.max, and the limit of open files of the agent if it is lower',
    isUnsent: true,
    isLocal: true,
  });
}

/** Returns the error for an address that did not answer within `limitMs`. */
export function toTimeoutError(hostname: string, limitMs: number): Error {
  return new errors.ConnectTimeoutError(`No connection to ${hostname} within ${limitMs / 1000} s`);
}

function toSourceAddressError(cause: unknown, sourceAddress: string | undefined): RouterError | undefined {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  if (sourceAddress === undefined || !(first instanceof Error) || Reflect.get(first, 'syscall') !== 'bind') {
    return undefined;
  }
  return new RouterError('connect', `No connection can come from ${sourceAddress}: ${readErrorCode(first)}`, {
    disposition: 'operator',
    hint: 'Check source_address of this router: it must be an address of this machine',
    cause,
    isUnsent: true,
    isLocal: true,
  });
}

/** Returns the error for a connection that could not be opened: a time-out if one of several addresses did not answer. */
export function toDialError(
  cause: Error,
  host: string,
  limitMs: number,
  { sourceAddress, proxy }: Pick<CompleteOptions, 'sourceAddress' | 'proxy'> = {},
): Error {
  const known = toSourceAddressError(cause, sourceAddress) ?? (proxy && toProxyError(cause, proxy));
  if (known) return known;
  const attempts: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [];
  const isTimeout = attempts.some((attempt) => readErrorCode(attempt) === 'ETIMEDOUT');
  return isTimeout ? Object.assign(toTimeoutError(host, limitMs), { cause }) : cause;
}
