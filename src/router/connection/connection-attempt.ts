import { connect as connectTcp, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import type { Timer } from '../../base/index.ts';
import {
  claimDescriptor,
  errors,
  isAuthorityNeeded,
  KEPT_SOCKET,
  readErrorCode,
  toAddress,
  toNameOptions,
} from '../../net/index.ts';
import { RouterError } from '../errors.ts';
import type { KnownOptions } from '../options.ts';
import type { ConnectionPlace } from './connection-limit.ts';
import { type HostAddress, leadThrough, type RouterProxy, toProxyAddress, toProxyError } from './proxy.ts';
import { findTrustFault, type HandshakeOffer, TlsCarrier, type TlsSessionCache } from './tls.ts';

/** Way and limits of the connections to one router. */
export type ConnectorOptions = Pick<
  KnownOptions,
  'tls' | 'requestTimeoutMs' | 'connectTimeoutMs' | 'clock' | 'connectionLimit' | 'proxy' | 'sourceAddress' | 'lookup'
>;

/** Options of one connection attempt. */
interface ConnectionAttemptOptions extends ConnectorOptions {
  /** Host, port and protocol to connect to. */
  readonly target: buildConnector.Options;
  /** Called with each socket, fresh and without TLS. */
  readonly onSocket: (socket: Socket) => void;
  /** Remembers TLS sessions and key exchange groups of earlier connections. */
  readonly sessions: TlsSessionCache;
  /** Returns the TLS context for these key exchange groups; `undefined` for the default. */
  readonly openContext: (groups: string | undefined) => SecureContext;
  /** Called once, at the end. */
  readonly settle: (...result: AttemptResult) => void;
}

/** Result of an attempt: an error, or a socket and its place, which has to be released when the socket closes. */
type AttemptResult = readonly [Error, null] | readonly [null, Socket, ConnectionPlace];

const HTTPS = 'https:';
/** Share of the limit of TCP to wait for a place or a descriptor: the limit itself may be that of the whole request. */
const WAIT_SHARE = 0.5;
/**
 * Time for each address of a name before the next is tried. The 250 ms of Node.js are too short for a cellular link that
 * has to wake up first. Milliseconds.
 */
const ADDRESS_MS_MAX = 2000;

/**
 * The protocol that is offered, in the form of TLS. Node.js copies a view into memory of its own, and everything else into
 * the pool of small buffers: there the few bytes would keep 64 KiB for as long as the connection is open.
 */
const HTTP_1_1 = new DataView(Uint8Array.from([8, ...Buffer.from('http/1.1')]).buffer);

/**
 * One attempt to connect. It ends once, with a socket or an error; after an error everything is closed.
 *
 * ```
 *   wait
 *    │ place among the connections
 *    ▼
 *   dial ──TCP connected, https──▶ secure ──handshake done──▶ verify ──trusted──▶ settled with a socket
 *    ▲ └──TCP connected, http──────────────────────────────────┼────────────────▶ settled with a socket
 *    └── something was offered, once ──┤                       │
 *                                      └─────── failed ────────┴────────────────▶ settled with an error
 *
 *   any ── time is over (of TCP in dial, of the whole), end() ──▶ settled with an error
 * ```
 *
 * With a proxy, dial connects to it, and is over when the proxy has connected to the router.
 */
export class ConnectionAttempt {
  readonly #options: ConnectionAttemptOptions;
  #timer: Timer | undefined;
  #stopWaiting: (() => void) | undefined;
  #place: ConnectionPlace | undefined;
  /** Set while TCP is being connected. */
  #tcpTimer: Timer | undefined;
  /** The current socket: TCP first, then TLS over it. */
  #socket: Socket | undefined;
  /** True while it is TLS of the router. */
  #isSecuring = false;
  #isSettled = false;
  /** True in the second attempt, without the offer that failed. */
  #isSecondTry = false;

  constructor(options: ConnectionAttemptOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, requestTimeoutMs, target, connectionLimit } = this.#options;
    this.#timer = clock.setTimer(requestTimeoutMs, () => this.end(toTimeoutError(target, requestTimeoutMs)));
    this.#wait(
      (stop) =>
        connectionLimit.claim((place) => {
          stop();
          this.#place = place;
          this.#dial();
        }),
      () => toLimitError(connectionLimit.load.max),
    );
  }

  /** Ends the attempt with an error, unless it has already ended. */
  end(cause: Error): void {
    this.#settle(cause, null);
  }

  #settle(...result: AttemptResult): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#timer?.cancel();
    this.#tcpTimer?.cancel();
    this.#stopWaiting?.();
    // The socket may hold the attempt for as long as it is open.
    this.#timer = undefined;
    this.#tcpTimer = undefined;
    this.#stopWaiting = undefined;
    if (result[0]) {
      // The next handshake starts without cached state, whatever the reason was.
      if (this.#isSecuring) this.#options.sessions.failed();
      this.#socket?.destroy();
      this.#place?.release();
    }
    this.#options.settle(...result);
  }

  /**
   * Waits, for less than a request may take, so that the error says what was missing. `begin` calls its argument at the end of
   * the wait, and returns a function that ends it.
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
    if (this.#place) this.#settle(null, socket, this.#place);
  }

  #dial(): void {
    const { target, onSocket, connectTimeoutMs, clock, connectionLimit, proxy, sourceAddress, lookup } = this.#options;
    this.#isSecuring = false;
    const release = claimDescriptor();
    if (!release) {
      // The descriptor of an idle connection is worth more here.
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
    // A proxy says something first, which is not for TLS.
    const carrier = target.protocol === HTTPS && !proxy ? new TlsCarrier() : undefined;
    const socket = connectTcp(carrier ? { ...options, onread: carrier.onread } : options);
    // Its descriptor is opened with the first attempt, after the name has an address.
    socket.once('connectionAttempt', release);
    socket.once('close', release);
    onSocket(socket);
    this.#socket = socket;
    const startTimer = () => {
      this.#tcpTimer?.cancel();
      this.#tcpTimer = clock.setTimer(connectTimeoutMs, () => this.end(toTimeoutError(target, connectTimeoutMs)));
    };
    // TCP starts once the name is resolved.
    if (isIP(address.host) === 0) socket.once('lookup', startTimer);
    else startTimer();
    socket.on('error', (cause) => {
      if (this.#socket !== socket) return;
      const error = toSourceError(cause, sourceAddress) ?? (proxy && toProxyError(cause, proxy));
      this.end(error ?? toConnectError(cause, target, connectTimeoutMs));
    });
    socket.once('connect', () => {
      if (proxy) this.#lead(socket, proxy);
      else this.#reach(socket, carrier);
    });
  }

  /** Has the proxy connect to the router, within the time of TCP. */
  #lead(socket: Socket, proxy: RouterProxy): void {
    leadThrough({
      socket,
      proxy,
      target: toAddress(this.#options.target),
      onCarrier: (carrier) => {
        this.#socket = carrier;
      },
      settle: (...[error, carrier]) => {
        if (this.#isSettled) return;
        if (error) this.end(error);
        else this.#reach(carrier);
      },
    });
  }

  /** Goes on with a connection that leads to the router. `carrier`: what TLS goes over, if it is not the socket. */
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

/** Returns the TCP options of a connection to a router or proxy, from an own address. */
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
  return new RouterError('connect', 'No connection was opened, because the process may have no more open files', {
    disposition: 'retry',
    hint: 'Raise the limit of open files of the agent: ulimit -n, LimitNOFILE= of systemd, --ulimit of a container',
    isUnsent: true,
    isLocal: true,
  });
}

function toLimitError(max: number): RouterError {
  return new RouterError('connect', `No connection was opened, because all ${max} that may be open were in use`, {
    disposition: 'retry',
    hint: 'Raise connections.max, and the limit of open files of the agent if it is lower',
    isUnsent: true,
    isLocal: true,
  });
}

/** Returns the error for an address that did not answer within `limitMs`. */
export function toTimeoutError({ hostname }: Pick<buildConnector.Options, 'hostname'>, limitMs: number): Error {
  return new errors.ConnectTimeoutError(`No connection to ${hostname} within ${limitMs} ms`);
}

/** Returns the error for an own address that this machine does not have; `undefined` for another failure. */
export function toSourceError(cause: unknown, sourceAddress: string | undefined): RouterError | undefined {
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

/** Returns a time-out if every address of a name failed and one of them timed out; otherwise `cause`. */
export function toConnectError(cause: Error, target: Pick<buildConnector.Options, 'hostname'>, limitMs: number): Error {
  const attempts: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [];
  const isTimeout = attempts.some((attempt) => readErrorCode(attempt) === 'ETIMEDOUT');
  return isTimeout ? Object.assign(toTimeoutError(target, limitMs), { cause }) : cause;
}
